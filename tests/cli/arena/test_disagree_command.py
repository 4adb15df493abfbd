"""``fukayomi positions disagree``: files, table, JSON, settings, errors."""

import json
import shlex
from functools import partial
from pathlib import Path

import arena_players
import command_runs
import disagree_run
import pytest

from fukayomi.arena.game.openings import read_openings
from fukayomi.disagreement import read_disagreements
from fukayomi.shogi.formats import write_csa, write_usi

PLAYERS = ("--a", "<hash>", "--a-clock", "nodes=2", "--b", "<hash>", "--b-clock", "nodes=8")
SMALL = ("--kind", "either", "--gap", 0.1, "--confirm", 0, "--pairs", 0, "--per-game", 3, "--max-ply", 40)

run = partial(command_runs.run, "positions", "disagree", COLUMNS="200")
run_json = partial(command_runs.run_json, "positions", "disagree")


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("games")
    for seed in range(3):
        (folder / f"{seed}.csa").write_text(write_csa(disagree_run.random_game(seed)), encoding="utf-8")
    return folder


def test_a_run_and_what_it_prints(games: Path, tmp_path: Path) -> None:
    out = tmp_path / "found"
    code, printed, said = run(games, "-o", out, *PLAYERS, *SMALL)
    assert (code, said) == (0, "")
    assert printed.startswith("3 games, 3 with scores of both sides\n9 positions searched, ")
    assert "unjudged" in printed
    assert {path.name for path in out.iterdir()} == {
        "disagree.toml", "disagreements.jsonl", "held-out.hcp", "held-out.sfen", "lock", "positions.jsonl", "searched",
        "starts.hcp", "starts.sfen",
    }  # fmt: skip
    found = read_disagreements(out)
    lines = {each.position().usi() for name in ("starts", "held-out") if (out / f"{name}.hcp").stat().st_size
             for each in read_openings(out / f"{name}.sfen")}  # fmt: skip
    assert {each.line for each in found} <= lines
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    values = run_json("-o", out, "--concurrency", 1)  # the same run, with its own settings and games
    assert values["kept"] == len(found) == values["verdicts"][0]["positions"]
    assert (values["games"], values["searched"], values["folder"]) == (3, 9, str(out))
    assert values["starts"] + values["held_out"] == len(lines)
    after = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    assert {name for name in after if after[name] != before[name]} == {"disagree.toml"}  # the concurrency


def test_start_positions_are_read_as_positions(games: Path, tmp_path: Path) -> None:
    assert run(games, "-o", tmp_path / "first", "--gap", 0.5, "--held-out", 0, "--per-game", 1)[0] == 0
    code, printed, said = run(tmp_path / "first" / "starts.sfen", "-o", tmp_path / "again", *PLAYERS, *SMALL)
    assert (code, said) == (0, "")
    assert " 0 with scores of both sides" in printed


def test_zero_means_all(games: Path, tmp_path: Path) -> None:
    few, every = (
        run_json(games, "-o", tmp_path / f"{count}", "--gap", 0.5, "--per-game", count, "--per-opening", 0)
        for count in (2, 0)
    )
    assert few["kept"] == 6
    assert every["kept"] == every["shown"] == few["shown"] > 6


def test_help_shows_the_defaults() -> None:
    code, printed, _ = run("--help")
    assert code == 0
    assert "[default: (4)]" in printed
    assert "[default: (50)]" in printed


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        (("--a-clock", "nodes=3"), 2, "--a is missing"),
        (("--a", "<hash>"), 2, "--a-clock is missing: give for example"),
        (("--a", "<hash>", "--a-clock", "nodes=3"), 1, "give a and b, or neither"),
        ((*PLAYERS, "--a-clock", "depth=3"), 1, "byoyomi=TIME for a player that searches, not depth=3"),
        ((*PLAYERS, "--a", "<nothing>"), 1, "no embedded network <nothing>; there are"),
        ((*PLAYERS, "--a", "nothing.onnx"), 1, "no file "),
        ((*PLAYERS, "--a", "/no/engine"), 1, "player a: engine: cannot start /no/engine"),
        ((*PLAYERS, "--option", "a:Threads=1"), 1, "a network has no options"),
        ((*PLAYERS, "--option", "c:Threads=1"), 2, "there are players a and b, not 'c'"),
        (("--rule", "search"), 1, "needs the players a and b"),
        (("--gap", 7), 2, "--gap: "),
    ],
)
def test_mistakes_begin_no_run(given: tuple[object, ...], code: int, message: str, games: Path, tmp_path: Path) -> None:
    found, printed, said = run(games, "-o", tmp_path, *given)
    assert (found, printed) == (code, "")
    assert message in said
    assert {path.name for path in tmp_path.iterdir()} <= {"lock"}


@pytest.mark.parametrize(
    ("mode", "option", "message"),
    [
        ("crash-isready", (), "player a: python"),
        ("ok", ("--option", "a:Dept=3"), "declares no option 'Dept'; did you mean Depth?\n"),
        ("ok", (), "player a answers none of the positions"),  # it resigns
    ],
)
def test_engines_that_do_not_work(
    mode: str, option: tuple[str, ...], message: str, games: Path, tmp_path: Path
) -> None:
    engine = shlex.join([*arena_players.ENGINE, mode])
    code, _, said = run(games, "-o", tmp_path, *PLAYERS, "--a", engine, *option)
    assert code == 1
    assert said.startswith("error: player a")
    assert message in said


def test_games_without_scores_need_players(tmp_path: Path) -> None:
    (tmp_path / "game.sfen").write_text(write_usi(disagree_run.random_game(0)), encoding="utf-8")
    code, _, said = run(tmp_path / "game.sfen", "-o", tmp_path / "found")
    assert code == 1
    assert said == "error: no game has scores of both sides: give players a and b, which search positions\n"


def test_damaged_answers_are_searched_again(games: Path, tmp_path: Path) -> None:
    out = tmp_path / "found"
    assert run(games, "-o", out, *PLAYERS, *SMALL)[0] == 0
    whole = (out / "disagreements.jsonl").read_bytes()
    labels = out / "searched" / "a.hcpe3"
    for damage in (labels.read_bytes()[:50], b""):
        labels.write_bytes(damage)
        code, _, said = run("-o", out)
        assert code == 1
        assert f"emove {labels}, and the positions are searched again" in said
    labels.unlink()
    assert json.loads(run("-o", out, "--json")[1])["searched"] == 9
    assert (out / "disagreements.jsonl").read_bytes() == whole
