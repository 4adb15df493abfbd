"""Encodings of record files: detected without a declaration, and damage that costs letters instead of files."""

import contextlib
import tracemalloc

import pytest

from fukayomi.shogi.formats import read_record, scan_records
from fukayomi.shogi.formats.text import decode_text
from fukayomi.shogi.record import Record, RecordError

KIF = (
    "手合割：平手\n先手：高橋ソ\n後手：渡辺\n手数----指手---------消費時間--\n"
    "   1 ７六歩(77)\n*コメント表\n   2 ３四歩(33)\n"
)
CSA = "V2.2\nN+先手\nN-b\nPI\n+\n+7776FU\n'** 30\n-3334FU\n%TORYO\n"
ENCODINGS = ["utf-8", "utf-8-sig", "cp932", "euc_jp", "iso2022_jp", "utf-16", "utf-16-le", "utf-16-be"]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encodings_and_line_ends_are_detected(encoding: str, line_end: str) -> None:
    record = read_record(KIF.replace("\n", line_end).encode(encoding))
    assert (record.black_name, record.white_name, record.usi_moves()) == ("高橋ソ", "渡辺", ["7g7f", "3c3d"])
    assert record.moves[0].comment == "コメント表"
    record = read_record(CSA.replace("\n", line_end).encode(encoding))
    assert (record.black_name, record.usi_moves(), record.moves[0].score_cp) == ("先手", ["7g7f", "3c3d"], 30)


@pytest.mark.parametrize("encoding", ["utf-8", "cp932"])
def test_characters_of_vendors(encoding: str) -> None:
    assert read_record(KIF.replace("高橋", "髙橋①㈱").encode(encoding)).black_name == "髙橋①㈱ソ"


def test_characters_of_vendors_in_jis() -> None:
    """Row 13, and IBM's characters as NEC placed them: Python's EUC-JP and ISO-2022-JP lack both."""
    jis = b"\x2d\x21\x7c\x62"  # ① 髙
    head, rest = "手合割：平手\n先手：", "\n   1 ７六歩(77)\n"
    euc = head.encode("euc_jp") + bytes(byte | 0x80 for byte in jis) + rest.encode("euc_jp")
    assert read_record(euc).black_name == "①髙"
    assert (
        read_record(head.encode("iso2022_jp") + b"\x1b$B" + jis + b"\x1b(B" + rest.encode("iso2022_jp")).black_name
        == "①髙"
    )


@pytest.mark.parametrize(
    ("good", "bad", "name"),
    [
        ("先手".encode(), "先手".encode()[:-1], "先�"),
        (b"cafe", b"caf\xe9", "caf�"),
        ("先手".encode(), b"\xff" + "先手".encode(), "�先手"),
        ("先手".encode(), "先手".encode() + b"\0", "先手�"),
        ("先手の人".encode("cp932"), "先手の人".encode("cp932") + b"\x82", "先手の人�"),
        ("先手の人".encode("euc_jp"), "先手の人".encode("euc_jp") + b"\xff", "先手の人�"),
    ],
)
def test_a_byte_that_is_in_no_encoding_costs_a_letter(good: bytes, bad: bytes, name: str) -> None:
    game = b"V2.2\nN+%s\nN-b\nPI\n+\n+7776FU\n'** 30\n-3334FU\n%%TORYO\n"
    first, second, third = scan_records(b"/\n".join([game % good, game % bad, game % good]), name="three.csa")
    assert isinstance(first, Record)
    assert isinstance(second, Record)
    assert second.black_name == name
    assert isinstance(third, Record)
    assert first.black_name == third.black_name != name


def test_damaged_utf_8_is_not_taken_for_shift_jis() -> None:
    data = KIF.encode()
    at = data.index("ト".encode())
    record = read_record(data[: at + 2] + data[at + 3 :])
    assert (record.black_name, record.moves[0].comment) == ("高橋ソ", "コメン�表")


@pytest.mark.parametrize("encoding", ENCODINGS[:6])
def test_a_damaged_move_costs_its_game_alone(encoding: str) -> None:
    text = "/\n".join([CSA, CSA.replace("3334", "33あ4"), CSA])
    data = text.encode(encoding).replace(
        "あ".encode(encoding.replace("-sig", "").replace("utf-16", "utf-16-le")), b"\xff\xff"
    )
    if encoding == "iso2022_jp":
        data = (
            CSA.join(["", "/\n"]).encode(encoding)
            + CSA.encode(encoding).replace(b"3334", b"33\xff4")
            + b"/\n"
            + CSA.encode(encoding)
        )
    first, second, third = scan_records(data, name="three.csa")
    assert isinstance(first, Record)
    assert isinstance(second, RecordError)
    assert second.name == "three.csa#2"
    assert isinstance(third, Record)
    assert third.black_name == "先手"


