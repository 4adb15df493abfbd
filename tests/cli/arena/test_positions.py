"""``fukayomi positions``: the files, the output, errors, and a match that reads the lines."""

import json
import zipfile
from functools import partial
from pathlib import Path

import command_runs
import pytest

from fukayomi.arena.game.openings import read_openings
from fukayomi.arena.positions import balanced_set
from fukayomi.shogi import Move
from fukayomi.shogi.formats import write_csa, write_kif
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination

SHUTTLE = ("2h3h", "8b7b", "3h2h", "7b8b")
OPENINGS = {
    "a": ("7g7f", "3c3d", "9g9f", "9c9d"),
    "b": ("9g9f", "9c9d", "7g7f", "3c3d"),  # the same position
    "c": ("1g1f", "1c1d", "7g7f", "3c3d"),
}

run = partial(command_runs.run, "positions", COLUMNS="200")
run_json = partial(command_runs.run_json, "positions")


def record(name: str, **scores: int) -> Record:
    """A game of 84 plies that is even all the time, but for what `scores` says: m37=200 is move 37."""
    moves = [*OPENINGS[name], *SHUTTLE * 20]
    played = [RecordedMove(Move.from_usi(usi), scores.get(f"m{number}", 5)) for number, usi in enumerate(moves, 1)]
    return Record(
        moves=played, black_name="x", white_name="y", black_rating=3900, white_rating=3500,
        termination=Termination.RESIGN, result=Result.WHITE_WIN,
    )  # fmt: skip


@pytest.fixture
def games(tmp_path: Path) -> Path:
    folder = tmp_path / "games"
    folder.mkdir()
    for name in OPENINGS:
        (folder / f"{name}.csa").write_text(write_csa(record(name)), encoding="utf-8")
    (folder / "d.csa").write_text(write_csa(record("a", m60=160)), encoding="utf-8")
    (folder / "e.csa").write_text(write_csa(record("c", m37=120)), encoding="utf-8")
    return folder


