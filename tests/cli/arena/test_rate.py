"""``fukayomi rate``: the JSON object, the tables, every kind of source, and errors."""

import csv
import zipfile
from functools import partial
from pathlib import Path

import command_runs
import pytest
from command_runs import write_pgn

CSA = "V2.2\nN+{}\nN-{}\nPI\n+\n+7776FU\n-3334FU\n{}\n"
CSA_ENDS = {"1-0": "+2726FU\n%TORYO", "0-1": "%TORYO", "1/2-1/2": "%SENNICHITE"}  # who is to move resigns
LEAGUE = [
    *[("a", "b", "1-0")] * 7, *[("a", "b", "0-1")] * 3, *[("b", "a", "1-0")] * 4, *[("b", "a", "1/2-1/2")] * 2,
    *[("b", "a", "0-1")] * 4, *[("c", "a", "1-0")] * 2, *[("a", "c", "0-1")] * 1, *[("a", "c", "1-0")] * 5,
    *[("b", "c", "1-0")] * 3, *[("c", "b", "0-1")] * 2, *[("c", "b", "1-0")] * 2,
]  # fmt: skip
CONTRACT = ["name", "rating", "error", "points", "played", "cfs", "wins", "draws", "losses"]

run = partial(command_runs.invoke, "rate")
run_json = partial(command_runs.run_json, "rate")


def write_csa(folder: Path, games: list[tuple[str, str, str]]) -> Path:
    folder.mkdir()
    for number, (black, white, end) in enumerate(games):
        text = CSA.format(black, white, CSA_ENDS[end])
        (folder / f"{number:03}.csa").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def league(tmp_path: Path) -> Path:
    return write_pgn(tmp_path / "league.pgn", LEAGUE)


def test_the_object_of_the_contract(league: Path) -> None:
    found = run_json(league)
    assert list(found)[:3] == ["players", "first_mover_advantage", "draw_rate"]
    assert [player["name"] for player in found["players"]] == ["a", "b", "c"]
    for player in found["players"]:
        assert list(player)[: len(CONTRACT)] == CONTRACT
        assert set(player) == {*CONTRACT, "bound", "pool", "low", "high"}
        assert player["points"] == player["wins"] + player["draws"] / 2
        assert player["played"] == player["wins"] + player["draws"] + player["losses"]
        assert player["error"] > 0
    assert [player["cfs"] is None for player in found["players"]] == [False, False, True]
    assert sum(player["rating"] for player in found["players"]) == pytest.approx(0, abs=1e-9)
    assert 0 < found["draw_rate"] < 100
    assert (found["games"], found["problems"], found["simulations"]) == (35, [], 1000)
    assert "pairs" not in found
    assert run_json(league) == found, "the same games give the same errors"


def test_the_table_in_the_seeds_form(league: Path) -> None:
    lines = run(league).stdout.splitlines()
    assert lines[0] == "   # PLAYER    :  RATING  ERROR  POINTS  PLAYED   (%)  CFS(%)    W    D    L  D(%)"
    assert lines[1].startswith("   1 a         :")
    assert lines[3].endswith("     5.0      15    33     ---    5    0   10     0")
    assert lines[4] == ""
    assert lines[5].startswith("White advantage = ")
    assert " +/- " in lines[5]
    assert lines[6].startswith("Draw rate (equal opponents) = ")
    assert "A draw is half a point." in lines[8]
    assert lines[-1] == "35 games."


def test_every_kind_of_source_gives_the_same(tmp_path: Path, league: Path) -> None:
    folder = write_csa(tmp_path / "records", LEAGUE)
    with zipfile.ZipFile(tmp_path / "league.zip", "w") as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, f"in/{path.name}")
    (tmp_path / "half").mkdir()
    mixed = [write_pgn(tmp_path / "half" / "x.pgn", LEAGUE[:20]), write_csa(tmp_path / "rest", LEAGUE[20:])]
    expected = run_json(league)
    for sources in ([folder], [tmp_path / "league.zip"], mixed, [tmp_path / "half", mixed[1]]):
        assert run_json(*sources) == expected


