"""Games from books: what the engine plays is what the file says, by a plain reader of its text; each limit by a table.

The reader knows nothing of the package: it looks through the lines of the file, turns positions and moves round by
their letters, and applies YaneuraOu's limits one after the other.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from fukayomi import Engine, Network, Position
from fukayomi.book import yaneuraou
from fukayomi.engine.settings import UsiSettings, usi_options
from fukayomi.usi.text import Go

LINES = 40
"""Moves of a game, at most."""
OUTSIDE = 3
"""Positions in a row that the book does not have, after which a game ends."""
START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b -"


@dataclass(frozen=True)
class Line:
    """A move of the file, in the words of the file."""

    move: str
    ponder: str
    score: str
    depth: str
    count: str

    @property
    def cp(self) -> int:
        return 0 if self.score == "none" else int(self.score)

    @property
    def plies(self) -> int:
        return 0 if self.depth == "none" else int(self.depth)

    @property
    def times(self) -> int:
        return 1 if self.count == "none" else int(self.count)


def turned_square(square: str) -> str:
    return "987654321"["123456789".index(square[0])] + "ihgfedcba"["abcdefghi".index(square[1])]


def turned_move(move: str) -> str:
    if move == "none":
        return move
    if move[1] == "*":
        return move[:2] + turned_square(move[2:4])
    return turned_square(move[:2]) + turned_square(move[2:4]) + move[4:]


def turned_key(key: str) -> str:
    board, turn, hand = key.split()
    cells: list[str] = []
    for letter in board:
        if cells and cells[-1] == "+":
            cells[-1] += letter
        else:
            cells.append(letter)
    board = "".join(reversed(cells)).swapcase()
    pieces = {"": ""} if hand == "-" else {}
    number = ""
    for letter in hand if hand != "-" else "":
        if letter.isdigit():
            number += letter
        else:
            pieces[letter.swapcase()], number = number, ""
    order = "".join(f"{pieces[letter]}{letter}" for letter in "RBGSNLPrbgsnlp" if letter in pieces)
    return f"{board} {'w' if turn == 'b' else 'b'} {order or '-'}"


class PlainReader:
    """Reads the text of a book line by line, without an index, but for one by position that is made once."""

    def __init__(self, path: Path) -> None:
        self.entries: dict[str, list[Line]] = {}
        lines: list[Line] | None = None
        for text in path.read_text("utf-8-sig").splitlines():
            words = text.split(" ")
            if text.startswith("sfen "):
                key = " ".join(words[1:4])
                lines = [] if key in self.entries else self.entries.setdefault(key, [])
            elif text and not text.startswith(("#", "//")) and lines is not None and words[0] != "none":
                words = [word or "none" for word in words] + ["none"] * 4
                lines.append(Line(*words[:5]))

    def find(self, position: Position, *, flipped: bool) -> list[Line]:
        """The legal moves of a position, those with the highest count first, of these the one with the best score."""
        key = position.sfen().rsplit(" ", 1)[0]
        found = self.entries.get(key, [])
        if not found and flipped:
            found = [
                Line(turned_move(line.move), turned_move(line.ponder), line.score, line.depth, line.count)
                for line in self.entries.get(turned_key(key), [])
            ]
        legal = {move.usi() for move in position.legal_moves}
        first: dict[str, Line] = {}
        for line in found:
            if line.move in legal:
                first.setdefault(line.move, line)
        return sorted(first.values(), key=lambda line: (-line.times, -line.cp))

    def playable(self, position: Position, options: Mapping[str, str]) -> list[Line]:
        """The moves that may be played, by YaneuraOu's limits; that to play with Best_Book_Move comes first."""

        def number(name: str, unlimited: int) -> int:
            return int(options.get(name, unlimited))

        found = self.find(position, flipped=options.get("FlippedBook") != "false")
        if not found or position.ply > number("BookMoves", 10_000):
            return []
        if found[0].plies < number("BookDepthLimit", 0):
            return []
        least = found[0].cp - number("BookEvalDiff", 99_999)
        least = max(least, number("Min_Book_Score", -3000))
        is_black = " b " in position.sfen()
        least = max(least, number("BookEvalBlackLimit" if is_black else "BookEvalWhiteLimit", -99_999))
        found = [line for line in found if line.cp >= least]
        if options.get("NarrowBook") == "true":
            total = sum(line.times for line in found)
            found = [line for line in found if 10 * line.times >= total]
        return found


