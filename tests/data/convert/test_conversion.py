"""From every format to every other, and back."""

import random
from pathlib import Path

import numpy as np
import pytest
from game_samples import random_game, random_games
from hypothesis import given
from hypothesis import strategies as st
from places import RECORDS

from fukayomi.data.convert.convert import NothingConvertedError, convert_data
from fukayomi.data.convert.positions import convert_records
from fukayomi.data.convert.writers import DataWriter, target_of, write_data
from fukayomi.data.formats.format import DataFileError, map_rows
from fukayomi.data.formats.games import Targets, game_from_record, record_from_game
from fukayomi.data.formats.hcpe import ResultFlag, read_hcpe
from fukayomi.data.formats.hcpe3 import Games, join_games, read_hcpe3
from fukayomi.data.formats.kinds import DataFormat, Target
from fukayomi.data.formats.psv import PSV
from fukayomi.data.formats.table import UnknownDataError, detect_data
from fukayomi.data.records.reading import Drop, Dropped
from fukayomi.shogi import START_SFEN, Position
from fukayomi.shogi.formats import read_records, write_csa, write_record
from fukayomi.shogi.record import RecordError, Result

SAMPLE = "psv_to_hcpe3_yaneuraou_sample"


def write(path: Path, games: Games) -> Path:
    with DataWriter(path) as writer:
        writer.append(games)
    return path


@pytest.mark.parametrize("source", ["psv", "hcpe", "hcpe3"])
@pytest.mark.parametrize("target", ["psv", "hcpe", "hcpe3"])
def test_real_files_of_the_same_positions(tmp_path: Path, shared_data: Path, source: str, target: str) -> None:
    folder = shared_data / "training-fixtures"
    out = tmp_path / f"out.{target}"
    found = convert_data([folder / f"{SAMPLE}.{source}"], out, to=Target(target))
    assert (found.positions, found.written) == (30, 30)
    expected = (folder / f"{SAMPLE}.{target}").read_bytes()
    if target == "psv" and source != "psv":  # the others do not know the ply
        assert np.array_equal(map_rows(out, PSV)["gamePly"], np.full(30, 0 if source == "hcpe" else 1))
        rows = np.array(map_rows(out, PSV))
        rows["gamePly"] = map_rows(folder / f"{SAMPLE}.psv", PSV)["gamePly"]
        assert rows.tobytes() == expected
    else:
        assert out.read_bytes() == expected


@pytest.mark.parametrize("name", ["hcp", "hcpe", "hcpe2", "hcpe3", "psv", "plain", "sfen"])
def test_formats_are_known_by_their_content(tmp_path: Path, name: str) -> None:
    source = write(tmp_path / "source.hcpe3", random_games(20))
    convert_data([source], tmp_path / f"out.{name}", to=Target(name))
    (tmp_path / "x").write_bytes((tmp_path / f"out.{name}").read_bytes())
    assert detect_data(tmp_path / "x") is DataFormat(name)


def test_what_is_no_data_is_refused(tmp_path: Path) -> None:
    for content in (b"hello\n", bytes(100), b"\xff" * 380, random.Random(1).randbytes(38 * 40)):
        (tmp_path / "x").write_bytes(content)
        beginning = "'hello'" if content == b"hello\n" else content[:16].hex(" ")
        with pytest.raises(UnknownDataError, match=f"it begins {beginning}$"):
            detect_data(tmp_path / "x")
    (tmp_path / "x").write_bytes(b"")
    with pytest.raises(UnknownDataError, match="the file is empty"):
        detect_data(tmp_path / "x")
    assert detect_data(RECORDS) is DataFormat.RECORDS


def test_what_else_lies_in_a_folder_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder / "a.hcpe3", random_games(3))
    (folder / "b.csa").write_bytes((RECORDS / "declaration.csa").read_bytes())
    (folder / "LICENSE").write_text("all of it\n")
    found = convert_data([folder], tmp_path / "out.hcpe3", to=Target.HCPE3)
    assert (found.written, found.dropped) == (4, {Drop.NO_RECORD: 1})
    with pytest.raises(UnknownDataError, match="LICENSE"):
        convert_data([folder / "LICENSE"], tmp_path / "out.hcpe3", to=Target.HCPE3)


