"""``fukayomi match``: what it prints, its exit codes, and that no end of a run costs more than the games in play."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

import command_runs
import pytest
from places import HELPERS

import fukayomi
from fukayomi.arena.game.usi_player import UsiPlayer
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.sources import read_games
from fukayomi.web.runs.matches import match_document

ENGINE = [sys.executable, str(HELPERS / "random_engine.py")]
OPENINGS = "startpos moves 2g2f 8c8d\nstartpos moves 7g7f 3c3d\nstartpos moves 7g7f 8c8d 2g2f\n"

run = partial(command_runs.run, "match")


def engine(name: str, *words: str) -> list[str]:
    return ["--engine", f"{name}={shlex.join([*ENGINE, *words])}"]


@pytest.fixture
def openings(tmp_path: Path) -> Path:
    path = tmp_path / "openings.sfen"
    path.write_text(OPENINGS, encoding="utf-8")
    return path


@pytest.fixture
def basics(tmp_path: Path, openings: Path) -> list[str]:
    """What every match of these tests needs but engines and the number of games."""
    return ["--clock", "nodes=1", "--max-plies", "12", "--openings", str(openings), "--out", str(tmp_path / "out")]


def start(*arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "fukayomi", "match", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def wait_for_games(process: "subprocess.Popen[str]", count: int) -> None:
    assert process.stderr is not None
    seen = 0
    while seen < count:
        line = process.stderr.readline()
        assert line, "the run ended before it had so many games"
        seen += line.startswith("game ")


def assert_whole(out: Path, count: int) -> list[Game]:
    """Exactly the scheduled games, each once, and all their files."""
    found = list(read_games([out]))
    assert [game.name for game in found] == [str(number) for number in range(1, count + 1)]
    for first, second in zip(found[::2], found[1::2], strict=False):
        assert first.pair == second.pair
        assert (first.black, first.white) == (second.white, second.black)
        assert first.moves is not None
        assert second.moves is not None
        assert first.moves[:2] == second.moves[:2], "the same opening"
    names = {path.name for path in (out / "games").iterdir()}
    assert names == {f"{number:06}.{kind}" for number in range(1, count + 1) for kind in ("csa", "kif")}
    in_pgn = list(read_games([out / "games.pgn"]))
    records = list(read_games([out / "games" / f"{number:06}.csa" for number in range(1, count + 1)]))
    for game, line, record in zip(found, in_pgn, records, strict=True):
        assert (line.black, line.white, line.result) == (game.black, game.white, game.result)
        assert (record.black, record.white, record.moves) == (game.black, game.white, game.moves)
    return found


# --------------------------------------------------------------------------------------------------------- what it says


def test_three_engines_play_and_json_tells_all(tmp_path: Path, basics: list[str]) -> None:
    code, printed, said = run(*engine("a"), *engine("b", "moves=2"), *engine("c"), "--games", 8, *basics, "--json")
    assert code == 0
    found = json.loads(printed)
    games = assert_whole(tmp_path / "out", 8)
    assert (found["games"], found["scheduled"], found["unplayed"], found["interrupted"]) == (8, 8, 0, False)
    assert [player["name"] for player in found["players"]] == ["a", "b", "c"]
    for player in found["players"]:
        name = player["name"]
        assert player["games"] == sum(name in (game.black, game.white) for game in games)
        assert player["games"] == player["wins"] + player["losses"] + player["draws"]
        assert player["games"] == player["as_black"]["games"] + player["as_white"]["games"]
        assert player["as_black"]["games"] == sum(name == game.black for game in games)
        assert player["score"] == pytest.approx((player["wins"] + player["draws"] / 2) / player["games"])
        assert player["failures"] == 0
    b = found["players"][1]
    assert b["wins"] == 0, "it resigns every game"
    assert found["terminations"] == {"resign": b["games"], "max_plies": 8 - b["games"]}
    meetings = {(each["first"], each["second"]): each for each in found["pairs"]}
    assert meetings["a", "b"]["pentanomial"] == [0, 0, 0, 0, 1]
    assert meetings["b", "c"]["pentanomial"] == [2, 0, 0, 0, 0]
    assert sum(each["games"] for each in found["pairs"]) == 8
    assert found["first_mover"]["games"] == 8
    assert found["diversity"]["games"] == 8
    assert {each["name"] for each in found["diversity"]["players"]} == {"a", "b", "c"}
    assert found["paths"]["database"] == str(tmp_path / "out" / "match.db")
    assert (found["failures"], found["left_out"], found["sprt"]) == ([], [], None)
    assert "game 8: " in said
    assert "8 of 8 games" in said


def test_a_table_is_printed(tmp_path: Path, basics: list[str]) -> None:
    code, printed, _ = run(*engine("a"), *engine("b"), "--games", 2, *basics)
    assert code == 0
    assert re.search(r"│ a +│ 0-0-2 │ 50.0 %", printed)
    assert "endings: max_plies 2" in printed
    assert "2 distinct games of 2" in printed
    assert re.search(r"time of a move, ms +┃ moves ┃ mean ┃ median ┃ max ┃ overhead", printed)
    assert "forfeits" not in printed


def test_illegal_moves_have_a_table_and_a_warning(tmp_path: Path, basics: list[str]) -> None:
    bad = [
        "--engine",
        f"bad={shlex.join([sys.executable, str(HELPERS / 'hostile_engine.py'), 'ok', ','.join(['5i1a'] * 8), 'mark'])}",
    ]
    code, printed, _ = run(*engine("a"), *bad, "--games", 4, *basics)
    assert code == 0
    assert re.search(r"bad +│ +4 │ +100.0 % │ +4 by illegal moves │ +- │", printed)
    words = " ".join(printed.split())
    assert (
        "warning: bad: 4 of 4 losses are forfeits (4 by illegal moves); its result says little about strength" in words
    )


@pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal is POSIX's")
def test_a_terminal_shows_a_live_table(tmp_path: Path, basics: list[str]) -> None:
    import pty

    leader, follower = pty.openpty()
    command = [
        sys.executable, "-m", "fukayomi", "match", *engine("a", "slow=0.02"), *engine("mortal", "dies=12"),
        "--games", "6", *basics, "--restart", "--sprt", "elo0=0,elo1=50",
    ]  # fmt: skip
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=follower, text=True, env=environment) as process:
        os.close(follower)
        shown = b""
        try:
            while chunk := os.read(leader, 65536):
                shown += chunk
        except OSError:  # so Linux tells that nobody is at the other end any more
            pass
        os.close(leader)
        assert process.stdout is not None
        printed = process.stdout.read()
    assert process.returncode == 0, "all games are there; the engine was started again"
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
    for expected in ("as Black", "as White", "6 of 6 games", " an hour", "LLR ", "mortal failed (crash"):
        assert expected in text
    assert "Traceback" not in text
    assert "first mover" in printed


def test_the_settings_may_come_from_a_file(tmp_path: Path, openings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lab").mkdir()
    config = tmp_path / "lab" / "match.toml"
    config.write_text(
        f"""
        games = 50
        openings = "../openings.sfen"
        clock = "nodes=1"
        event = "the cup"
        [rules]
        max_plies = 30
        [[engine]]
        name = "a"
        command = {json.dumps(ENGINE)}
        directory = "."
        options = {{ Style = "wild", Threads = 2, Ponder = false }}
        [[engine]]
        name = "b"
        command = "{shlex.join(ENGINE)} moves=9"
        """,
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(fukayomi.__file__).parent.parent))  # tests may have a relative one
    arguments = ["--config", config, "--games", 3, "--out", "out", "--max-plies", 8, "--option", "b:Style=a b=c"]
    arguments.append("--log")
    code, _, said = run(*arguments)
    assert code == 1
    assert "engine a: declares no option 'Threads'" in said
    assert not list((tmp_path / "out" / "games").iterdir())
    arguments.append("--undeclared-options")
    code, printed, said = run(*arguments, "--json")
    assert code == 0
    assert json.loads(printed)["games"] == 3
    assert json.loads(printed)["terminations"] == {"max_plies": 3}
    log = (tmp_path / "out" / "logs" / "000001.log").read_text(encoding="utf-8")
    for line in ("a > setoption name Style value wild", "a > setoption name Threads value 2",
                 "a > setoption name Ponder value false", "b > setoption name Style value a b=c"):  # fmt: skip
        assert re.search(rf"^\d+\.\d{{3}} {re.escape(line)}$", log, re.MULTILINE), line
    assert "a: declares no option 'Threads'" in said
    assert "$EVENT:the cup" in (tmp_path / "out" / "games" / "000001.csa").read_text(encoding="utf-8")
    code, _, said = run(*arguments, "--games", 4, "--option", "b:Style=plain")
    assert code == 1
    assert 'b\'s options Style was "a b=c" and is "plain"' in said


RULES = [sys.executable, str(HELPERS / "rules_engine.py")]
KING_RULE = "EnteringKingRule type combo default CSARule27 var CSARule27 var CSARule24"
PLY_LIMIT = "MaxMovesToDraw type spin default 0 min 0 max 1000"


def rules_engine(name: str, *options: str) -> list[str]:
    return ["--engine", f"{name}={shlex.join([*RULES, *options])}"]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("c:Styl=wild", "engine c: declares no option 'Styl'; did you mean Style?"),
        (
            "c:Threads=2",
            "engine c: declares no option 'Threads'; it has Style (options that an engine does not declare",
        ),
        ("c:Style=a", None),
    ],
)
def test_an_option_that_does_not_fit_is_refused_before_any_game(
    tmp_path: Path, basics: list[str], option: str, said: str | None
) -> None:
    """Of the engine that plays last, too; and the folder is as good as new."""
    arguments = [*engine("a"), *engine("b"), *engine("c"), *basics, "--games", 6]
    if said is not None:
        code, _, errors = run(*arguments, "--option", option)
        assert code == 1
        assert said in errors
        assert "game 1" not in errors
        assert not list((tmp_path / "out" / "games").iterdir())
        code, printed, errors = run(*arguments, "--option", option, "--undeclared-options", "--games", 2, "--json")
        assert (code, json.loads(printed)["games"]) == (0, 2)
        assert any("it was sent all the same" in warning for warning in json.loads(printed)["warnings"])
        return
    code, printed, errors = run(*arguments, "--option", option, "--json")
    assert (code, json.loads(printed)["games"]) == (0, 6)
    assert errors


def test_engines_are_told_of_the_rules_or_the_user_is_told(tmp_path: Path, openings: Path) -> None:
    arguments = [
        *rules_engine("new", KING_RULE, PLY_LIMIT), *rules_engine("old", KING_RULE.replace(" var CSARule24", "")),
        "--games", 2, "--clock", "nodes=1", "--openings", openings, "--max-plies", 12, "--out", tmp_path / "out",
        "--declaration", 24, "--log",
    ]  # fmt: skip
    code, printed, said = run(*arguments, "--json")
    assert code == 0
    log = (tmp_path / "out" / "logs" / "000001.log").read_text(encoding="utf-8")
    assert "new > setoption name EnteringKingRule value CSARule24\n" in log
    assert "new > setoption name MaxMovesToDraw value 12\n" in log
    assert "old > setoption" not in log
    rule, limit = json.loads(printed)["warnings"]
    assert rule.startswith("old: it cannot be told that the rule for declarations is 24 (CSARule24)")
    assert limit.startswith("old: it cannot be told that games are drawn after ply 12: it has no option MaxMovesToDraw")
    assert f"warning: {rule}" in said
    code, printed, _ = run(*arguments)  # nothing is left to play, and no engine is started
    assert code == 0
    assert " ".join(f"warning: {rule}".split()) in " ".join(printed.split())
    assert match_document(tmp_path / "out")["warnings"] == [rule, limit]


def test_the_limit_counts_from_the_number_of_the_opening(tmp_path: Path) -> None:
    sfen = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 31"
    (tmp_path / "openings.sfen").write_text(f"startpos\nsfen {sfen}\n", encoding="utf-8")
    code, _, said = run(
        *rules_engine("new", PLY_LIMIT), *rules_engine("old", PLY_LIMIT), "--games", 4, "--clock", "nodes=1",
        "--openings", tmp_path / "openings.sfen", "--max-plies", 12, "--out", tmp_path / "out", "--log",
    )  # fmt: skip
    assert code == 0, said
    logs = [(tmp_path / "out" / "logs" / f"{n:06}.log").read_text(encoding="utf-8") for n in (1, 2, 3, 4)]
    told = [re.findall(r"new > setoption name MaxMovesToDraw value (\d+)", log) for log in logs]
    assert told == [["12"], [], ["42"], []]


def test_our_engine_knows_the_rule_of_the_match(tmp_path: Path) -> None:
    """30 points are a win by 27 points, and no win by 24: our engine does not declare, and loses by no rule."""
    sfen = "+R+R+B+BGGSS+N/+N3K4/9/9/9/9/9/9/4k4 b 2P2g2s2n4l16p 1"
    (tmp_path / "openings.sfen").write_text(f"sfen {sfen}\n", encoding="utf-8")
    code, printed, said = run(
        "--engine", "one=fukayomi-usi", "--engine", "two=fukayomi-usi", "--games", 2, "--clock", "nodes=1",
        "--openings", tmp_path / "openings.sfen", "--max-plies", 2, "--out", tmp_path / "out", "--declaration", 24,
        "--json",
    )  # fmt: skip
    assert code == 0, said
    found = json.loads(printed)
    assert "illegal_move" not in found["terminations"]
    assert found["warnings"] == []


def test_a_declaration_that_is_a_draw(tmp_path: Path) -> None:
    (tmp_path / "openings.sfen").write_text("sfen K8/GGGGSSSS+N/N8/9/9/9/9/9/8k b 14P 1\n", encoding="utf-8")
    code, printed, _ = run(
        *rules_engine("a", "--wins"), *rules_engine("b", "--wins"), "--games", 2, "--clock", "nodes=1",
        "--openings", tmp_path / "openings.sfen", "--out", tmp_path / "out", "--declaration", "24", "--json",
    )  # fmt: skip
    assert (code, json.loads(printed)["terminations"]) == (0, {"impasse": 2})
    csa = (tmp_path / "out" / "games" / "000001.csa").read_text(encoding="utf-8")
    assert "%JISHOGI" in csa


def test_a_match_with_ponder(tmp_path: Path) -> None:
    """The settings are stored: the match cannot go on without."""
    ponderer = [sys.executable, "-S", str(HELPERS / "ponder_engine.py"), "ok", "7g7f,3c3d,2g2f,8c8d"]
    arguments = [
        "--engine", f"a={shlex.join(ponderer)}", "--engine", f"b={shlex.join(ponderer)}", "--games", 2,
        "--clock", "main=60s", "--max-plies", 4, "--out", tmp_path / "out", "--log",
    ]  # fmt: skip
    assert run(*arguments, "--ponder")[0] == 0
    log = (tmp_path / "out" / "logs" / "000001.log").read_text(encoding="utf-8")
    assert "a > setoption name USI_Ponder value true\n" in log
    assert re.search(r"a > position startpos moves 7g7f 3c3d\n.* a > go ponder btime", log)
    assert log.count("> ponderhit") == 2  # the last move ends the game
    code, _, said = run(*arguments, "--games", 4)
    assert code == 1
    assert "ponder was true and is false" in said


def test_no_clock_is_needed_if_every_engine_has_one(tmp_path: Path) -> None:
    arguments = [*TWO, "--engine-clock", "a=nodes=1", "--max-plies", "4", "--games", "2", "--out", tmp_path / "out"]
    code, _, said = run(*arguments)
    assert code == 1
    assert "clock is missing: not all engines have one of their own (b)" in said
    assert run(*arguments, "--engine-clock", "b=depth=1")[0] == 0


TWO = [*engine("a"), *engine("b")]
GAMES = ["--games", "2", "--clock", "depth=1"]
WHOLE = [*TWO, *GAMES]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--games", "2", "--clock", "nodes=1"], "a match needs two engines or more"),
        ([*TWO, "--clock", "nodes=1"], "games is missing: give for example --games 100"),
        ([*TWO, "--games", "2"], "clock is missing: give for example --clock byoyomi=1s"),
        ([*WHOLE, "--clock", "soon"], "--clock: time control 'soon'"),
        ([*WHOLE, "--games", "0"], "--games: "),
        ([*WHOLE, "--games", str(10**20)], "--games: Input should be less than or equal to 1000000"),
        ([*WHOLE, "--margin", str(10**20)], "--margin: Input should be less than or equal to 2147483647"),
        ([*WHOLE, "--concurrency", str(10**20)], "--concurrency: Input should be less than or equal to"),
        ([*WHOLE, "--opening-start", str(10**20)], "--opening-start: Input should be less than or equal to"),
        (["--engine", "a"], "--engine 'a' does not have the form NAME=COMMAND"),
        (["--engine", "a='x"], "is not a command: No closing quotation"),
        ([*engine("a"), *GAMES, "--engine", "b="], "engine.b: the command is missing"),
        ([*WHOLE, *engine("a")], "--engine NAME=COMMAND: two engines are named 'a'; give each a name of its own"),
        ([*WHOLE, "--option", "c:X=1"], "--option: no engine 'c'; there are a, b"),
        ([*WHOLE, "--engine-clock", "a"], "does not have the form NAME=CLOCK"),
        ([*WHOLE, "--engine-clock", "b=x"], "engine.b.clock: "),
        ([*engine("a"), *GAMES, "--engine", "b=no-such-program"], "engine b: program no-such-program not found"),
        (
            [*engine("a"), *GAMES, "--engine", "b=/no such/engine arg"],
            "program /no not found; a path with spaces needs quotes: b=\"'PATH' ARGUMENTS\"",
        ),
        ([*WHOLE, "--engine-dir", "b=/no/such"], "engine b: folder /no/such not found"),
        ([*WHOLE, "--resign", "cp=3"], "write score=...,moves=...,both=..."),
        ([*WHOLE, "--resign", "x"], "rules.resign.score_cp: "),
        ([*WHOLE, "--sprt", "elo0=3,elo1=2"], "elo0 must be less"),
        ([*WHOLE, *engine("c"), "--sprt", "5"], "compares two engines"),
        ([*WHOLE, "--openings", "none.sfen"], "none.sfen: No such file or directory"),
        ([*WHOLE, "--openings", "/dev/zero"], "/dev/zero: this is a device; give a regular file"),
        ([*WHOLE, "--cores-per-game", "9999"], "9,999 cores each"),
        (["--config", "none.toml"], "cannot read the settings in none.toml: No such file or directory"),
        (["--config", "/dev/zero"], "in /dev/zero: this is a device; give a regular file"),
    ],
    ids=[
        "no-engines", "no-games", "no-clock", "clock", "games", "many-games", "margin", "concurrency", "opening-start",
        "engine", "quote", "empty-command", "twice", "option",
        "engine-clock", "engine-clock-value", "program", "spaces", "folder", "resign", "resign-value", "sprt",
        "sprt-of-three", "openings", "openings-device", "cores", "config", "config-device",
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_any_game(tmp_path: Path, arguments: list[str], said: str) -> None:
    code, printed, complaint = run(*arguments, "--out", tmp_path / "out")
    assert code == (2 if re.match(r"--[a-z-]+: (Input|time|$)", said) else 1)
    assert printed == ""
    assert said in complaint
    assert complaint.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_unknown_keys_of_a_file_are_errors(tmp_path: Path) -> None:
    config = tmp_path / "match.toml"
    for text, said in (
        ("game = 3", "game: unknown setting"), ("[[engine", "match.toml: "), ("engine = 3", "[[engine]]"),
        ("[rules]\nmax_ply = 3", "rules.max_ply: unknown setting"),
        ("[sprt]\nelo2 = 3", "sprt.elo2: "),
        ('[[engine]]\nname = "c"\n[[engine]]\nname = "c"', "match.toml: two engines are named 'c'"),
    ):  # fmt: skip
        config.write_text(f"{text}\n", encoding="utf-8")
        code, _, complaint = run("--config", config, *engine("a"), *engine("b"), "--games", 2, "--clock", "depth=1",
                                 "--out", tmp_path / "out")  # fmt: skip
        assert code == 1
        assert said in complaint


def test_the_error_quotes_the_last_words_of_an_engine(tmp_path: Path) -> None:
    """Our own program is found beside the running Python, and says why it cannot play."""
    arguments = [*engine("a"), "--engine", "b=fukayomi-usi", "--option", "b:DNN_Model=none.onnx", *GAMES]
    code, _, said = run(*arguments, "--out", tmp_path / "out")
    assert code == 1
    assert "b failed (crash: fukayomi" in said.splitlines()[-1]
    assert "none.onnx" in said.splitlines()[-1].partition("exit code 1 / ")[2]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("sfen 7k1/7G1/7P1/9/9/9/9/9/K8 w - 2", "the game is over: White is mated"),
        ("startpos moves " + "5i5h 5a5b 5h5i 5b5a " * 3, "the game is over by repetition at ply 12"),
        ("startpos moves 7g7f 3c3d 2g2f 8c8d", "has 4 plies, and games end at ply 4: raise max_plies"),
    ],
    ids=["mate", "repetition", "plies"],
)
def test_openings_that_end_the_game_are_refused(tmp_path: Path, openings: Path, line: str, said: str) -> None:
    with openings.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    arguments = [*WHOLE, "--openings", openings, "--max-plies", 4 if "plies" in said else 20]
    code, _, complaint = run(*arguments, "--out", tmp_path / "out")
    assert code == 1
    assert "openings.sfen:4" in complaint
    assert said in complaint
    assert not (tmp_path / "out").exists()


def test_a_program_may_lie_in_a_folder_with_spaces(tmp_path: Path) -> None:
    program = tmp_path / "my engines" / "random engine"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(ENGINE)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    both = ["--engine", f"a={program}", "--engine", f"b='{program}' moves=2"]
    code, _, said = run(*both, "--games", 2, "--clock", "nodes=1", "--max-plies", 8, "--out", tmp_path / "out")
    assert code == 0, said


# ----------------------------------------------------------------------------------------------------- resuming a match


def test_more_games_can_be_asked_for_and_files_come_back(tmp_path: Path, basics: list[str]) -> None:
    out = tmp_path / "out"
    both = [*engine("a"), *engine("b")]
    assert run(*both, "--games", 3, *basics)[0] == 0
    before = assert_whole(out, 3)
    (out / "games" / "000002.kif").unlink()
    (out / "games" / "000003.csa").unlink()
    (out / "games.pgn").unlink()
    code, printed, said = run(*both, "--games", 7, *basics, "--json", "--concurrency", 2)
    assert code == 0
    assert "3 games have been played, 4 are left" in said
    assert assert_whole(out, 7)[:3] == before
    assert json.loads(printed)["games"] == 7
    code, printed, _ = run(*both, "--games", 7, *basics, "--json")
    assert code == 0
    assert json.loads(printed)["games"] == 7, "there is nothing left to play"


def test_other_settings_are_refused(tmp_path: Path, basics: list[str], openings: Path) -> None:
    assert run(*engine("a"), *engine("b"), "--games", 1, *basics)[0] == 0
    for change, said in (
        (["--clock", "nodes=2"], 'clock was "nodes=1" and is "nodes=2"'),
        (["--option", "a:Style=wild"], "a's options Style was not set"),
        (["--seed", "4"], "seed was 0 and is 4"),
    ):
        code, _, complaint = run(*engine("a"), *engine("b"), "--games", 1, *basics, *change)
        assert code == 1
        assert said in complaint
        assert "choose another folder" in complaint
    openings.write_text(OPENINGS + "startpos moves 2g2f\n", encoding="utf-8")
    code, _, complaint = run(*engine("a"), *engine("b"), "--games", 1, *basics)
    assert code == 1
    assert "the openings are not the same" in complaint


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX's")
def test_a_killed_match_goes_on_with_exactly_its_games(tmp_path: Path, basics: list[str]) -> None:
    out = tmp_path / "out"
    arguments = [*engine("a", "slow=0.02"), *engine("b"), *engine("c"), *basics, "--concurrency", 2]
    kept: list[Game] = []
    for number, delay_s in enumerate((0.0, 0.02)):
        with start(*arguments, "--games", 6000) as process:  # more than a busy machine plays before the kill
            wait_for_games(process, 1 + number)
            time.sleep(delay_s)
            process.kill()
            assert process.wait() == -signal.SIGKILL
        kept = list(read_games([out]))
        assert len(kept) == len({game.name for game in kept})
        assert len(kept) > number
        assert len(list(read_games([out / "games.pgn"]))) <= len(kept), "it is whole, even if it lags behind"
    count = max(24, -(-max(int(game.name) for game in kept) // 6) * 6)
    code, printed, _ = run(*arguments, "--games", count, "--json")
    assert code == 0
    assert json.loads(printed)["games"] == count
    met = Counter(frozenset((game.black, game.white)) for game in assert_whole(out, count))
    assert set(met.values()) == {count / 3}


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_in_order_and_says_how_to_go_on(tmp_path: Path, basics: list[str]) -> None:
    """A terminal sends the signal to all processes in the foreground, engines among them if they were not kept out."""
    arguments = [*engine("a", "slow=0.01"), *engine("b"), "--games", 500, *basics, "--json"]
    with start(*arguments) as process:
        wait_for_games(process, 2)
        os.killpg(process.pid, signal.SIGINT)
        printed, said = process.communicate(timeout=600)
        assert process.returncode == 130
    found = json.loads(printed)
    assert found["interrupted"]
    assert found["unplayed"] == 500 - found["games"]
    assert 2 <= found["games"] < 500
    assert f"Stopped: {found['games']} games are in {tmp_path / 'out'}" in said
    assert "Run the same command again to resume" in said
    assert "Traceback" not in said
    assert found["failures"] == [], "nobody lost a game by it"
    assert_whole(tmp_path / "out", found["games"])


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_two_runs_do_not_meet_and_readers_may_look_on(tmp_path: Path, basics: list[str]) -> None:
    arguments = [*engine("a", "slow=0.01"), *engine("b"), "--games", 500, *basics]
    with start(*arguments) as process:
        wait_for_games(process, 1)
        code, _, complaint = run(*arguments)
        assert code == 1
        assert f"another process is working in {tmp_path / 'out'}" in complaint
        assert list(read_games([tmp_path / "out"]))
        process.send_signal(signal.SIGINT)  # to this process alone
        _, said = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "Run the same command again to resume" in said


# ---------------------------------------------------------------------------------------------------- engines that fail


def test_an_engine_that_dies_is_left_out_and_the_others_go_on(tmp_path: Path, basics: list[str]) -> None:
    arguments = [*engine("a"), *engine("mortal", "dies=12"), *engine("c"), "--games", 18, *basics]
    code, printed, said = run(*arguments, "--json")
    assert code == 1
    found = json.loads(printed)
    (failure,) = found["failures"]
    assert (failure["engine"], failure["kind"]) == ("mortal", "crash")
    assert "exit code 3" in failure["detail"]
    assert "I am tired" in failure["detail"]
    assert found["left_out"] == ["mortal"]
    players = {player["name"]: player for player in found["players"]}
    assert players["mortal"]["failures"] == 1
    met = Counter(frozenset((game.black, game.white)) for game in read_games([tmp_path / "out"]))
    assert met[frozenset("ac")] == 6, "those who can play do"
    assert found["unplayed"] == 18 - found["games"] > 0
    assert "games were left out because mortal failed" in said
    assert "--restart" in said
    assert "mortal failed (crash: random ended with exit code 3 / I am tired); its remaining games are left out" in said
    code, printed, said = run(*arguments, "--restart", "--json")
    assert code == 0
    found = json.loads(printed)
    assert (found["games"], found["left_out"]) == (18, [])
    assert len(found["failures"]) > 1
    assert "restarting it" in said
    assert_whole(tmp_path / "out", 18)


def test_an_engine_that_hangs_loses_and_is_started_again(basics: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UsiPlayer, "stop_grace_s", 0.3)
    arguments = [*engine("a"), *engine("sleepy", "hangs=3"), "--games", 2, *basics]
    arguments[arguments.index("nodes=1")] = "byoyomi=1s"
    code, printed, _ = run(*arguments, "--margin", 3000, "--restart", "--json")
    found = json.loads(printed)
    assert code == 0
    assert {failure["engine"] for failure in found["failures"]} == {"sleepy"}
    assert found["players"][1]["wins"] == 0


# ------------------------------------------------------------------------------------------------------------- the rest


def test_a_sequential_test_ends_the_match(tmp_path: Path, basics: list[str]) -> None:
    arguments = [*engine("a"), *engine("b", "moves=1"), "--games", 400, *basics, "--sprt", "elo0=0,elo1=50"]
    code, printed, said = run(*arguments, "--json")
    assert code == 0
    found = json.loads(printed)
    assert found["sprt"]["decision"] == "H1"
    assert found["sprt"]["llr"] >= found["sprt"]["upper"]
    assert found["games"] < 100
    assert found["unplayed"] == 400 - found["games"]
    assert "H1 accepted" in said
    again = json.loads(run(*arguments, "--json")[1])
    assert again["games"] == found["games"], "it is decided"
    tested = command_runs.run_json("sprt", "--games", basics[-1])
    assert (tested["players"], tested["elo1"], tested["decision"]) == (["a", "b"], 50.0, "H1")
    other = command_runs.run_json("sprt", "--games", f"{basics[-1]}/match.db", "--elo1", 60, "--players", "b", "a")
    assert (other["players"], other["elo0"], other["elo1"]) == (["b", "a"], 0.0, 60.0)
    assert other["llr"] < 0


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins nothing")
def test_engines_run_on_the_cores_of_their_worker(tmp_path: Path, basics: list[str]) -> None:
    code, _, _ = run(*engine("a"), *engine("b"), "--games", 2, *basics, "--cores-per-game", 1, "--log")
    assert code == 0
    log = (tmp_path / "out" / "logs" / "000001.log").read_text(encoding="utf-8")
    pinned = set(re.findall(r"info string processors \[([\d, ]+)\]", log))
    assert len(pinned) == 1
    assert set(map(int, pinned.pop().split(", "))) <= os.sched_getaffinity(0)


def test_where_nothing_can_be_pinned_it_says_so(
    tmp_path: Path, basics: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fukayomi.arena.match.match.can_pin", lambda: False)
    monkeypatch.setattr("fukayomi.arena.match.workers.can_pin", lambda: False)
    code, _, said = run(*engine("a"), *engine("b"), "--games", 1, *basics, "--cores-per-game", 9999)
    assert code == 0
    assert "engines are not pinned" in said


def test_repeated_games_are_warned_of(tmp_path: Path, basics: list[str]) -> None:
    code, printed, _ = run(*engine("a", "seed=1"), *engine("b", "seed=1"), "--games", 12, *basics, "--json")
    assert code == 0
    diversity = json.loads(printed)["diversity"]
    assert (diversity["games"], diversity["distinct_games"]) == (12, 3)
    assert "9 of 12 games repeat another one" in diversity["warnings"][0]
