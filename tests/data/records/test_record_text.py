"""Long files of games, which are read in parts, and xz files that ask for more than they should get."""

import lzma
import tracemalloc
import zlib
from pathlib import Path

import pytest

from fukayomi.data.convert.convert import NothingConvertedError, convert_data
from fukayomi.data.formats.kinds import Target
from fukayomi.data.records import text as record_text
from fukayomi.data.records.copies import SeenGames
from fukayomi.data.records.reading import Dropped, scan_source
from fukayomi.data.records.sources import SourceError, XzStream, iter_sources
from fukayomi.shogi.formats import scan_records
from fukayomi.shogi.record import Record, RecordError

GOOD = "N+alice\nN-bob\nPI\n+\n+7776FU\nT1\n-3334FU\n%TORYO\n"
CSA = [
    "V2.2\n'a comment\n" + GOOD,
    GOOD.replace("\n", "\r\n"),
    "'only a comment\n",  # no game, and not counted
    GOOD.replace("3334FU", "3335FU"),  # damaged, and counted
    "",
    "$EVENT:no game either\n",
    "what is this\n",
    "To_Move:+\nI+1249,840\n# a note\nBEGIN Time\n\tV2\nEND Time\n",  # no game either
    "　+\n#TIME_UP\n",
    "PI\n+\n+2726FU\n%TORYO\nV2.2 program\n--------\n",
]
USI = [
    "startpos moves 7g7f 3c3d", "# a comment", "", "startpos moves 7g7f 7g7f", "position startpos", "sfen nonsense",
    "startpos moves 2g2f",
]  # fmt: skip
VERSIONS = "".join(game for game in CSA * 3 if game.startswith("V")) + "".join("V2\n" + game for game in CSA * 3)
TEXTS = ["/\n".join(CSA * 3), "/ \r\n".join(CSA * 3), "\n".join(USI * 9), VERSIONS]


def told(found: Record | RecordError | Dropped) -> tuple[object, ...]:
    if isinstance(found, RecordError):
        found = Dropped.of(found)
    if isinstance(found, Dropped):
        return found.reason, str(found), found.name, found.line
    return found.name, found.usi_moves(), found.black_name, found.result


@pytest.mark.parametrize("part", [40, 41, 150, 400])
@pytest.mark.parametrize("text", TEXTS, ids=["csa", "other-line-ends", "usi", "versions"])
def test_parts_tell_what_the_whole_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, part: int) -> None:
    path = tmp_path / "many"
    path.write_bytes(text.encode())
    whole = [told(found) for found in scan_records(path)]
    monkeypatch.setattr(record_text, "PART", part)
    sources = list(iter_sources([path]))
    assert len(sources) > 1
    assert [told(found) for source in sources for found in scan_source(source, SeenGames())] == whole
    path.write_bytes(lzma.compress(text.encode()))
    assert [told(found) for source in iter_sources([path]) for found in scan_source(source, SeenGames())] == whole


@pytest.mark.parametrize("text", TEXTS, ids=["csa", "other-line-ends", "usi", "versions"])
def test_a_bad_byte_costs_a_game_of_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    path = tmp_path / "many"
    for bad in (b"\0", b"\xff", "先手".encode("cp932"), "先手".encode()[:5]):
        path.write_bytes(text.encode().replace(b"alice", b"ali" + bad).replace(b"7g7f 3c3d", b"7g7f " + bad, 1))
        monkeypatch.setattr(record_text, "PART", 1 << 22)
        whole = [told(found) for found in scan_records(path)]
        assert len(whole) == (len(USI) - 2) * 9 if "startpos" in text else len(whole) > 9
        monkeypatch.setattr(record_text, "PART", 400)
        sources = list(iter_sources([path]))
        assert len(sources) > 1
        assert [told(found) for source in sources for found in scan_source(source, SeenGames())] == whole


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", TEXTS, ids=["csa", "other-line-ends", "usi", "versions"])
def test_utf_16_comes_in_one_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, codec: str) -> None:
    path = tmp_path / "many"
    path.write_bytes(text.encode(codec))
    whole = [told(found) for found in scan_records(path)]
    monkeypatch.setattr(record_text, "PART", 40)
    (source,) = iter_sources([path])
    assert [told(found) for found in scan_source(source, SeenGames())] == whole


def test_other_formats_come_in_one_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_text, "PART", 100)
    text = "手合割：平手\n先手：a\n後手：b\n" + "*a remark\n" * 100 + "1 ７六歩(77)\n2 投了\n"
    (tmp_path / "a.kif").write_text(text, encoding="utf-8")
    (source,) = iter_sources([tmp_path / "a.kif"])
    (record,) = scan_source(source, SeenGames())
    assert isinstance(record, Record)
    assert record.usi_moves() == ["7g7f"]


def test_a_game_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_text, "PART", 1 << 10)
    monkeypatch.setattr(record_text, "MEMBER_LIMIT", 1 << 20)
    bomb = GOOD + "/\nPI\n+\n" + "'800,7776FU,400\n" * (1 << 18)
    (tmp_path / "bomb.csa.xz").write_bytes(lzma.compress(bomb.encode()))
    first, second = iter_sources([tmp_path / "bomb.csa.xz"])
    assert (first.problem, len(list(scan_source(first, SeenGames())))) == ("", 1)
    assert second.problem == "the game from line 10 on is larger than 1 MiB"


def test_a_bomb_takes_bounded_memory(tmp_path: Path) -> None:
    (tmp_path / "bomb.csa.xz").write_bytes(lzma.compress(b"\n" * (200 << 20), preset=0))
    tracemalloc.start()
    with pytest.raises(NothingConvertedError) as caught:
        convert_data([tmp_path / "bomb.csa.xz"], tmp_path / "out.hcpe3", to=Target.HCPE3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "larger than 64 MiB" in caught.value.conversion.problems[0]
    assert peak < 200 << 20


def with_dictionary(data: bytes, size: int) -> bytes:
    """An xz file whose first block claims a dictionary: 39 stands for 3 GiB. (The .xz file format, 3.1 and 5.3.1.)"""
    changed = bytearray(lzma.compress(data, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 16}]))
    length = (changed[12] + 1) * 4
    assert changed[14:16] == b"\x21\x01"
    changed[16] = size
    changed[12 + length - 4 : 12 + length] = zlib.crc32(changed[12 : 12 + length - 4]).to_bytes(4, "little")
    return bytes(changed)


def test_an_xz_header_that_asks_for_everything_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csa.xz"
    path.write_bytes(with_dictionary(GOOD.encode(), 30))  # 128 MiB
    assert len(list(iter_sources([path]))) == 1
    path.write_bytes(with_dictionary(GOOD.encode(), 39))
    with pytest.raises(SourceError, match=r"a\.csa\.xz: .*more than 256 MiB of memory"):
        list(iter_sources([path]))


def test_xz_streams_follow_each_other(tmp_path: Path) -> None:
    path = tmp_path / "a.csa.xz"
    path.write_bytes(lzma.compress(b"one,") + bytes(8) + lzma.compress(b"") + lzma.compress(b"two"))
    with path.open("rb") as file:
        stream = XzStream(file)
        assert stream.read() == b"one,two"
        assert (stream.seek(2), stream.read(3), stream.tell(), stream.seek(100)) == (2, b"e,", 4, 7)
    path.write_bytes(lzma.compress(b"one") + b"junk")
    with pytest.raises(SourceError, match=r"a\.csa\.xz: cannot be read"):
        list(iter_sources([path]))
