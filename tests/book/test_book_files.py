"""Books in memory: read from and written to files of every format, to the byte, round trips, and damage."""

import random
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fukayomi import Move, Position
from fukayomi._native import book_key
from fukayomi.book import Book, BookError, BookMove, BookReader, position_key, read_book, write_book
from fukayomi.files.disk import DiskError

START = position_key(Position())


@pytest.fixture
def samples(shared_data: Path) -> Path:
    """Books of ShogiHome."""
    return shared_data / "records" / "shogihome" / "book"


@st.composite
def books(draw: st.DrawFn) -> Book:
    """Books of positions of random games."""
    source = random.Random(draw(st.integers(0, 1 << 32)))
    book = Book()
    for _ in range(draw(st.integers(1, 8))):
        position = Position()
        for _ in range(source.randrange(12)):
            position.push(source.choice(position.legal_moves))
        moves = source.sample(list(position.legal_moves), min(3, position.legal_move_count))
        numbers = st.none() | st.integers(-40_000, 40_000)
        book.put(
            position_key(position),
            [
                BookMove(move, draw(st.sampled_from([None, move])), draw(numbers), draw(numbers), count)
                for move, count in zip(moves, draw(st.permutations([3, 2, 1])), strict=False)
            ],
            position.ply,
        )
    return book


def canonical(book: Book) -> dict[str, tuple[int, list[tuple[object, ...]]]]:
    """What a .db says of a book: the moves in the order that it has."""
    return {
        key: (book.ply(key), [(m.move.usi(), m.ponder, m.score_cp, m.depth, m.count) for m in
              sorted(book[key], key=lambda move: -move.count)])
        for key in book
    }  # fmt: skip


@settings(max_examples=40)
@given(books())
def test_a_text_book_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, book: Book) -> None:
    path = tmp_path_factory.getbasetemp() / "round.db"
    assert write_book(book, path) == []
    read = read_book(path)
    assert (read.problems, canonical(read)) == ([], canonical(book))
    content = path.read_bytes()
    write_book(read, path)
    assert path.read_bytes() == content
    sfens = [line for line in content.decode().splitlines() if line.startswith("sfen ")]
    assert sfens == sorted(sfens), "a search on disk needs the order of bytes"


@settings(max_examples=40)
@given(books())
def test_an_apery_book_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, book: Book) -> None:
    path = tmp_path_factory.getbasetemp() / "round.bin"
    assert write_book(book, path) == []
    read = read_book(path, [book.position(key) for key in book])
    assert not read.unplaced
    expected = {key: [(m.move, m.score_cp or 0, m.count) for m in book[key]] for key in book}
    assert {key: [(m.move, m.score_cp, m.count) for m in read[key]] for key in read} == expected
    content = path.read_bytes()
    write_book(read_book(path), path)  # the moves of positions that it does not find stay too
    assert path.read_bytes() == content


@settings(max_examples=40)
@given(books())
def test_a_book_in_memory_is_played_from_as_its_file(tmp_path_factory: pytest.TempPathFactory, book: Book) -> None:
    path = tmp_path_factory.getbasetemp() / "played.db"
    write_book(book, path)
    with BookReader.open(path) as reader, BookReader(path, read_book(path)) as memory:
        for key in book:
            assert memory.look_up(book.position(key)) == reader.look_up(book.position(key))
            assert reader.moves(book.position(key))


@pytest.mark.parametrize("name", ["yokofu_super_rapid.db", "yokofu_super_rapid-tera.db"])
def test_real_text_books_keep_their_bytes(shared_data: Path, tmp_path: Path, name: str) -> None:
    path = shared_data / "books" / name
    write_book(read_book(path), tmp_path / "book.db")
    head, *entries = path.read_text().split("sfen ")
    new_head, *new_entries = (tmp_path / "book.db").read_text().split("sfen ")
    assert new_head == head
    assert new_entries == sorted(new_entries)
    twice = len(entries) - len({entry.split(" ")[0:3].__repr__() for entry in entries})
    assert len(set(entries) - set(new_entries)) == twice
    assert set(new_entries) <= set(entries)


@pytest.mark.parametrize(("name", "unplaced"), [("apery.bin", 0), ("apery-merge.bin", 1)])
def test_real_apery_books_keep_their_bytes(samples: Path, tmp_path: Path, name: str, unplaced: int) -> None:
    book = read_book(samples / name)
    assert (len(book.unplaced), book.problems) == (unplaced, [])
    write_book(book, tmp_path / "book.bin")
    assert (tmp_path / "book.bin").read_bytes() == (samples / name).read_bytes()
    with BookReader.open(samples / name) as reader:
        for key in book:
            assert reader.moves(book.position(key), flipped=False) == book[key]