def test_a_file_of_several_encodings() -> None:
    names = ["先手の人", "後手の人"]
    data = b"/\n".join(
        b"N+" + name.encode(encoding) + b"\nPI\n+\n+7776FU\n%TORYO\n"
        for name in names
        for encoding in ("utf-8", "cp932", "utf-8-sig")
    )
    records = list(scan_records(data, name="mixed.csa"))
    assert [record.black_name for record in records if isinstance(record, Record)] == [
        name for name in names for _ in range(3)
    ]
    euc = b"N+" + names[0].encode("euc_jp") + b"\nN-" + names[1].encode() + b"\nPI\n+\n+7776FU\n"
    record = read_record(euc)
    assert [record.black_name, record.white_name] == names


@pytest.mark.parametrize("tail", [b"\x1a", b"\0" * 100, b"\x1a" + b"\0" * 7])
def test_what_dos_and_crashes_leave_at_the_end(tail: bytes) -> None:
    for encoding in ("utf-8", "cp932"):
        assert decode_text(CSA.encode(encoding) + tail) == CSA


def test_hostile_text_takes_bounded_memory() -> None:
    good = b"+7776FU\n" * (1 << 14)
    tracemalloc.start()
    for data in (good + b"\xff\n" * ((1 << 20) + 1), good + b"\x1b$B!" * (1 << 19), b"\x82\xff" * (1 << 25)):
        with contextlib.suppress(ValueError):
            decode_text(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200 << 20


@pytest.mark.parametrize("data", [bytes(range(256)), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", bytes(40), b"\xff" * 40])
def test_other_data_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"not text|neither UTF-8"):
        decode_text(data)


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_a_line_of_moves_in_utf_16_without_a_mark(codec: str) -> None:
    for moves in (
        "▲７六歩△３四歩▲２二角成△同銀",
        "７六歩　３四歩　２二角成　同銀",
        "▲７六歩△３四歩▲２二角成△同　銀△投了",
    ):
        record = read_record(moves.encode(codec))
        assert record.usi_moves()[:4] == ["7g7f", "3c3d", "8h2b+", "3a2b"]
    for encoding in ("cp932", "euc_jp"):  # as before
        assert read_record("▲７六歩△３四歩▲２二角成△同銀".encode(encoding)).usi_moves()[0] == "7g7f"


@pytest.mark.parametrize("damage", [b"", b"*\xff\xff\n", b"*\x82\n", "*名人戦\n".encode()])
def test_half_width_katakana_in_shift_jis(damage: bytes) -> None:
    record = read_record(KIF.encode("cp932") + "*ｱｲｳｴ\n*ﾃｽﾄ ｶｲｾﾂ\n".encode("cp932") + damage)
    assert record.moves[1].comment.split("\n")[:2] == ["ｱｲｳｴ", "ﾃｽﾄ ｶｲｾﾂ"]
    assert (record.black_name, record.moves[0].comment) == ("高橋ソ", "コメント表")


@pytest.mark.parametrize("name", ["羽生善治", "高橋", "中原　誠", "渡辺"])
def test_a_name_in_euc_jp_that_was_cut_within_a_letter(name: str) -> None:
    for text in (KIF, "先手：高橋ソ\n   1 ７六歩(77)\n"):
        data = text.encode("euc_jp").replace("高橋ソ".encode("euc_jp"), name.encode("euc_jp")[:-1])
        record = read_record(data)
        assert (record.black_name, record.usi_moves()[0]) == (name[:-1] + "�", "7g7f")


def test_line_ends_that_were_written_twice() -> None:
    for line_end in ("\r\r\n", "\r\r\r\n"):
        record = read_record(KIF.replace("\n", line_end).encode("cp932"))
        assert (record.black_name, record.moves[0].comment) == ("高橋ソ", "コメント表")
    assert decode_text(b"a" + b"\r" * 3_000_000 + b"\r\nb" + b"\r" * 3_000_000) == "a\nb" + "\r" * 3_000_000
