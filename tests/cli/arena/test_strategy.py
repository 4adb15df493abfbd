"""``fukayomi strategy``: tables, files and pictures of small sources, and errors."""

from functools import partial
from pathlib import Path

import command_runs
import pytest
from places import SAMPLES

EXCHANGE = "7g7f 8c8d 2g2f 8d8e 8h7g 3c3d 7i6h 4a3b 6i7h 2b7g+ 6h7g 3a2b"
FOURTH = "7g7f 3c3d 2g2f 4c4d 3i4h 8b4b"

run = partial(command_runs.run, "strategy", COLUMNS="200")
run_json = partial(command_runs.run_json, "strategy")


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """Positions: two of one strategy, one of another, and one that cannot be read."""
    file = tmp_path / "openings.sfen"
    moves = (EXCHANGE, FOURTH, EXCHANGE, "7g7f 7g7f")
    file.write_text("".join(f"startpos moves {line}\n" for line in moves), encoding="utf-8")
    return file


@pytest.fixture
def games(tmp_path: Path) -> Path:
    """Games of two years as CSA."""
    folder = tmp_path / "games"
    folder.mkdir()
    for number, (year, result) in enumerate([(2019, "%TORYO"), (2020, "%TORYO"), (2020, "%SENNICHITE")]):
        text = f"V2.2\nN+black\nN-white\n'black_rate:black:{3800 + number}\n'white_rate:white:3900\n"
        text += f"$START_TIME:{year}/01/02\nPI\n+\n+7776FU\n-3334FU\n+2726FU\n-4344FU\n+3948GI\n-8242HI\n{result}\n"
        (folder / f"{number}.csa").write_text(text, encoding="utf-8")
    return folder


def test_positions_have_shares(lines: Path) -> None:
    code, printed, said = run(lines)
    assert code == 0
    assert "角換わり" in printed
    assert "66.7%" in printed
    assert "後手四間飛車" in printed
    assert "skipped" in said
    assert "line 4" in said
    found = run_json(lines)
    assert found["games"] == 3
    rows = found["tables"][0]["rows"]
    assert [(row["strategy"], row["tags"], row["games"], row["black_win_rate"]) for row in rows] == [
        ("角換わり", ["角換わり"], 2, None), ("後手四間飛車", ["後手四間飛車"], 1, None),
    ]  # fmt: skip
    assert len(found["problems"]) == 1
    assert found["tables"][0]["omitted"] == 0
    assert "not shown" not in printed


@pytest.mark.parametrize("few", [("--top", 1), ("--min-count", 2)])
def test_what_the_table_leaves_out_is_counted(lines: Path, few: tuple[str, int]) -> None:
    assert "1 rarer combination not shown (--top, --min-count)" in run(lines, *few)[1]
    (table,) = run_json(lines, *few)["tables"]
    assert (len(table["rows"]), table["omitted"]) == (1, 1)


def test_records_have_win_rates(games: Path) -> None:
    (table,) = run_json(games)["tables"]
    (row,) = table["rows"]
    assert (row["strategy"], row["english"], row["games"]) == ("後手四間飛車", "White Fourth-File Rook", 3)
    assert (row["share"], row["black_win_rate"], row["white_win_rate"]) == (1.0, 0.0, pytest.approx(2 / 3))
    assert (row["black_win_rate_low"], row["black_win_rate_high"]) == (0.0, pytest.approx(0.5615, abs=1e-4))
    assert row["draw_rate"] == pytest.approx(1 / 3)


def test_by_year_and_engine(games: Path) -> None:
    tables = run_json(games, "--by", "year")["tables"]
    assert [(table["group"], table["games"]) for table in tables] == [("2019", 1), ("2020", 2)]
    tables = run_json(games, "--by", "engine")["tables"]
    assert [(table["group"], table["games"]) for table in tables] == [("black (先手)", 3), ("white (後手)", 3)]
    assert tables[0]["rows"][0]["results"] == {"draw": 1, "white_win": 2}
    code, printed, _ = run(games, "--by", "engine", "--english")
    assert code == 0
    assert "A draw is not a win for either side" in " ".join(printed.split())
    assert "black (Black)" in printed
    assert "White Fourth-File Rook" in printed


def test_ratings(games: Path) -> None:
    found = run_json(games, "--min-rating", 3801)
    assert (found["games"], found["below_rating"]) == (2, 1)
    code, _, said = run(games, "--min-rating", 4000)
    assert code == 1
    assert "no games left: 3 below the rating" in said


def test_files(games: Path, tmp_path: Path) -> None:
    table, bars, lines = tmp_path / "t.csv", tmp_path / "bars.png", tmp_path / "lines.svg"
    assert run(games, "--csv", table, "--picture", bars)[0] == 0
    assert (
        table.read_bytes().decode("utf-8-sig").splitlines()[1].startswith("後手四間飛車,3,1.0000,0.0000,0.6667,0.3333")
    )
    assert bars.read_bytes().startswith(b"\x89PNG")
    assert run(games, "--by", "year", "--picture", lines, "--draw", "後手四間飛車")[0] == 0
    assert b"<svg" in lines.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bars.png", "games", "lines.svg", "t.csv"]


