"""Books: games into a book by min-max, look-ups, and memory.

    python benchmarks/book.py [--games 5000] [--plies 100] [--positions 200000] [--json]

The games are random ones of a narrow opening (two moves at each of the first plies, then any), written as CSA and read
again, as `fukayomi book minmax` does. Times are CPU-seconds of the process. The bytes of a book in memory, with four
moves a position, are measured and stated for ten million positions. The peer of min-max is the plain definition of the
tests, over fewer games; the ratio is without reading.
"""

import argparse
import json
import random
import sys
import tempfile
import time
import tracemalloc
from itertools import chain
from pathlib import Path
from typing import Any

from fukayomi.arena.results.sources import read_games
from fukayomi.book import Book, BookMove, BookReader, MinmaxSettings, minmax_book, position_key, write_book
from fukayomi.shogi import BLACK, Position
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination, winner_is

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "book" / "minmax"))
from plain_minmax import PlainBook  # noqa: E402

NARROW_PLIES = 16
DRAWN = 0.1
"""Share of drawn games."""
PLAIN_GAMES = 1_000
PLAIN_TH = 10
SAME = 1e-9
PROBES = 5_000
"""Look-ups, fewer if the book is smaller."""


def random_record(rng: random.Random, plies: int) -> Record:
    """A game whose first moves are few, the same whenever a position comes; then who is to move resigns."""
    position, plies = Position(), rng.choice([plies, plies - 1])
    while len(position.moves) < plies and (legal := position.legal_moves):
        chooser = rng
        if len(position.moves) < NARROW_PLIES:
            chooser = random.Random(position.key + rng.randrange(2))
        position.push(legal[chooser.randrange(len(legal))])
    is_drawn = rng.random() < DRAWN
    return Record(
        moves=[RecordedMove(move) for move in position.moves], black_name="black", white_name="white",
        result=Result.DRAW if is_drawn else winner_is(position.turn.opponent),
        termination=Termination.MAX_PLIES if is_drawn else Termination.RESIGN,
    )  # fmt: skip


def write_games(folder: Path, games: int, plies: int) -> list[Record]:
    rng = random.Random(1)
    records = [random_record(rng, plies) for _ in range(games)]
    for number, record in enumerate(records):
        (folder / f"{number:06}.csa").write_text(record.csa(), encoding="utf-8")
    return records


def time_minmax(folder: Path, th: int) -> tuple[float, float, int]:
    """CPU-seconds from files to a book, of these reading alone, and positions of the graph."""
    start = time.process_time()
    games = list(read_games([folder]))
    read = time.process_time() - start
    found = minmax_book(games, settings=MinmaxSettings(th=th))
    write_book(found.book(), folder.parent / "book.db")
    return time.process_time() - start, read, found.positions


def time_plainly(records: list[Record], th: int) -> float:
    """Games a CPU-second of the plain definition, which must find the same."""
    start = time.process_time()
    value = PlainBook(records, th).value(position_key(Position()), BLACK)
    seconds = time.process_time() - start
    (found,) = minmax_book(records, side=BLACK, settings=MinmaxSettings(th=th)).sides
    if abs(found.win_rate - value) > SAME:
        sys.exit(f"the value of the start is {found.win_rate}, by the plain definition {value}")
    return len(records) / seconds


def large_book(records: list[Record], positions: int) -> tuple[Book, float]:
    """A book of the positions of games with up to four moves each, and its bytes a position."""
    book = Book()
    tracemalloc.start()
    for position in chain.from_iterable(record.positions() for record in records):
        book.put(position_key(position), [BookMove(move, None, 50, 10, 3) for move in position.legal_moves[:4]])
        if len(book) == positions:
            break
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return book, size / len(book)


def probes_per_cpu_second(book: Book, path: Path) -> float:
    """Look-ups a CPU-second in a file that is searched on disk."""
    positions = [book.position(key) for key in random.Random(2).sample(list(book), min(PROBES, len(book)))]
    with BookReader.open(path) as reader:
        start = time.process_time()
        for position in positions:
            reader.moves(position, flipped=False)
        return len(positions) / (time.process_time() - start)


def measure(games: int, plies: int, positions: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "games").mkdir()
        records = write_games(folder / "games", games, plies)
        th = max(2, games // 200)
        seconds, reading, found = time_minmax(folder / "games", th)
        plain = time_plainly(records[:PLAIN_GAMES], PLAIN_TH)
        book, size = large_book(records, positions)
        write_book(book, folder / "large.db")
        probes = probes_per_cpu_second(book, folder / "large.db")
    return {
        "games": games,
        "plies": plies,
        "th": th,
        "positions": found,
        "cpu_s": round(seconds, 2),
        "reading_cpu_s": round(reading, 2),
        "games_per_cpu_s": round(games / seconds),
        "plain_games_per_cpu_s": round(plain, 1),
        "ratio": round(games / (seconds - reading) / plain, 1),
        "probes_per_cpu_s": round(probes),
        "bytes_per_position": round(size),
        "gb_for_ten_million": round(size * 1e7 / 1e9, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=5_000, help="games of the book (default 5000)")
    parser.add_argument("--plies", type=int, default=100, help="plies of a game (default 100)")
    parser.add_argument("--positions", type=int, default=200_000, help="positions of the large book (default 200000)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    result = measure(args.games, args.plies, args.positions)
    if args.json:
        print(json.dumps(result))
        return
    print(
        f"min-max   {result['games_per_cpu_s']:>10,} games/CPU-s ({result['cpu_s']} CPU-s, of these "
        f"{result['reading_cpu_s']} reading)"
    )
    print(f"plainly   {result['plain_games_per_cpu_s']:>10,} games/CPU-s; ratio {result['ratio']:,}")
    print(f"look-ups  {result['probes_per_cpu_s']:>10,} /CPU-s in a file")
    print(f"memory    {result['gb_for_ten_million']:>10,} GB for ten million positions of four moves")


if __name__ == "__main__":
    main()