def test_records_give_what_csa_to_hcpe_gives(tmp_path: Path) -> None:
    files = sorted(RECORDS.glob("*.csa"))
    convert_records(files, tmp_path / "a.hcpe")
    convert_data(files, tmp_path / "b.hcpe", to=Target.HCPE)
    convert_data(files, tmp_path / "c.hcpe3", to=Target.HCPE3)
    convert_data([tmp_path / "c.hcpe3"], tmp_path / "c.hcpe", to=Target.HCPE)
    expected = (tmp_path / "a.hcpe").read_bytes()
    assert expected == (tmp_path / "b.hcpe").read_bytes() == (tmp_path / "c.hcpe").read_bytes()


def test_games_become_csa_and_come_back(tmp_path: Path) -> None:
    games = random_games(30, seed=4)
    convert_data([write(tmp_path / "a.hcpe3", games)], tmp_path / "a.csa", to=Target.CSA)
    convert_data([tmp_path / "a.csa"], tmp_path / "b.hcpe3", to=Target.HCPE3)
    (back,) = read_hcpe3(tmp_path / "b.hcpe3")
    trained = games.candidate_counts() > 0
    assert np.array_equal(back.moves, games.moves)
    assert np.array_equal(back.candidates, games.candidates)
    assert np.array_equal(back.candidate_moves, games.candidate_moves)
    assert np.array_equal(back.candidate_visits, games.candidate_visits)
    assert np.array_equal(back.evals[trained], np.maximum(games.evals[trained], -32767))
    assert np.array_equal(back.results & 3, games.results & 3)


@given(st.integers(0, 2**32))
def test_any_game_becomes_a_record_and_comes_back(seed: int) -> None:
    game = random_game(random.Random(seed))
    (record,) = read_records(write_csa(record_from_game(game)).encode())
    back = game_from_record(record)
    assert not isinstance(back, Dropped)
    assert back.result == game.result
    for name in ("start", "hcps", "moves", "candidates", "candidate_moves", "candidate_visits"):
        assert np.array_equal(getattr(back, name), getattr(game, name)), name


@pytest.mark.parametrize("target", ["kif", "ki2", "jkf"])
def test_formats_of_one_game_fill_a_folder(tmp_path: Path, target: str) -> None:
    games = random_games(5, seed=8)
    source = write(tmp_path / "a.hcpe3", games)
    written = convert_data([source], tmp_path / "out", to=Target(target))
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [f"{n:06}.{target}" for n in range(1, 6)]
    assert written.written == 5
    for number, game in enumerate(games, 1):
        (record,) = read_records(tmp_path / "out" / f"{number:06}.{target}")
        assert [played.move.raw for played in record.moves] == game.moves.tolist()
    with pytest.raises(DataFileError, match="holds one game"):
        convert_data([source], tmp_path / f"one.{target}", to=Target(target))
    assert not (tmp_path / f"one.{target}").exists()


@pytest.mark.parametrize("target", ["csa", "kif", "ki2", "jkf", "usi"])
def test_a_folder_keeps_the_names_of_its_files(tmp_path: Path, target: str) -> None:
    source = tmp_path / "in"
    (source / "2025").mkdir(parents=True)
    game = (RECORDS / "resign.csa").read_bytes()
    (source / "first.csa").write_bytes(game.replace(b"N+", b"N+other "))  # a game of its own
    (source / "2025" / "竜王戦.csa").write_bytes(game + b"/\n" + game)
    (tmp_path / "out").mkdir()
    convert_data(source, tmp_path / "out", to=target)
    names = {str(file.relative_to(tmp_path / "out")) for file in (tmp_path / "out").rglob("*.*")}
    assert names == {f"first.{target}", f"2025/竜王戦.{target}", f"2025/竜王戦-2.{target}"}
    for name in names:
        assert len(list(read_records(tmp_path / "out" / name))) == 1


def variations(depth: int) -> str:
    """A game in KIF with variations that leave each other."""
    moves = ["△７二飛", "▲３八飛", "△８二飛", "▲２八飛"]
    return "手合割：平手\n▲７六歩\n" + "".join(f"変化：{ply + 2}手\n{moves[ply % 4]}\n" for ply in range(depth))