def settings_of(path: Path, options: Mapping[str, str]) -> UsiSettings:
    made = usi_options()
    for name, value in {"USI_OwnBook": "true", "Book_File": str(path), "Random_Seed": "7", **options}.items():
        made.set(name, value)
    return made.settings


def book_move(engine: Engine, position: Position) -> tuple[str, int | None, int | None] | None:
    """The move that the engine plays from its book, with score and depth; None if it searches."""
    answer = engine.choose(position, Go(nodes=1))
    assert answer.bestmove is not None
    if not any(info.string == "a move of the book" for info in answer.infos):
        return None
    last = answer.infos[-1]
    assert last.nodes == 0
    assert last.pv[0] == answer.bestmove.move
    return answer.bestmove.move, None if last.score is None else last.score.cp, last.depth


LIMITS: Sequence[tuple[Mapping[str, str], str]] = (
    # Count, score and depth: 2g2f 9, 60, 18; 7g7f 9, 40, 20; 5g5f 2, 0, 30; 1g1f 1, -90, 8. So 2g2f is the first: the
    # highest count, and of those the best score.
    ({}, "2g2f 7g7f 5g5f 1g1f"),
    ({"BookMoves": "1"}, "2g2f 7g7f 5g5f 1g1f"),
    ({"BookMoves": "0"}, ""),
    ({"BookEvalDiff": "19"}, "2g2f"),
    ({"BookEvalDiff": "20"}, "2g2f 7g7f"),
    ({"BookEvalDiff": "60"}, "2g2f 7g7f 5g5f"),
    ({"BookEvalDiff": "0"}, "2g2f"),
    ({"BookEvalBlackLimit": "0"}, "2g2f 7g7f 5g5f"),
    ({"BookEvalBlackLimit": "41"}, "2g2f"),
    ({"BookEvalBlackLimit": "61"}, ""),
    ({"BookEvalWhiteLimit": "61"}, "2g2f 7g7f 5g5f 1g1f"),
    ({"BookEvalBlackLimit": "10", "BookEvalDiff": "60"}, "2g2f 7g7f"),
    ({"Min_Book_Score": "-89"}, "2g2f 7g7f 5g5f"),
    ({"BookDepthLimit": "0"}, "2g2f 7g7f 5g5f 1g1f"),
    ({"BookDepthLimit": "18"}, "2g2f 7g7f 5g5f 1g1f"),
    ({"BookDepthLimit": "19"}, ""),
    ({"NarrowBook": "true"}, "2g2f 7g7f"),
    ({"NarrowBook": "true", "BookEvalBlackLimit": "-50"}, "2g2f 7g7f 5g5f"),  # 2 of 20 is a tenth, 2 of 21 is not
    ({"IgnoreBookPly": "false"}, "2g2f 7g7f 5g5f 1g1f"),
    ({"BookIgnoreRate": "100"}, ""),
    ({"USI_OwnBook": "false"}, ""),
)
WHITE_LIMITS: Sequence[tuple[Mapping[str, str], str]] = (
    # After 2g2f, from White's side: 8c8d -70, which the book has; and the start with the colours exchanged.
    ({}, "8c8d"),
    ({"BookEvalWhiteLimit": "-70"}, "8c8d"),
    ({"BookEvalWhiteLimit": "-69"}, ""),
    ({"BookEvalBlackLimit": "0"}, "8c8d"),
    ({"BookMoves": "1"}, ""),
    ({"BookMoves": "2"}, "8c8d"),
)
TABLE = f"""#YANEURAOU-DB2016 1.00
sfen {START} 11
1g1f none -90 8 1
5g5f none 0 30 2
7g7f 3c3d 40 20 9
2g2f 8c8d 60 18 9
sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/7P1/PPPPPPP1P/1B5R1/LNSGKGSNL w - 2
8c8d 2f2e -70 17 4
"""


