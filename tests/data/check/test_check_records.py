"""What a check finds in game records, without a conversion before it."""

import io
import random
import tarfile
import zipfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
from command_runs import run
from places import RECORDS

from fukayomi.data.check import Level, Report, check_data
from fukayomi.data.convert.convert import convert_data
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.kinds import DataFormat, Target
from fukayomi.data.formats.table import UnknownDataError
from fukayomi.data.records.sources import SourceError, iter_sources

GOOD = "PI\n+\n+7776FU\n'** 10\n-3334FU\n'** -10\n%TORYO\n"
OTHER = "PI\n+\n+2726FU\n'** 10\n%TORYO\n"
KIF = "手合割：平手\n先手：a\n後手：b\n1 ７六歩(77)\n2 ３四歩(33)\n3 投了\n"
MATE = "P-51OU\nP+59OU53FU\nP+00KI\nP-00AL\n+\n+0052KI\n"
CYCLE = "+2838HI\n-8272HI\n+3828HI\n-7282HI\n"


def check(tmp_path: Path, text: str) -> Report:
    (tmp_path / "a.csa").write_text(text)
    return check_data([tmp_path / "a.csa"])


def told(report: Report, level: Level = Level.ERROR) -> list[tuple[str, int, int | None, int | None, str]]:
    return [
        (found.path.name, found.index, found.ply, found.line, found.reason)
        for found in report.findings
        if found.level is level
    ]


def test_good_records_have_no_findings_and_a_good_part(tmp_path: Path) -> None:
    files = sorted(RECORDS.glob("*.csa"))
    report = check_data(files, good=tmp_path / "good.hcpe3")
    assert (report.findings, report.records, report.good) == ([], len(files), len(files))
    assert set(report.files.values()) == {"records"}
    convert_data(files, tmp_path / "converted.hcpe3", to=Target.HCPE3)
    assert (tmp_path / "good.hcpe3").read_bytes() == (tmp_path / "converted.hcpe3").read_bytes()


def test_damage_is_named_by_game_move_and_line(tmp_path: Path) -> None:
    games = [
        GOOD,
        GOOD.replace("3334FU", "3335FU"),
        GOOD.replace("3334FU", "what is"),
        GOOD.replace("PI", "PX"),
        GOOD.replace("-3334FU\n'** -10", "-3334FU,'v=0.5,800,3335FU,800"),
        OTHER,
    ]
    report = check(tmp_path, "/\n".join(games))
    assert [(number, ply, line) for _, number, ply, line, _ in told(report)] == [
        (1, 1, 13), (2, 1, 21), (3, None, 25), (4, 1, None),
    ]  # fmt: skip
    assert [reason.partition(" ")[0] for *_, reason in told(report)] == ["illegal", "not", "no", "visits"]
    assert (report.records, report.good, report.errors) == (6, 2, 4)
    assert str(report.findings[0]).startswith(f"{tmp_path}/a.csa, record 1, move 1, line 13: illegal move '-3335FU'")


@pytest.mark.parametrize(
    ("text", "ply", "reason"),
    [
        (f"{MATE}%HIKIWAKE\n", None, "the last move mates, but the result is DRAW"),
        (GOOD.replace("TORYO", "TSUMI"), None, "the record ends by mate, but the last position is not mate"),
        (GOOD.replace("TORYO", "SENNICHITE"), None, "the last position occurs once"),
        (GOOD.replace("TORYO", "KACHI"), None, "lacks the points"),
        (f"PI\n+\n{CYCLE * 3}%TORYO\n", None, "fourfold repetition makes it DRAW, but the result is WHITE_WIN"),
        (f"PI\n+\n{CYCLE * 3}+7776FU\n%TORYO\n", 12, "four times before this move"),
        (GOOD.replace("-3334FU\n'** -10", "-3334FU,'v=0.5,800,3334FU,0"), 1, "without a single visit"),
    ],
    ids=["mate drawn", "no mate", "no repetition", "no declaration", "repetition lost", "goes on",
         "no visits"],
)  # fmt: skip
def test_ends_that_the_rules_contradict(tmp_path: Path, text: str, ply: int | None, reason: str) -> None:
    report = check(tmp_path, f"{OTHER}/\n{text}")
    ((name, number, found_ply, _, found),) = told(report)
    assert (name, number, found_ply) == ("a.csa", 1, ply)
    assert reason in found
    assert report.good == 1