def test_a_failure_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "a.ki2").write_text(variations(5000))
    record = next(read_records(tmp_path / "a.ki2"))
    with pytest.raises(RecordError):
        write_data(tmp_path / "out", [record, record], format="jkf")
    assert [path.name for path in tmp_path.iterdir()] == ["a.ki2"]


def test_a_record_that_the_format_cannot_express_does_not_stop_a_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.ki2").write_text(variations(5000))
    (tmp_path / "in" / "b.ki2").write_text(variations(5))
    (tmp_path / "in" / "c.csa").write_text("PI\n+\n+7776FU\n#RESIGN\n#GOTE_WIN\n")
    found = convert_data(tmp_path / "in", tmp_path / "out", to="jkf")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["b.jkf", "c.jkf"]
    assert (found.written, found.dropped[Drop.NOT_WRITTEN]) == (2, 1)
    assert "a.ki2: the variations are nested too deeply for JKF" in found.problems[0]


@pytest.mark.parametrize(
    ("name", "encoding", "codec"),
    [
        ("a.kif", "utf-8", "utf-8"),
        ("a.kif", "shift_jis", "cp932"),
        ("a.ki2", "shift_jis", "cp932"),
        ("a.kifu", "utf-8", "utf-8"),
        ("a.ki2u", "utf-8", "utf-8"),
    ],
)
def test_encodings(tmp_path: Path, name: str, encoding: str, codec: str) -> None:
    (record,) = read_records(RECORDS / "resign.csa")
    record.black_name = "髙橋"  # CP932 has it, JIS X 0208 has not
    write_record(record, tmp_path / name, encoding=encoding)
    assert "髙橋" in (tmp_path / name).read_text(codec)
    convert_data(tmp_path / name, tmp_path / f"b-{name}", encoding=encoding)
    assert "髙橋" in (tmp_path / f"b-{name}").read_text(codec)
    for path in (tmp_path / name, tmp_path / f"b-{name}"):
        (again,) = read_records(path)
        assert (again.usi_moves(), again.black_name) == (record.usi_moves(), "髙橋")


def test_encodings_that_a_format_does_not_have(tmp_path: Path) -> None:
    (record,) = read_records(RECORDS / "resign.csa")
    for name in ("a.csa", "a.jkf", "a.kifu", "a.ki2u", "a.usi"):
        with pytest.raises(ValueError, match="UTF-8"):
            write_record(record, tmp_path / name, encoding="shift_jis")
        with pytest.raises(DataFileError, match="Shift_JIS"):
            convert_data(RECORDS / "resign.csa", tmp_path / name, encoding="shift_jis")
    record.black_name = "𠮷田"
    with pytest.raises(RecordError, match=r"𠮷.*UTF-8"):
        write_record(record, tmp_path / "a.kif", encoding="shift_jis")
    assert list(tmp_path.iterdir()) == []


def test_characters_that_shift_jis_lacks_are_replaced_and_counted(tmp_path: Path) -> None:
    (record,) = read_records(RECORDS / "resign.csa")
    folder = tmp_path / "games"
    folder.mkdir()
    for name, comment in (("a", "☗７六歩 ☖３四歩 ♔"), ("b", "好手"), ("c", "𠮷")):
        record.moves[0].comment, record.black_name = comment, name
        write_record(record, folder / f"{name}.csa")
    for suffix in ("kif", "ki2"):
        found = convert_data(folder, tmp_path / suffix, to=suffix, encoding="shift_jis")
        assert (found.written, found.replaced) == (3, {"☗": 1, "☖": 1, "♔": 1, "𠮷": 1})
        first, second = found.replacements
        assert first.startswith(f"{folder / 'a.csa'}: 3 characters that Shift_JIS lacks: '☗' (BLACK SHOGI PIECE), '☖'")
        assert second == f"{folder / 'c.csa'}: 1 character that Shift_JIS lacks: '𠮷' (CJK UNIFIED IDEOGRAPH-20BB7)"
        assert "*▲７六歩 △３四歩 ?\n" in (tmp_path / suffix / f"a.{suffix}").read_text("cp932")
    assert convert_data(folder, tmp_path / "utf-8", to="kif").replaced == {}