def moves_at_random(engine: Engine, position: Position) -> set[str]:
    """What it plays in many games."""
    played = [book_move(engine, position) for _ in range(150)]
    return {found[0] for found in played if found is not None} if None not in played else set()


def test_limits_as_yaneuraou_means_them(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    path.write_text(TABLE)
    reader = PlainReader(path)
    white = Position("startpos moves 2g2f")
    with Network("<hash>") as network:
        for position, table in ((Position(), LIMITS), (white, WHITE_LIMITS)):
            for options, moves in table:
                at_random = {"Best_Book_Move": "false", "ConsiderBookMoveCount": "false", **options}
                with Engine(network, memory_mb=16, settings=settings_of(path, at_random)) as engine:
                    assert moves_at_random(engine, position) == set(moves.split()), options
                with Engine(network, memory_mb=16, settings=settings_of(path, options)) as engine:
                    found = book_move(engine, position)
                assert (None if found is None else found[0]) == (moves.split()[0] if moves else None), options
                if options.get("BookIgnoreRate") is None and options.get("USI_OwnBook") is None:
                    assert [line.move for line in reader.playable(position, options)] == moves.split()


def test_the_colours_exchanged_by_the_option(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    path.write_text(TABLE)
    turned = Position.from_sfen(f"{turned_key(START)} 1")
    with Network("<hash>") as network:
        for value, expected in (("true", "8c8d"), ("false", None)):  # 2g2f on the board turned round
            with Engine(network, memory_mb=16, settings=settings_of(path, {"FlippedBook": value})) as engine:
                found = book_move(engine, turned)
                assert (None if found is None else found[0]) == expected


def random_book(path: Path, seed: int, *, size: int, is_sorted: bool) -> Path:
    """A book of random lines: ties, missing columns, moves that are not legal, comments, positions turned round."""
    rng = random.Random(seed)
    entries: dict[str, tuple[int, list[str]]] = {}
    waiting = [Position().sfen()]
    while waiting and len(entries) < size:
        position = Position.from_sfen(waiting.pop(rng.randrange(len(waiting))))
        legal = [move.usi() for move in position.legal_moves]
        key = position.sfen().rsplit(" ", 1)[0]
        if not legal or key in entries or turned_key(key) in entries:
            continue
        some = rng.sample(legal, min(rng.randrange(1, 5), len(legal)))
        for move in some:
            position.push_usi(move)
            waiting.append(position.sfen())
            position.pop()
        texts = [random_line(rng, usi) for usi in some]
        if rng.random() < 0.1:
            texts.insert(0, "5a5e none 3000 99 1000")
        if rng.random() < 0.2:
            key, texts = turned_key(key), [turned_text(text) for text in texts]
        entries[key] = position.ply, texts
    order = sorted(entries) if is_sorted else rng.sample(sorted(entries), len(entries))
    with path.open("w", encoding="utf-8", newline="\r\n" if seed % 2 else "\n") as file:
        file.write("#YANEURAOU-DB2016 1.00\n")
        for key in order:
            ply, texts = entries[key]
            file.write(f"sfen {key} {ply}\n# a comment\n" + "".join(f"{text}\n" for text in texts))
    return path


def random_line(rng: random.Random, usi: str) -> str:
    score = rng.choice(["none", *map(str, range(-120, 121, 20))])
    columns = ["none", score, rng.choice(["none", "5", "16", "17", "30"]), rng.choice(["none", "1", "2", "9", "40"])]
    return " ".join([usi, *columns[: rng.choice([4, 4, 4, 3, 2, 1])]])


def turned_text(text: str) -> str:
    move, *columns = text.split(" ")
    return " ".join([turned_move(move), *columns])


OPTIONS: Sequence[Mapping[str, str]] = (
    {},
    {"Best_Book_Move": "false"},
    {"Best_Book_Move": "false", "ConsiderBookMoveCount": "false"},
    {"BookMoves": "16", "BookEvalDiff": "30", "BookEvalBlackLimit": "0", "BookEvalWhiteLimit": "-140",
     "BookDepthLimit": "16", "Best_Book_Move": "false"},
    {"BookMoves": "256", "BookEvalDiff": "0", "BookEvalBlackLimit": "-200", "BookEvalWhiteLimit": "-200"},
    {"FlippedBook": "false", "BookEvalDiff": "40", "Best_Book_Move": "false"},
    {"NarrowBook": "true", "Best_Book_Move": "false"},
    {"Min_Book_Score": "-60", "BookDepthLimit": "17"},
)  # fmt: skip


def play(engine: Engine, reader: PlainReader, options: Mapping[str, str], rng: random.Random) -> Iterator[bool]:
    """A game of the engine against itself, at random outside of the book: for each move whether it is the book's."""
    start = rng.choice(sorted(reader.entries)) if rng.random() < 0.3 else START
    position = Position.from_sfen(f"{start} 1")
    engine.new_game()
    outside = 0
    for _ in range(LINES):
        legal = position.legal_moves
        if not legal:
            return
        playable = reader.playable(position, options)
        found = book_move(engine, position)
        if not playable:
            assert found is None, position.sfen()
        else:
            assert found is not None, position.sfen()
            lines = {line.move: line for line in playable}
            assert found[0] in lines, position.sfen()
            line = lines[found[0]]
            assert (found[1], found[2]) == (
                None if line.score == "none" else line.cp, None if line.depth == "none" else line.plies,
            )  # fmt: skip
            if options.get("Best_Book_Move") != "false":
                assert found[0] == playable[0].move, position.sfen()
        yield found is not None
        known = reader.find(position, flipped=True)
        outside = 0 if known else outside + 1
        if outside == OUTSIDE:
            return
        if found is not None and rng.random() < 0.8:
            position.push_usi(found[0])
        elif known and rng.random() < 0.9:
            position.push_usi(rng.choice(known).move)
        else:
            position.push(rng.choice(list(legal)))


def check_games(network: Network, path: Path, games: int, seed: int) -> Counter[bool]:
    """Play games with each of the options, and compare every move; counts the moves."""
    reader, rng, moves = PlainReader(path), random.Random(seed), Counter[bool]()
    for number, options in enumerate(OPTIONS):
        count = (games + number) // len(OPTIONS)
        with Engine(network, memory_mb=16, settings=settings_of(path, options)) as engine:
            for _ in range(count):
                moves.update(play(engine, reader, options, rng))
    return moves


def test_games_are_what_the_file_says(tmp_path: Path) -> None:
    with Network("<hash>") as network:
        for seed in (1, 2):
            path = random_book(tmp_path / f"{seed}.db", seed, size=300, is_sorted=seed == 1)
            moves = check_games(network, path, 24, seed)
            assert min(moves[True], moves[False]) > 50


@pytest.mark.soak
def test_a_thousand_games_are_what_the_file_says(
    tmp_path: Path, shared_data: Path, record_property: Callable[[str, object], None]
) -> None:
    paths = [random_book(tmp_path / f"{seed}.db", seed, size=3000, is_sorted=seed % 3 == 0) for seed in range(6)]
    paths += sorted((shared_data / "books").glob("*.db"))
    total: Counter[bool] = Counter()
    with Network("<hash>") as network:
        for number, path in enumerate(paths):
            with pytest.MonkeyPatch.context() as patch:
                if number % 2:
                    patch.setattr(yaneuraou, "IN_MEMORY_BYTES", 0)  # searched on disk, if it is sorted
                total.update(check_games(network, path, 1000 // len(paths), number))
    record_property("moves of the book", total[True])
    record_property("other moves", total[False])
    assert total[True] > 3000