def test_a_game_in_two_formats_counts_once(tmp_path: Path) -> None:
    from fukayomi.shogi.formats import read_records, write_kif

    folder = write_csa(tmp_path / "records", LEAGUE)
    expected = run_json(folder)
    for path in list(folder.iterdir()):
        (record,) = read_records(path)
        path.with_suffix(".kif").write_text(write_kif(record), encoding="utf-8")
    assert len(list(folder.iterdir())) == 2 * len(LEAGUE)
    copies = {"problems": [f"{len(LEAGUE)} records of games given before; each game counts once"]}
    assert run_json(folder) == expected | copies
    with zipfile.ZipFile(tmp_path / "both.zip", "w") as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
    assert run_json(tmp_path / "both.zip") == expected | copies


def test_pairs_alone(league: Path) -> None:
    found = run_json(league, "--pairs")
    assert [[player["name"] for player in pair["players"]] for pair in found["pairs"]] == [
        ["a", "b"], ["a", "c"], ["b", "c"],
    ]  # fmt: skip
    first = found["pairs"][0]
    assert first["players"][0]["rating"] == -first["players"][1]["rating"]
    assert first["players"][0]["error"] == pytest.approx(first["players"][1]["error"])
    assert (first["players"][0]["wins"], first["players"][0]["draws"], first["players"][0]["losses"]) == (11, 2, 7)
    text = run(league, "--pairs").stdout
    assert text.count("   # PLAYER    :") == 4
    assert text.count("White advantage = ") == 4
    assert "Every two players by their own games:" in text


def test_by_results(league: Path) -> None:
    by_points, by_results = run_json(league), run_json(league, "--by-results")
    for one, other in zip(by_points["players"], by_results["players"], strict=True):
        assert one["name"] == other["name"]
        assert 0.001 < abs(one["rating"] - other["rating"]) < 5
    assert "fitted to win/draw/loss counts" in run(league, "--by-results").stdout


def test_anchors_and_hidden_players(league: Path) -> None:
    found = run_json(league, "--anchor", "b=1500", "--anchor", "c=1400", "--hide", "b")
    assert [player["name"] for player in found["players"]] == ["a", "c"]
    a, c = found["players"]
    assert (c["rating"], c["error"]) == (pytest.approx(1400), None)
    assert a["error"] > 0
    assert "b" not in [line.split()[1] for line in run(league, "--hide", "b").stdout.splitlines()[1:3]]
    assert run_json(league, "--average", 2300)["players"][1]["rating"] > 2200


def test_bayes_stands_beside_with_its_prior(league: Path) -> None:
    text = run(league, "--bayes").stdout
    assert text.splitlines()[0].endswith("D(%)   BAYES")
    assert "BAYES: BayesElo's model with a prior of 2 draws per player." in text
    players = run_json(league, "--bayes")["players"]
    assert [player["bayes"] for player in players] == sorted((player["bayes"] for player in players), reverse=True)


def test_without_simulations_there_are_no_errors(league: Path) -> None:
    assert run(league, "--simulations", 0).stdout.splitlines()[0] == (
        "   # PLAYER    :  RATING  POINTS  PLAYED   (%)    W    D    L  D(%)"
    )
    assert all(player["error"] is None for player in run_json(league, "--simulations", 0)["players"])


def test_errors_are_explained_where_a_player_has_one(tmp_path: Path, league: Path) -> None:
    swept = write_pgn(tmp_path / "swept.pgn", [("a", "b", "1-0")] * 3)
    said = run(swept).stdout
    assert "> won and < lost every game" in said
    assert "ERROR" not in said.partition("\n")[2], "no player has one"
    anchored = run(league, *(word for name in "abc" for word in ("--anchor", f"{name}=0"))).stdout
    assert "ERROR" not in anchored.partition("\n")[2]
    assert "+/-: one standard deviation, from 1,000 simulations." in anchored
    assert "ERROR: 95 % confidence, from 1,000 simulations; +/-: one standard deviation; CFS: " in run(league).stdout