def test_a_file_of_positions_alone_in_a_folder_is_skipped_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    folder.mkdir()
    (folder / "a.csa").write_bytes((RECORDS / "resign.csa").read_bytes())
    (folder / "openings.sfen").write_text(f"sfen {START_SFEN}\n")
    convert_data(folder / "openings.sfen", folder / "openings.hcp")
    for name in ("out.csa", "out.kif", "out.hcpe3", "out.hcpe"):
        found = convert_data(folder, tmp_path / name, targets=Targets(one_hot=True))
        assert (found.written > 0, found.dropped[Drop.NO_RECORD]) == (True, 2)
        assert f"{folder / 'openings.hcp'}: positions alone, without moves, make no {name[4:]}" in found.problems
    assert convert_data(folder, tmp_path / "out.hcp").written > 2
    with pytest.raises(DataFileError, match=r"openings\.sfen: positions alone, .* only hcp and sfen are made of them"):
        convert_data(folder / "openings.sfen", tmp_path / "out.csa")


def test_records_are_copied_with_what_they_say(tmp_path: Path) -> None:
    source = RECORDS / "declaration.csa"
    convert_data([source], tmp_path / "a.kif", to=Target.KIF)
    convert_data([tmp_path / "a.kif"], tmp_path / "b.csa", to=Target.CSA)
    (first,), (second,) = read_records(source), read_records(tmp_path / "b.csa")
    assert second.usi_moves() == first.usi_moves()
    assert (second.black_name, second.result) == (first.black_name, first.result)
    assert [played.score_cp for played in second.moves] == [played.score_cp for played in first.moves]


@pytest.mark.parametrize(
    "end", ["%KACHI\n'summary:illegal kachi:a lose:b win\n", "%TORYO\n'summary:abnormal:a lose:b win\n"]
)
def test_fouls_and_lost_connections_are_not_learnt_from(tmp_path: Path, end: str) -> None:
    (tmp_path / "a.csa").write_text(f"PI\n+\n+7776FU\n'** 30\n-3334FU\n'** 20\n{end}")
    with pytest.raises(NothingConvertedError) as caught:
        convert_data(tmp_path / "a.csa", tmp_path / "a.hcpe3", targets=Targets(one_hot=True))
    assert caught.value.conversion.dropped == {Drop.ENDING: 1}


def test_a_game_without_an_end_does_not_spoil_a_folder(tmp_path: Path) -> None:
    """65 535 plies, and 100 000 in CSA."""
    folder = tmp_path / "in"
    folder.mkdir()
    cycle = ["2h3h", "8b7b", "3h2h", "7b8b"]
    (folder / "a.usi").write_text(f"startpos moves {' '.join(cycle[ply % 4] for ply in range(65_535))}\n")
    csa = ["+2838HI", "-8272HI", "+3828HI", "-7282HI"]
    (folder / "b.csa").write_text("PI\n+\n" + "\n".join(csa[ply % 4] for ply in range(100_000)) + "\n%CHUDAN\n")
    (folder / "c.csa").write_bytes((RECORDS / "resign.csa").read_bytes())
    found = convert_data(folder, tmp_path / "out", to="kif")
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["c.kif"]
    assert sorted(message.removeprefix(f"{folder}/") for message in found.problems) == [
        "a.usi, line 1: a game may have at most 10000 plies",
        "b.csa, line 10003: a game may have at most 10000 plies: '+2838HI'",
    ]