@pytest.mark.parametrize("ending", ["TORYO", "TSUMI"])
def test_a_mate_is_no_error(tmp_path: Path, ending: str) -> None:
    assert check(tmp_path, f"{MATE}%{ending}\n").findings == []


def test_a_declaration_in_a_handicap_game_may_count_what_was_given(tmp_path: Path) -> None:
    report = check(tmp_path, "PI82HI22KA\n-\n-5142OU\n%KACHI\n")
    ((_, _, _, _, reason),) = told(report, Level.REMARK)
    assert "unless those of the handicap count" in reason
    assert (report.errors, report.good) == (0, 1)


def test_games_that_training_leaves_out_are_remarks(tmp_path: Path) -> None:
    texts = [GOOD.replace("TORYO", "CHUDAN"), GOOD.replace("%TORYO\n", ""), "P-51OU\n+\n%TORYO\n", OTHER]
    report = check(tmp_path, "/\n".join(texts))
    assert [reason for *_, reason in told(report, Level.REMARK)] == [
        "the end (interrupted) says nothing about the play: not for training",
        "the record does not say how the game ended: not for training",
        "the start position lacks a king: not for training",
    ]
    assert (report.records, report.good, report.errors) == (4, 1, 0)


def test_a_folder_with_everything_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    folder.mkdir()
    (folder / "a.csa").write_text(GOOD)
    (folder / "b.kif").write_text(KIF, encoding="utf-8")
    (folder / "c.usi").write_text("startpos moves 7g7f resign\nstartpos moves 7g7e\n")
    (folder / "d.csa").write_text("what is this\n")
    (folder / "e.csa").write_bytes(b"")
    (folder / "README").write_text("all of it\n")
    with zipfile.ZipFile(folder / "f.zip", "w") as archive:
        archive.writestr("x/one.csa", OTHER)
        archive.writestr("x/two.csa", GOOD.replace("3334FU", "3335FU"))
        archive.writestr("x/LICENSE", "all of it\n")
    with tarfile.open(folder / "g.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("y.csa")
        member.size = len(GOOD)
        archive.addfile(member, io.BytesIO(GOOD.encode()))
    (folder / "h.tar.gz").write_bytes((folder / "g.tar.gz").read_bytes()[:-20])
    convert_data([folder / "a.csa"], folder / "i.hcpe3", to=Target.HCPE3)
    report = check_data([folder], good=tmp_path / "good.hcpe3")
    assert [(name, number) for name, number, *_ in told(report)] == [
        ("c.usi", 1), ("d.csa", 0), ("e.csa", 0), ("two.csa", 0), ("h.tar.gz", 0),
    ]  # fmt: skip
    remarks = {(name, reason.partition(":")[0]) for name, _, _, _, reason in told(report, Level.REMARK)}
    assert {name for name, _ in remarks} == {"README", "LICENSE", "y.csa", "i.hcpe3"}
    assert ("i.hcpe3", "a duplicate of an earlier game") in remarks
    convert_data([tmp_path / "good.hcpe3"], tmp_path / "good.usi", to=Target.USI)
    assert (tmp_path / "good.usi").read_text().splitlines() == [
        "startpos moves 7g7f 3c3d", "startpos moves 7g7f 3c3d", "startpos moves 7g7f", "startpos moves 2g2f",
        *["startpos moves 7g7f 3c3d"] * 2,  # but not that of the cut archive, a copy
    ]  # fmt: skip
    assert report.good == 6
    assert report.duplicates == 3


def test_what_cannot_be_checked(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        check_data([tmp_path / "nowhere"])
    (tmp_path / "README").write_text("all of it\n")
    with pytest.raises(UnknownDataError, match="README"):
        check_data([tmp_path / "README"])
    (tmp_path / "a.csa").write_text(GOOD)
    convert_data([tmp_path / "a.csa"], tmp_path / "a.hcpe", to=Target.HCPE)
    with pytest.raises(DataFileError, match="hcpe, records files cannot be written to one file"):
        check_data([tmp_path / "a.csa", tmp_path / "a.hcpe"], good=tmp_path / "good")
    with pytest.raises(DataFileError, match="is also an input"):
        check_data([tmp_path / "a.csa", tmp_path], good=tmp_path / "a.csa", source=DataFormat.RECORDS)
    assert (tmp_path / "a.csa").read_text() == GOOD


def check_changed_records(tmp_path: Path, text: bytes, count: int, seed: int) -> None:
    """However records are changed, a check ends with a report whose good part has no error."""
    rng = random.Random(seed)
    path, good = tmp_path / "a.csa", tmp_path / "good.hcpe3"
    for _ in range(count):
        changed = bytearray(text[: rng.randrange(1, len(text) + 1)])
        for _ in range(rng.randrange(6)):
            at = rng.randrange(len(changed))
            changed[at : at + rng.randrange(3)] = rng.choice([b"", b"+", b"\n", b"7776FU", b"%KACHI\n", b"\xff", b"0"])
        path.write_bytes(changed + b"\n/\n" + OTHER.encode())
        try:
            report = check_data([path], good=good)
        except UnknownDataError:
            continue
        assert report.good <= report.records
        if report.good:
            assert check_data([good]).errors == 0


def real_records() -> bytes:
    return b"/\n".join(path.read_bytes() for path in sorted(RECORDS.glob("*.csa")))


def test_changed_records_are_reported(tmp_path: Path) -> None:
    check_changed_records(tmp_path, real_records()[:6000], 60, seed=1)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_changed_records_are_reported(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    check_changed_records(tmp_path, real_records(), 2_000, seed=2)
    record_property("inputs", 2_000)


def test_real_records(tmp_path: Path, shared_data: Path) -> None:
    """Whole and damaged: of every third one the last half of a line is missing somewhere."""
    texts = [source.data for source in islice(iter_sources([shared_data / "games-engine" / "games-1.tar.xz"]), 60)]
    for number, text in enumerate(texts):
        cut = text.index(b"\n+", len(text) // 2) + 4
        (tmp_path / f"{number:02}.csa").write_bytes(text[:cut] + text[cut + 3 :] if number % 3 == 0 else text)
    report = check_data([tmp_path])
    assert [name for name, *_ in told(report)] == [f"{number:02}.csa" for number in range(0, 60, 3)]
    assert all(found.line and "not a move" in found.reason for found in report.findings)
    assert (report.records, report.good, report.errors, report.remarks) == (60, 40, 20, 0)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_all_real_archives(shared_data: Path) -> None:
    report = check_data(sorted((shared_data / "games-engine").glob("*.xz")))
    assert (report.records, report.good, report.findings, report.duplicates) == (20_550, 20_550, [], 0)


def test_what_is_left_out_of_variations_is_a_remark(tmp_path: Path) -> None:
    (tmp_path / "a.kif").write_text(
        "手合割：平手\n手数----指手---------消費時間--\n   1 ７六歩(77)\n   2 投了\n\n変化：9手\n   9 ２六歩(27)\n"
    )
    report = check_data([tmp_path / "a.kif"])
    assert told(report) == []
    ((_, _, _, line, reason),) = told(report, Level.REMARK)
    assert (line, reason) == (6, "left out: a variation from move 9, where no line comes to")


def test_a_file_in_no_format_is_an_error_if_its_name_says_that_it_is_data(tmp_path: Path) -> None:
    (tmp_path / "a.csa").write_text(GOOD)
    (tmp_path / "README.txt").write_text("read me")
    (tmp_path / "starts.sfen").write_text("sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1\n" * 2)
    for suffix in ("hcp", "hcpe", "hcpe3", "psv", "avg", "cache"):
        (tmp_path / f"zero.{suffix}").write_bytes(bytes(64))
    report = check_data([tmp_path])
    errors, remarks = told(report), told(report, Level.REMARK)
    names = [f"zero.{suffix}" for suffix in ("avg", "cache", "hcp", "hcpe", "hcpe3", "psv")]
    assert [name for name, *_ in errors] == names
    assert [name for name, *_ in remarks] == ["README.txt", "starts.sfen"]
    assert remarks[1][-1].startswith("holds positions as SFEN lines")
    assert not any(str(tmp_path) in reason for *_, reason in errors + remarks)


def test_one_good_record(tmp_path: Path) -> None:
    (tmp_path / "a.csa").write_text(GOOD)
    assert "wrote 1 good record to " in run("data", "check", tmp_path, "--good", tmp_path / "good.hcpe3")[1]


@pytest.mark.parametrize(("row", "squares"), [("-KY" * 10, 10), ("*" * 10, 10)])
def test_a_row_of_a_board_has_nine_squares(tmp_path: Path, row: str, squares: int) -> None:
    found = told(check(tmp_path, f"V2.2\nP1{row}\nP+59OU\n+\n"))
    assert found == [("a.csa", 0, None, 2, f"{squares} squares instead of 9: 'P1{row}'")]