def test_the_matrix(tmp_path: Path, league: Path) -> None:
    assert run(league, "--matrix", tmp_path / "m.csv").exit_code == 0
    rows = list(csv.reader((tmp_path / "m.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[0] == ["", "a", "b", "c"]
    assert float(rows[1][2]) + float(rows[2][1]) == pytest.approx(100, abs=0.02)
    assert rows[1][1] == ""


def test_one_game(tmp_path: Path) -> None:
    path = write_pgn(tmp_path / "one.pgn", [("a", "b", "0-1")])
    winner, loser = run_json(path)["players"]
    assert (winner["name"], winner["bound"], winner["error"], winner["cfs"]) == ("b", ">", None, None)
    assert (loser["name"], loser["bound"], loser["points"]) == ("a", "<", 0.0)
    text = run(path).stdout
    assert "   1 b       > :     0.0   ----     1.0       1   100     ---    1    0    0     0" in text
    assert "Their likelihood has no maximum" in text


def test_what_does_not_count_is_told(tmp_path: Path) -> None:
    games = [*LEAGUE, ("a", "b", "*"), ("a", "a", "1-0"), ("?", "a", "1-0")]
    text = run(write_pgn(tmp_path / "g.pgn", games)).stdout.splitlines()[-1]
    assert text == (
        "35 games; 1 not decided by play left out; 1 without player names left out; "
        "1 of a player against itself left out."
    )


HOSTILE = ["=x", 'a "b" \\ c', "棋士\u3000太郎", "\x1b[31mred\x9b2J", "\u202egnp.exe", "--json", "," * 30, "長" * 190]


def test_hostile_names_steer_nothing(tmp_path: Path) -> None:
    games = [(name, "b", end) for name in HOSTILE for end in ("1-0", "0-1", "1/2-1/2")]
    path = write_pgn(tmp_path / "hostile.pgn", games)
    found = run_json(path, "--anchor", "=x=5", "--hide=--json")
    assert {player["name"] for player in found["players"]} == {*HOSTILE, "b"} - {"--json"}
    assert next(player for player in found["players"] if player["name"] == "=x")["rating"] == pytest.approx(5)
    shown = run(path, "--pairs", "--simulations", 20)
    raw = run(path, "--json")
    unknown = run(path, "--hide", "nobody")
    assert unknown.exit_code == 1
    assert "no player named 'nobody'; the players are" in unknown.stderr
    for text in (shown.stdout, raw.stdout, unknown.stderr):
        assert all(letter.isprintable() or letter in "\n\u3000" for letter in text)
    assert "棋士\u3000太郎" in shown.stdout
    assert "?[31mred?2J" in shown.stdout
    assert "長" * 190 in shown.stdout


def test_names_without_end_are_cut_in_the_table(tmp_path: Path) -> None:
    folder = write_csa(tmp_path / "records", [("x" * 5000, "b", "1-0"), ("b", "x" * 5000, "1-0")])
    assert max(map(len, run(folder).stdout.splitlines())) < 400
    assert {len(player["name"]) for player in run_json(folder)["players"]} == {1, 5000}


@pytest.mark.parametrize(
    ("options", "said", "code"),
    [
        (["--anchor", "nobody=1"], "no player named 'nobody'; the players are a, b, c", 1),
        (["--hide", ""], "no player named ''", 1),
        (["--anchor", "a"], "'a' is not NAME=RATING", 2),
        (["--anchor", "=3"], "'=3' is not NAME=RATING", 2),
        (["--anchor", "a=nan"], "'a=nan' is not NAME=RATING", 2),
        (["--anchor", "a=1e9"], "within ±100,000", 2),
        (["--anchor", "a=1", "--anchor", "a=2"], "anchored twice", 2),
        (["--anchor", "a=1", "--average", "5"], "exclude each other", 2),
        (["--scale", "0"], "--scale: Input should be greater than 0", 2),
        (["--confidence", "100"], "--confidence: Input should be less than 100", 2),
    ],
    ids=["unknown anchor", "empty hide", "no rating", "no name", "nan", "too far", "twice", "average", "scale", "sure"],
)
def test_what_is_refused(league: Path, options: list[str], said: str, code: int) -> None:
    result = run(league, *options)
    assert result.exit_code == code
    assert said in " ".join(result.stderr.replace("│", " ").split())


def test_sources_without_games(tmp_path: Path, league: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "nothing.pgn").write_bytes(b"")
    (tmp_path / "noise.txt").write_text("\x1b]0;title\x07 noise\n")
    sources = {"empty": "no file", "missing": "no such file", "nothing.pgn": "nothing.pgn", "noise.txt": "noise.txt"}
    for source, said in sources.items():
        result = run(tmp_path / source)
        assert result.exit_code == 1, source
        assert result.stderr.startswith("error: ")
        assert said in result.stderr
        assert "\x1b" not in result.stderr
    with_noise = run(league, tmp_path / "noise.txt")
    assert with_noise.exit_code == 0
    assert "skipped" in with_noise.stderr
    assert len(run_json(league, tmp_path / "noise.txt")["problems"]) == 1
    unfinished = run(write_pgn(tmp_path / "u.pgn", [("a", "b", "*")]))
    assert unfinished.exit_code == 1
    assert "no games to rate: 1 not decided by play left out" in unfinished.stderr


def test_many_players_are_announced_and_their_matrix_is_written(tmp_path: Path) -> None:
    names = [f"p{number:03}" for number in range(120)]
    games: list[tuple[str, str, str]] = []
    for one, other in zip(names, names[1:] + names[:1], strict=True):
        games += [(one, other, "1-0"), (other, one, "1-0"), (one, other, "1/2-1/2"), (names[0], names[60], "1-0")]
    path = write_pgn(tmp_path / "many.pgn", games)
    shown = run(path, "--matrix", tmp_path / "m.csv")
    assert "120 players: 1,000 simulations, each one step of Newton's method from the ratings" in shown.stderr
    assert "one step of Newton's method" in shown.stdout
    rows = list(csv.reader((tmp_path / "m.csv").read_text(encoding="utf-8").splitlines()))
    assert (len(rows), len(rows[1])) == (121, 121)
    assert float(rows[1][2]) + float(rows[2][1]) == pytest.approx(100, abs=0.02)


def test_losses_on_time_are_listed_with_the_rating_without_them(tmp_path: Path) -> None:
    folder = write_csa(tmp_path / "records", LEAGUE)
    plain = run_json(folder)
    assert plain["forfeits"] == []
    for number in range(4):  # who is to move runs out of time: a
        text = CSA.format("a", "b", "%TIME_UP")
        (folder / f"late-{number}.csa").write_text(text.replace("V2.2\n", f"V2.2\n$EVENT:{number}\n"), encoding="utf-8")
    found = run_json(folder, "--simulations", 0)
    ratings = {player["name"]: player["rating"] for player in found["players"]}
    (forfeits,) = found["forfeits"]
    assert (forfeits["name"], forfeits["time_up"], forfeits["illegal_move"], forfeits["notable"]) == ("a", 4, 0, True)
    assert forfeits["rating_without_forfeits"] > ratings["a"]
    assert forfeits["rating_without_forfeits"] == pytest.approx(plain["players"][0]["rating"])
    assert f"warning: a: 4 of {forfeits['losses']} losses are forfeits (4 on time); rating without forfeits: " in (
        run(folder, "--simulations", 0).stdout
    )