def test_usi_lines_need_a_result(tmp_path: Path) -> None:
    (tmp_path / "a.usi").write_text("startpos moves 7g7f 3c3d\n")
    with pytest.raises(NothingConvertedError) as caught:
        convert_data([tmp_path / "a.usi"], tmp_path / "a.hcpe3", to=Target.HCPE3)
    assert caught.value.conversion.dropped == {Drop.ENDING: 1}
    assert not (tmp_path / "a.hcpe3").exists()
    targets = Targets(one_hot=True, unfinished_as_draws=True)
    convert_data([tmp_path / "a.usi"], tmp_path / "a.hcpe3", to=Target.HCPE3, targets=targets)
    (games,) = read_hcpe3(tmp_path / "a.hcpe3")
    assert (games[0].result, games.candidate_counts().tolist()) == (Result.DRAW, [1, 1])
    mate = "startpos moves 7g7f 5a4b 8h3c+ 4b5b 3c4c 5b5a 4c5c"
    (tmp_path / "a.usi").write_text(mate)  # not mated yet
    with pytest.raises(NothingConvertedError):
        convert_data([tmp_path / "a.usi"], tmp_path / "a.hcpe3", to=Target.HCPE3)
    repetition = "startpos moves " + "2h3h 8b7b 3h2h 7b8b " * 3
    (tmp_path / "a.usi").write_text(repetition)
    convert_data([tmp_path / "a.usi"], tmp_path / "a.hcpe3", to=Target.HCPE3)
    (games,) = read_hcpe3(tmp_path / "a.hcpe3")
    assert (games[0].result, games[0].flags) == (Result.DRAW, ResultFlag.REPETITION)


def test_sfens_become_hcp_and_come_back(tmp_path: Path) -> None:
    sfens = [Position().sfen(), "4k4/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L18P 1"]
    (tmp_path / "a.sfen").write_text(f"# even\n{sfens[0]}\n\nsfen {sfens[1].removesuffix(' 1')} 33\n")
    assert convert_data([tmp_path / "a.sfen"], tmp_path / "a.hcp", to=Target.HCP).written == 2
    convert_data([tmp_path / "a.hcp"], tmp_path / "b.sfen", to=Target.SFEN)
    assert (tmp_path / "b.sfen").read_text().splitlines() == sfens
    with pytest.raises(DataFileError, match="positions alone"):
        convert_data([tmp_path / "a.hcp"], tmp_path / "a.hcpe", to=Target.HCPE)
    (tmp_path / "a.sfen").write_text(f"{sfens[0]}\nnonsense\n")
    with pytest.raises(DataFileError, match=r"a\.sfen, line 2: .*nonsense"):
        convert_data([tmp_path / "a.sfen"], tmp_path / "a.hcp", to=Target.HCP, source=DataFormat.SFEN)


def test_games_give_rows_with_plies_and_flags(tmp_path: Path) -> None:
    games = random_games(10, seed=6)
    source = write(tmp_path / "a.hcpe3", games)
    for target in (Target.HCPE, Target.HCPE2, Target.PSV):
        convert_data([source], tmp_path / f"a.{target}", to=target)
    trained = games.candidate_counts() > 0
    results = games.results[games.game_of_ply()[trained]]
    assert np.array_equal(read_hcpe(tmp_path / "a.hcpe2")["gameResult"], results)
    assert np.array_equal(read_hcpe(tmp_path / "a.hcpe")["gameResult"], results & 3)
    assert np.array_equal(map_rows(tmp_path / "a.psv", PSV)["gamePly"], games.ply_in_game()[trained] + 1)


def test_a_damaged_row_stops_and_is_named(tmp_path: Path) -> None:
    convert_data([write(tmp_path / "a.hcpe3", random_games(20))], tmp_path / "a.hcpe", to=Target.HCPE)
    data = bytearray((tmp_path / "a.hcpe").read_bytes())
    data[38 * 3 + 36] = 3
    (tmp_path / "a.hcpe").write_bytes(data)
    with pytest.raises(DataFileError, match=r"a\.hcpe, record 3 \(offset 114\): invalid result 3"):
        convert_data([tmp_path / "a.hcpe"], tmp_path / "b.psv", to=Target.PSV)
    assert not (tmp_path / "b.psv").exists()


def test_the_suffix_says_what_to_write() -> None:
    assert [target_of(Path(name)) for name in ("a.psv", "a.BIN", "a.hcpe3", "a.b.csa")] == [
        Target.PSV, Target.PSV, Target.HCPE3, Target.CSA,
    ]  # fmt: skip
    with pytest.raises(DataFileError, match="name the format to write"):
        target_of(Path("a.txt"))


def test_a_file_that_fits_no_game_has_none(tmp_path: Path) -> None:
    empty = write(tmp_path / "a.hcpe3", join_games([]))
    with pytest.raises(NothingConvertedError):
        convert_data([empty], tmp_path / "b.hcpe3", to=Target.HCPE3, source=DataFormat.HCPE3)