def test_without_a_japanese_font_it_says_so(games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fukayomi.arena.strategy import pictures

    plain = pictures.find_lettering(())
    monkeypatch.setattr(pictures, "find_lettering", lambda: plain)
    code, _, said = run(games, "--picture", tmp_path / "bars.svg")
    assert code == 0
    assert "no Japanese font is installed" in said
    assert "Noto Sans CJK JP" in said
    assert (tmp_path / "bars.svg").exists()


def test_each_game(lines: Path, games: Path) -> None:
    code, printed, _ = run(lines, "--game")
    assert code == 0
    assert "角換わり 11" in printed
    assert "後手四間飛車 6" in printed
    found = run_json(games, "--game")["games"]
    assert [game["tags"] for game in found] == [
        [{"tag": "後手四間飛車", "english": "White Fourth-File Rook", "kind": "opening", "ply": 6}]
    ] * 3
    assert found[0]["name"].endswith("0.csa")


def test_the_list() -> None:
    code, printed, _ = run("--list")
    assert code == 0
    assert "ゴキゲン中飛車" in printed
    found = run_json("--list")
    assert all(one["name"] != "飛先交換" for one in found)  # a helper
    assert {
        "name": "美濃囲い",
        "english": "Mino Castle",
        "kind": "castle",
        "side": "each",
        "hides": ["片美濃囲い"],
        "when": ["king 2h, silver 3h, gold 4i, gold 5h; up to ply 60"],
    } in found


def test_definitions_of_ones_own(games: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("- {name: 初手, english: First, kind: opening, when: {pieces: [P7f], max_ply: 1}}", encoding="utf-8")
    (row,) = run_json(games, "--definitions", own)["tables"][0]["rows"]
    assert row["strategy"] == "先手初手"
    own.write_text("- {name: 初手, english: First, kind: opening, when: {pieces: [P7z], max_ply: 1}}", encoding="utf-8")
    code, _, said = run(games, "--definitions", own)
    assert code == 1
    assert "初手: when.0.pieces.0" in said


def test_definitions_of_mizar(games: Path, lines: Path, tmp_path: Path) -> None:
    castle = SAMPLES / "mizar" / "castle.json"
    (row,) = run_json(games, "--definitions", castle)["tables"][0]["rows"]
    assert (row["strategy"], row["english"], row["games"]) == ("後手四間飛車", "White Shiken", 3)
    code, printed, _ = run(lines, "--definitions", castle, "--game")
    assert code == 0
    assert "角換わり 11" in printed
    listed = {one["name"]: one for one in run_json("--list", "--definitions", castle)}
    assert listed["先手本美濃囲い"] == {
        "name": "先手本美濃囲い", "english": "Black Hon Mino", "kind": "castle", "side": "fixed", "hides": [],
        "when": ["king 2h, silver 3h, gold 4i, gold 5h; up to ply 64"],
    }  # fmt: skip
    assert listed["先手横歩"]["hides"] == ["相掛かり"]
    assert "先手飛車先歩交換" not in listed
    cut = tmp_path / "cut.json"
    cut.write_bytes(castle.read_bytes()[:700])
    code, printed, said = run(games, "--definitions", cut)
    assert (code, printed) == (1, "")
    (line,) = said.splitlines()
    assert line.endswith("at line 6 column 52; mend that place, or fetch the whole file again")


def test_a_match_of_results_alone_has_no_strategies(tmp_path: Path) -> None:
    pgn = tmp_path / "results.pgn"
    pgn.write_text('[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n1-0\n', encoding="utf-8")
    code, _, said = run(pgn)
    assert code == 1
    assert "no games left: no game has moves" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give games"),
        (["nowhere"], "no such file"),
        (["x", "--kinds", "opening,castles"], "opening, attack, castle"),
        (["x", "--picture", "picture.gif"], ".svg or .png"),
        (["x", "--draw", "角換わり"], "--by year"),
    ],
    ids=["no source", "missing source", "kind", "picture", "draw"],
)
def test_what_is_wrong_is_said(arguments: list[str], message: str) -> None:
    code, _, said = run(*arguments)
    assert code in (1, 2)
    assert message in " ".join(said.replace("│", " ").split())


def test_an_unknown_row_cannot_be_drawn(games: Path, tmp_path: Path) -> None:
    code, _, said = run(games, "--by", "year", "--picture", tmp_path / "a.svg", "--draw", "角換わり")
    assert code == 1
    assert "no row is named '角換わり'" in said
    assert not (tmp_path / "a.svg").exists()


def test_names_cannot_steer_a_terminal(tmp_path: Path) -> None:
    file = tmp_path / "a.csa"
    file.write_text("V2.2\nN+\x1b[31mred\nN-white\nPI\n+\n+7776FU\n%TORYO\n", encoding="utf-8")
    for arguments in (["--game"], ["--by", "engine"]):
        code, printed, _ = run(file, *arguments)
        assert code == 0
        assert "\x1b[31m" not in printed
