"""YaneuraOu's text books: in memory and on disk, beside rsshogi's reader on real books, and damaged in many ways."""

import random
from pathlib import Path

import pytest

from fukayomi import Position
from fukayomi.book import BookError, BookReader
from fukayomi.book import yaneuraou as text_book

START = Position().sfen().rsplit(" ", 1)[0]


@pytest.fixture(params=["memory", "disk"])
def _anywhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read books of any size by an index in memory, and search them on disk."""
    if request.param == "disk":
        monkeypatch.setattr(text_book, "IN_MEMORY_BYTES", 0)


def sfens_of(path: Path) -> list[str]:
    return [line[5:] for line in path.read_text("utf-8-sig").splitlines() if line.startswith("sfen ")]


@pytest.mark.parametrize("name", ["yokofu_super_rapid.db", "yokofu_super_rapid-tera.db"])
def test_real_books_as_rsshogi_reads_them(shared_data: Path, name: str) -> None:
    rsshogi = pytest.importorskip("rsshogi.book")
    path = shared_data / "books" / name
    theirs = rsshogi.YaneuraOuBook.open(str(path))
    sfens = sfens_of(path)
    seen: set[str] = set()
    with BookReader.open(path) as book:
        for sfen in random.Random(1).sample(sfens, 40):  # rsshogi's scan is slow
            entry = book.look_up(Position.from_sfen(sfen), flipped=False)
            if (key := sfen.rsplit(" ", 1)[0]) in seen:
                continue
            seen.add(key)
            expected = theirs.lookup_sfen_by_scan(sfen)
            assert expected is not None
            assert not entry.problems
            assert [(m.move.usi(), m.score_cp, m.depth, m.count) for m in entry.moves] == [
                (m.mv.to_usi(), m.score, m.depth, m.count) for m in expected.moves
            ]
            ponders = zip(entry.moves, expected.moves, strict=True)
            assert all(ours.ponder is None or ours.ponder.usi() == other.ponder.to_usi() for ours, other in ponders)


@pytest.mark.usefixtures("_anywhere")
def test_every_position_of_a_real_book_is_found_and_others_are_not(shared_data: Path) -> None:
    path = shared_data / "books" / "yokofu_super_rapid-tera.db"
    sfens = sfens_of(path)
    known = {sfen.rsplit(" ", 1)[0] for sfen in sfens}
    with BookReader.open(path) as book:
        for sfen in (sfens[0], sfens[-1], *random.Random(2).sample(sfens, 500)):
            position = Position.from_sfen(sfen)
            assert book.moves(position, flipped=False), sfen
            for move in list(position.legal_moves)[:2]:
                position.push(move)
                is_known = position.sfen().rsplit(" ", 1)[0] in known
                assert bool(book.look_up(position, flipped=False).moves) == is_known
                position.pop()


@pytest.mark.usefixtures("_anywhere")
@pytest.mark.parametrize(
    "name",
    ["yaneuraou", "yaneuraou-crlf", "yaneuraou-bom-crlf", "yaneuraou-no-header", "yaneuraou-bom-no-header"],
)
def test_books_of_shogihome(shared_data: Path, name: str) -> None:
    with BookReader.open(shared_data / "records" / "shogihome" / "book" / f"{name}.db") as book:
        entry = book.look_up(Position.from_usi("startpos moves 2g2f 3c3d 7g7f 4c4d 2f2e 2b3c"), flipped=False)
        assert entry.moves == ()
        after = Position.from_usi("startpos moves 2g2f 3c3d 2f2e 8c8d 7g7f")
        assert book.moves(after) == ()
        first = Position.from_sfen("lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/2P4P1/PP1PPPP1P/1B5R1/LNSGKGSNL w - 4")
        found = book.look_up(first)
        assert [(m.move.usi(), m.ponder, m.score_cp, m.depth, m.count) for m in found.moves] == [
            ("2b8h+", None, None, None, 103), ("4c4d", None, None, None, 3), ("4a3b", None, None, None, 2),
        ]  # fmt: skip
        assert found.problems == ()


def test_the_other_version_of_the_header_is_refused(shared_data: Path) -> None:
    with pytest.raises(BookError, match=r"line 1: '#YANEURAOU-DB2016 2\.00'"):
        BookReader.open(shared_data / "records" / "shogihome" / "book" / "yaneuraou-invalid-header.db")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("7g7f", None),
        ("7g7f none none none none", None),
        ("7g7f 3c3d 10 5 3 // a remark", None),
        ("none none 0 0", None),
        ("resign", None),
        ("# a comment", None),
        ("", None),
        ("7g7f 3c3d x", "'x' is not a number"),
        ("7g7f 3c3d 99999999999999999999", "is not a number"),
        ("7g7g7", "'7g7g7'"),
        pytest.param("棋" * 100, "expected a move", id="long"),
        ("7g7f 3c9", "'3c9'"),
    ],
)
def test_lines_are_read_or_named(tmp_path: Path, line: str, problem: str | None) -> None:
    path = tmp_path / "book.db"
    path.write_text(f"sfen {START} 1\n{line}\n2g2f none 7\nsfen 8k/9/9/9/9/9/9/9/8K b - 1\n", encoding="utf-8")
    with BookReader.open(path) as book:
        entry = book.look_up(Position())
    assert entry.moves[-1].move.usi() == "2g2f"
    assert len(entry.problems) == (problem is not None)
    if problem is not None:
        assert problem in entry.problems[0]
        assert entry.problems[0].startswith(f"{path}, offset {len(START) + 8}: ")


@pytest.mark.usefixtures("_anywhere")
def test_long_lines_and_long_entries_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    path.write_text(
        f"#{'x' * 100_000}\nsfen {START} 1\n7g7f none 7\n#{'y' * 100_000}\nsfen {START[:-3]}w - 1\n{'z' * 100_000}"
    )
    with BookReader.open(path) as book:
        entry = book.look_up(Position())
        assert [move.move.usi() for move in entry.moves] == ["7g7f"]
        assert "more than 65536 bytes for one position" in entry.problems[-1]
        other = Position()
        other.push_usi("7g7f")
        assert book.moves(other, flipped=False) == ()


def write_large(path: Path, *, is_sorted: bool) -> list[str]:
    """A book of many positions, each with a move; returns their SFENs."""
    source = random.Random(3)
    sfens: set[str] = set()
    while len(sfens) < 3000:
        position = Position()
        for _ in range(12):
            position.push(source.choice(position.legal_moves))
            sfens.add(position.sfen())
    order = sorted(sfens) if is_sorted else source.sample(sorted(sfens), len(sfens))
    moves = (Position.from_sfen(sfen).legal_moves[0] for sfen in order)
    lines = (f"sfen {sfen}\n{move} none {n} 1 1\n" for n, (sfen, move) in enumerate(zip(order, moves, strict=True)))
    path.write_text("#YANEURAOU-DB2016 1.00\n" + "".join(lines))
    return order


@pytest.mark.parametrize("is_sorted", [True, False])
def test_a_large_book_is_searched_on_disk_if_it_is_sorted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_sorted: bool
) -> None:
    monkeypatch.setattr(text_book, "IN_MEMORY_BYTES", 1000)
    order = write_large(tmp_path / "book.db", is_sorted=is_sorted)
    file = text_book.YaneuraouBook(tmp_path / "book.db")
    assert file.is_on_disk == is_sorted
    for n, sfen in enumerate(order):
        (move,) = file.find(Position.from_sfen(sfen)).moves
        assert move.score_cp == n
    file.close()