def test_a_binary_book_of_yaneuraou_says_what_its_text_says(samples: Path) -> None:
    text, binary = read_book(samples / "yaneuraou.db"), read_book(samples / "yaneuraou.ybb")
    assert set(text) == set(binary)
    for key in text:
        expected = {m.move: (m.score_cp or 0, m.depth) for m in text[key]}
        found = {m.move: (m.score_cp, m.depth) for m in binary[key]}
        assert {move: found[move] for move in found if text[key][0].score_cp is not None} == {
            move: expected[move] for move in expected if text[key][0].score_cp is not None
        }
        assert set(found) == set(expected)
    assert binary.problems == []
    with BookReader.open(samples / "yaneuraou.ybb") as reader:
        assert reader.moves(Position()) == binary[START]


@pytest.mark.parametrize(
    ("name", "positions", "moves"),
    [("shogigui01.sbk", 62, 69), ("shogigui02.sbk", 102, 142), ("sbk-merge.sbk", 64, 72)],
)
def test_real_books_of_shogigui(samples: Path, name: str, positions: int, moves: int) -> None:
    book = read_book(samples / name)
    assert (len(book), book.move_count, book.is_damaged) == (positions, moves, False)
    assert all(book.position(key).is_legal(move.move) for key in book for move in book[key])
    assert {move.score_cp for key in book for move in book[key]} == {None}  # evaluations are of positions
    with BookReader.open(samples / name) as reader:
        assert reader.moves(Position()) == book[START]


@pytest.mark.parametrize("name", ["", "-crlf", "-bom-crlf", "-no-header", "-bom-no-header", "-copy"])
def test_shogihome_writes_the_same_bytes(samples: Path, tmp_path: Path, name: str) -> None:
    write_book(read_book(samples / f"yaneuraou{name}.db"), tmp_path / "a.db")
    assert (tmp_path / "a.db").read_bytes() == (samples / "yaneuraou-copy.db").read_bytes()


def test_comments_stay(samples: Path, tmp_path: Path) -> None:
    book = read_book(samples / "yaneuraou.db")
    assert book.comments[START, "2g2f"] == "multi line comment 1\nmulti line comment 2"
    assert book.comments[START, "7g7f"] == "single line comment"
    assert len(read_book(samples / "shogigui01.sbk").comments) == 1
    assert write_book(book, tmp_path / "a.bin") == [f"{tmp_path / 'a.bin'}: 3 comments are left out"]
    book.comments[START, ""] = "one\r\n\ud800\n# two"
    write_book(book, tmp_path / "a.db")
    assert read_book(tmp_path / "a.db").comments[START, ""] == "one\n?\n# two"


def test_copies_of_a_book_by_shogihome_are_the_same(samples: Path) -> None:
    for name in ("shogigui01", "shogigui02"):
        first, second = read_book(samples / f"{name}.sbk"), read_book(samples / f"{name}-copy.sbk")
        assert {key: set(first[key]) for key in first} == {key: set(second[key]) for key in second}


def test_what_a_format_cannot_store_is_said(tmp_path: Path) -> None:
    book = Book()
    book[START] = [BookMove(Move.from_usi("7g7f"), count=70_000), BookMove(Move.from_usi("2g2f"), count=-1)]
    assert write_book(book, tmp_path / "a.bin") == [
        f"{tmp_path / 'a.bin'}: 2 counts are cut to 65535, the largest that the format has"
    ]
    assert [move.count for move in read_book(tmp_path / "a.bin")[START]] == [65_535, 0]
    book.unplaced[1] = book[START]
    (said,) = write_book(book, tmp_path / "a.db")
    assert "the moves of 1 key are left out: its position is not known" in said
    with pytest.raises(BookError, match=r"a\.ybb: a book to write is named \.db"):
        write_book(book, tmp_path / "a.ybb")


def test_lines_that_begin_elsewhere_are_followed_from_there(tmp_path: Path) -> None:
    start = Position.from_sfen("lr5nl/3g1kg2/2n1ppsp1/p1pps1p1p/1p5P1/P1PPSPP1P/1PS1P1N2/2GK1G3/LN5RL w Bb 38")
    book = Book()
    book.put(position_key(start), [BookMove(start.legal_moves[0])], 38)
    write_book(book, tmp_path / "a.bin")
    assert len(read_book(tmp_path / "a.bin")) == 0
    assert set(read_book(tmp_path / "a.bin", [start])) == set(book)


def test_a_book_for_one_side_is_found(tmp_path: Path) -> None:
    position, book = Position(), Book()
    for move, answer in (("7g7f", "3c3d"), ("2g2f", "8c8d"), ("2f2e", "8d8e")):
        book.put(position_key(position), [BookMove(Move.from_usi(move))], position.ply)
        position.push_usi(move)
        position.push_usi(answer)
    write_book(book, tmp_path / "a.bin")
    read = read_book(tmp_path / "a.bin")
    assert {key: read.ply(key) for key in read} == {key: book.ply(key) for key in book}