def test_games_become_lines(games: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.sfen"
    code, printed, said = run("balanced", games, "-o", out, "--filter-rating", 3500)
    assert (code, said.strip()) == (0, "")
    assert "2 lines in" in printed
    openings = read_openings(out)
    assert {tuple(move.usi() for move in opening.moves[:4]) for opening in openings} == {OPENINGS["a"], OPENINGS["c"]}
    assert {len(opening.moves) for opening in openings} == {36}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["games", "out.sfen"]
    found = run_json("balanced", games, "-o", out, "--filter-rating", 3500)  # once more: a set may be replaced
    assert (found["games_read"], found["lines"], found["file"]) == (5, 2, str(out))
    assert {reason: count for reason, count in found["left_out"].items() if count} == {"duplicate": 2, "eval_moves2": 1}
    assert found["conditions"] == {
        "moves1": 24, "moves2": 36, "eval": 170, "eval2": 100, "filter_moves": 50, "filter_rating": 3500.0,
        "middle_game": False, "eval_of": "next-move",
    }  # fmt: skip


def test_the_bytes_do_not_depend_on_container_format_and_order(games: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "games.zip", "w") as archive:
        for name in sorted(OPENINGS, reverse=True):
            archive.writestr(f"{name}.kif", write_kif(record(name)))
    sources = [games / f"{name}.csa" for name in OPENINGS]
    contents: set[bytes] = set()
    for order in (sources, sources[::-1], [games], [tmp_path / "games.zip"], [tmp_path / "games.zip", games]):
        out = tmp_path / "out.sfen"
        assert run("balanced", *order, "-o", out, "--filter_rating", 0)[0] == 0
        contents.add(out.read_bytes())
    assert len(contents) == 1


def test_options_in_both_spellings(games: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one.sfen", tmp_path / "two.sfen"
    settings = ["--moves1", 30, "--moves2", 80, "--eval", 170, "--eval2", 150]
    old = [*settings, "--less_than_moves2", "--filter_moves", 60, "--filter_rating", 3400, "--eval_of", "last-move"]
    new = [*settings, "--middle-game", "--filter-moves", 60, "--filter-rating", 3400, "--eval-of", "last-move"]
    found = run_json("balanced", games, "-o", one, *old)
    assert found["conditions"] == {
        "moves1": 30, "moves2": 80, "eval": 170, "eval2": 150, "filter_moves": 60, "filter_rating": 3400.0,
        "middle_game": True, "eval_of": "last-move",
    }  # fmt: skip
    assert run("balanced", games, "-o", two, *new)[0] == 0
    assert one.read_bytes() == two.read_bytes()
    (line,) = read_openings(one)
    assert len(line.moves) == 59
    found = run_json("balanced", games, "-o", one, "--filter-rating", 0, "--less-than-moves2")
    assert [found["conditions"][name] for name in ("moves1", "moves2", "eval2")] == [32, 80, 150]
    assert len(read_openings(one)[0].moves) == 58


def test_no_line_is_a_failure_with_its_counts(games: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.sfen"
    code, printed, said = run("balanced", games, "-o", out, "--json")
    assert code == 1
    assert "no game meets the conditions, and nothing was written; see --filter-rating" in said
    found = json.loads(printed)
    assert (found["left_out"]["rating"], found["lines"], found["file"]) == (5, 0, None)
    code, printed, _ = run("balanced", games, "-o", out)
    assert code == 1
    assert "rated below 3800" in printed
    code, _, said = run("balanced", games, "-o", out, "--filter-rating", 0, "--filter-moves", 85)
    assert code == 1
    assert "--filter-rating" not in said
    assert not out.exists()


def test_lines_without_an_evaluation_at_the_plies_are_told(tmp_path: Path) -> None:
    without = record("a")
    for number in (25, 37):
        without.moves[number - 1].score_cp = None
    (tmp_path / "a.csa").write_text(write_csa(without), encoding="utf-8")
    code, printed, _ = run("balanced", tmp_path / "a.csa", "-o", tmp_path / "out.sfen", "--filter-rating", 0)
    assert code == 0
    assert "1 accepted game has no evaluation after ply 24" in printed
    assert "1 accepted game has no evaluation after ply 36" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csa", "-o", "out.sfen"], "nowhere.csa: no such file"),
        (["bad.zip", "-o", "out.sfen"], "bad.zip: cannot be read"),
        (["game.csa", "-o", "missing/out.sfen"], "cannot be written"),
        (["game.csa", "other.csa", "-o", "other.csa"], "other.csa is also an input"),
        (["game.csa", "-o", "."], "cannot be written"),
        (["game.csa", "-o", "out.sfen", "--moves1", "40"], "moves1 must be within 1..moves2 (36), not 40"),
        (["game.csa", "-o", "out.sfen", "--eval", "-1"], "eval: Input should be greater than or equal to 0"),
        (["game.csa", "-o", "out.sfen", "--filter-rating", "nan"], "--filter-rating: Input should be a finite number"),
        (["game.csa", "-o", "out.sfen", "--eval-of", "both"], "both"),
        (["game.csa", "other.csa"], "--out"),
    ],
)
def test_what_cannot_be_done_is_said(
    games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.zip").write_bytes(b"PK\x03\x04 nonsense")
    for name in ("game.csa", "other.csa"):
        Path(name).write_bytes((games / "a.csa").read_bytes())
    before = sorted(tmp_path.iterdir())
    code, _, said = run("balanced", *arguments)
    assert code in (1, 2)
    assert message in said
    assert "Traceback" not in said
    assert sorted(tmp_path.iterdir()) == before


def test_problems_are_named_and_cannot_steer_the_terminal(games: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(games / "more.zip", "w") as archive:
        for number in range(30):
            archive.writestr(f"\x1b[31m[bold]evil{number}.csa", "nothing")
    code, printed, said = run("balanced", games, "-o", tmp_path / "out.sfen", "--filter-rating", 0)
    assert code == 0
    assert "files that are not records" in printed
    assert "\x1b[31m" not in said
    assert said.count("skipped") == 21
    assert "skipped 10 more" in said
    found = run_json("balanced", games, "-o", tmp_path / "out.sfen", "--filter-rating", 0)
    assert (found["games_read"], found["left_out"]["no_record"], len(found["problems"])) == (5, 30, 30)


def test_an_interrupt_leaves_what_was_there(games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(balanced_set, "find_line", interrupt)
    out = tmp_path / "out.sfen"
    out.write_text("before")
    code, _, said = run("balanced", games, "-o", out)
    assert code == 130
    assert "nothing was written" in said
    assert out.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["games", "out.sfen"]


def test_two_sets_beside_each_other(tmp_path: Path) -> None:
    a, b = tmp_path / "[a].sfen", tmp_path / "b.sfen"
    a.write_text("startpos moves 7g7f 3c3d 2g2f 4c4d 3i4h 8b4b\nstartpos moves 7g7f 3c3d 2g2f 8c8d\n")
    b.write_text("startpos moves 2g2f 8c8d 7g7f 3c3d 6i7h\n")
    code, printed, _ = run("compare", a, b, "--ply", 4)
    assert code == 0
    assert "[a].sfen" in printed
    assert "lines whose position the other set has │        1 │      1 │" in printed
    found = run_json("compare", a, b, "--ply", 4)
    assert (found["ply"], found["a"]["file"], found["a"]["lines"]) == (4, str(a), 2)
    assert (found["a"]["lines_in_other"], found["a"]["lines_with_position_in_other"]) == (0, 1)
    found = run_json("compare", a, b)
    assert (found["ply"], found["a"]["short"], found["a"]["positions_in_other"]) == (24, 2, 0)
    assert found["a"]["strategies"][1] == {
        "strategy": "後手四間飛車", "english": "White Fourth-File Rook", "lines": 1, "share": 0.5,
    }  # fmt: skip
    code, printed, _ = run("compare", a, b, "--english", "--top", 2)
    assert code == 0
    assert "White Fourth-File Rook" in printed
    assert "戦型" not in run("compare", a, b, "--top", 0)[1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("startpos moves 7g7f 7g7f\n", "bad.sfen, line 1: illegal move"),
        ("\n", "has no openings"),
        (None, "bad.sfen"),
    ],
    ids=["illegal", "empty", "missing"],
)
def test_a_set_that_cannot_be_read_is_named(tmp_path: Path, content: str | None, message: str) -> None:
    good, bad = tmp_path / "good.sfen", tmp_path / "bad.sfen"
    good.write_text("startpos moves 7g7f\n")
    if content is not None:
        bad.write_text(content)
    for order in ((good, bad), (bad, good)):
        code, _, said = run("compare", *order)
        assert code == 1
        assert message in said