def test_the_first_of_a_position_that_is_there_twice_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_text(f"sfen {START} 9\n7g7f\nsfen {START} 3\n2g2f\nsfen {START} x\n")
    book = read_book(path)
    assert ([move.move.usi() for move in book[START]], book.ply(START)) == (["7g7f"], 3)
    assert book.problems == [f"{path}: 1 position is there twice: the first entry counts"]
    with BookReader.open(path) as reader:
        assert reader.moves(Position()) == book[START]


def test_lines_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_text(
        f"# NOE:1\nsfen {START} 1\n7g7f none x\n2g2f none 0 0 1 # good\nsfen 9/9 b - 1\n1g1f\n{'z' * 9000}\n"
    )
    book = read_book(path)
    assert [move.move.usi() for move in book[START]] == ["2g2f"]
    assert [problem.split(":")[0] for problem in book.problems] == [f"{path}, line {n}" for n in (3, 5)]
    assert book.is_damaged


def test_hands_in_another_order_are_the_same_position(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("sfen 4k4/9/9/9/9/9/9/9/4K4 b bPR 1\nP*5e\n")
    (key,) = read_book(tmp_path / "a.db")
    assert key == "4k4/9/9/9/9/9/9/9/4K4 b RPb"


def entry(key: int, raw: int = 1934) -> bytes:
    return struct.pack("<QHHi", key, raw, 1, 0)


def test_damaged_apery_books(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(entry(5) + entry(7) + entry(6))
    with pytest.raises(BookError, match=r"a\.bin: not sorted by key before entry 2 \(offset 32\)"):
        read_book(path)
    path.write_bytes(entry(5) + entry(7)[:-1])
    with pytest.raises(BookError, match=r"31 bytes\) is neither"):
        read_book(path)
    path.write_bytes(entry(5, 0xFFFF) + entry(book_key(Position())))
    book = read_book(path)
    assert list(book) == [START]
    assert [problem.split(": ")[0] for problem in book.problems] == [f"{path}, entry 0 (offset 0)"]


@pytest.mark.parametrize("name", ["yaneuraou-edit.ybb", "shogigui01.sbk", "shogigui02.sbk", "apery.bin"])
def test_cut_and_changed_books_are_read_or_refused(samples: Path, tmp_path: Path, name: str) -> None:
    data = (samples / name).read_bytes()
    path = tmp_path / name
    source = random.Random(1)
    refused = read = 0
    for n in range(100):
        changed = bytearray(data[: source.randrange(len(data))] if n % 2 else data)
        for _ in range(n % 4):
            if changed:
                changed[source.randrange(len(changed))] = source.randrange(256)
        path.write_bytes(changed)
        try:
            book = read_book(path)
        except BookError as error:
            assert str(path) in str(error)  # noqa: PT017  # either is right
            refused += 1
        else:
            read += 1
            assert all(str(path) in problem for problem in book.problems)
            assert all(book.position(key).sfen().startswith(key) for key in book)
    assert min(refused, read) > 0


@pytest.mark.parametrize("cut", range(1, len("8c8d -3220 12 1\n")))
def test_a_text_book_that_is_cut_in_its_last_line(tmp_path: Path, cut: int) -> None:
    """What is left of the line is no other score: it is left out and named, unless only its end is missing."""
    path = tmp_path / "cut.db"
    text = f"#YANEURAOU-DB2016 1.00\nsfen {START} 1\n7g7f 3c3d 50 9 4\n2g2f 8c8d -3220 12 1\n"
    path.write_text(text[:-cut])
    book = read_book(path)
    moves = book[START]
    if cut <= len("\n"):
        assert (len(moves), book.is_damaged) == (2, False)
    else:
        assert (len(moves), book.is_damaged) == (1, True)
        assert "cut.db, line 4" in book.problems[0]


def test_a_last_line_without_an_end_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    path.write_text(f"sfen {START} 1\n7g7f 3c3d\n2g2f 8c8d")
    book = read_book(path)
    assert ([move.move.usi() for move in book[START]], book.problems) == (["7g7f", "2g2f"], [])


@pytest.mark.parametrize("head", [b"YANE-BINBOOK-V1\0", b"\x1a\x40:?" + START.encode(), b"sfen 9/9 b - 1\n"])
@given(data=st.binary(max_size=300))
def test_any_file_is_a_book_or_refused(tmp_path_factory: pytest.TempPathFactory, head: bytes, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.book"
    path.write_bytes(head + data)
    try:
        book = read_book(path)
    except BookError as error:
        assert str(path) in str(error)  # noqa: PT017  # either is right
    else:
        assert all(str(path) in problem for problem in book.problems)


def test_a_disk_that_fills_keeps_the_old_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    book = Book()
    book[START] = [BookMove(Move.from_usi("7g7f"))]
    write_book(book, path)
    old = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    book[START] = [BookMove(Move.from_usi("2g2f"))]
    with pytest.raises(DiskError, match=r"a\.db was not changed"):
        write_book(book, path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]
