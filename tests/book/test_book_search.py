"""Books from searches: lists of positions, growth along good moves, interruptions, newer networks."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from fukayomi import Network
from fukayomi.book import BookError, BookMove, BookSearchSettings, position_key, read_book, search_book, write_book
from fukayomi.book.search.growth import PLY_LOSS, win_rate
from fukayomi.engine import AnalysisQuery, AnalysisService, ServiceBookSearcher
from fukayomi.shogi import Position

START = position_key(Position())


class Dice:
    """Searches nothing: the moves and scores of a position are drawn from its key.

    Args:
        identity: Its name, which changes what it draws.
        stops_after: Number of positions after which Ctrl-C comes.
        latest_first: Whether the answers come in reverse.
    """

    def __init__(self, identity: str = "one", stops_after: int | None = None, *, latest_first: bool = False) -> None:
        self.identity = identity
        self.searched: list[str] = []
        self._left, self._latest_first = stops_after, latest_first

    def search(
        self, positions: Sequence[Position], nodes: int, moves: int
    ) -> Iterator[tuple[Position, Sequence[BookMove]]]:
        for position in reversed(positions) if self._latest_first else positions:
            if self._left is not None:
                if self._left == 0:
                    raise KeyboardInterrupt
                self._left -= 1
            self.searched.append(position_key(position))
            yield position, self.moves(position, nodes)[:moves]

    def moves(self, position: Position, nodes: int) -> list[BookMove]:
        """Four moves, the first with half of the visits."""
        drawn = hashlib.sha256(f"{self.identity} {position_key(position)}".encode()).digest()
        legal = position.legal_moves
        chosen = list(dict.fromkeys(legal[byte % len(legal)] for byte in drawn[:4]))
        score = drawn[4] - 128
        return [
            BookMove(move, None, score - 3 * drawn[5 + n] * n, 2 + n, nodes >> n + 1) for n, move in enumerate(chosen)
        ]


def test_positions_of_a_list_are_searched_once(tmp_path: Path) -> None:
    path, dice = tmp_path / "book.db", Dice()
    other = Position("startpos moves 7g7f 3c3d")
    found = search_book(path, [Position(), other, Position()], dice, settings=BookSearchSettings(nodes=100))
    assert (found.wanted, found.searched, found.kept, found.older) == (2, 2, 0, 0)
    book = read_book(path)
    assert book == found.book
    assert list(book[START]) == dice.moves(Position(), 100)
    assert book.ply(position_key(other)) == 3
    assert book.comments[START, ""] == "fukayomi: 100 nodes by one"
    again = search_book(path, [other, Position("startpos moves 2g2f")], dice, settings=BookSearchSettings(nodes=100))
    assert (again.searched, again.kept, len(again.book)) == (1, 1, 3)


def test_a_second_call_on_the_same_book_is_refused(tmp_path: Path) -> None:
    path, link = tmp_path / "book.db", tmp_path / "link.db"
    link.symlink_to(path)
    refused: list[str] = []

    class Rival(Dice):
        """Begins the same book, by either name, and another one while it searches."""

        def search(
            self, positions: Sequence[Position], nodes: int, moves: int
        ) -> Iterator[tuple[Position, Sequence[BookMove]]]:
            for same in (path, link):
                with pytest.raises(BookError) as error:
                    search_book(same, [Position()], Dice())
                refused.append(str(error.value))
            search_book(tmp_path / "other.db", [Position()], Dice())
            return super().search(positions, nodes, moves)

    search_book(path, [Position()], Rival())
    says = "another process is making this book: wait for it, or choose another file"
    assert refused == [f"{path}: {says}", f"{link}: {says}"]
    assert search_book(path, [Position()], Dice()).kept == 1, "the lock is free again"


def test_the_service_gives_visits_scores_and_depths(tmp_path: Path) -> None:
    white = Position("startpos moves 7g7f")
    with Network("<hash>", cache_mb=0) as network, AnalysisService(network, at_once=1) as service:
        searcher = ServiceBookSearcher(service)
        found = search_book(tmp_path / "book.db", [white], searcher, settings=BookSearchSettings(nodes=200))
        (answer,) = service.submit(AnalysisQuery(moves=("7g7f",), visits=200, multipv=8)).result()
    moves = found.book[position_key(white)]
    assert {(move.move.usi(), move.count, move.score_cp, move.depth) for move in moves} == {
        (move.move, move.visits, -(move.score_cp or 0), len(move.pv)) for move in answer.moves if move.visits >= 2
    }
    assert moves[0].move.usi() == answer.moves[0].move
    assert moves[0].ponder is not None
    assert moves[0].ponder.usi() == answer.moves[0].pv[1]


def test_of_a_won_position_the_moves_that_mate(tmp_path: Path) -> None:
    mate = Position.from_sfen("4k4/9/4P4/9/9/9/9/9/4K4 b G2r2b3g4s4n4l17p 1")
    with Network("<hash>") as network, AnalysisService(network) as service:
        found = search_book(tmp_path / "book.db", [mate], ServiceBookSearcher(service))
    moves = found.book[position_key(mate)]
    assert {move.score_cp for move in moves} == {30_000}
    assert "G*5b" in {move.move.usi() for move in moves}


def slow_growth(dice: Dice, settings: BookSearchSettings, rounds: Sequence[int]) -> list[str]:
    """The positions of a book in the order of a search through all lines, rounds of the given sizes."""
    taken: dict[str, Position] = {}
    for size in rounds:
        costs = {START: (0.0, Position())}
        changed = True
        while changed:  # the cheapest line to each position, through those that are taken
            changed = False
            for key, (cost, position) in list(costs.items()):
                if key not in taken:
                    continue
                moves = dice.moves(position, settings.nodes)
                rates = [win_rate(move.score_cp or 0) for move in moves]
                if not 1 - settings.decided <= rates[0] <= settings.decided:
                    continue
                for move, rate in zip(moves, rates, strict=True):
                    lost = max(0.0, rates[0] - rate)
                    if lost <= settings.loss:
                        after = Position.from_sfen(position.sfen())
                        after.push(move.move)
                        there = position_key(after)
                        if there not in costs or cost + lost + PLY_LOSS < costs[there][0] - 1e-12:
                            costs[there] = cost + lost + PLY_LOSS, after
                            changed = True
        new = sorted((cost, key) for key, (cost, _) in costs.items() if key not in taken)[:size]
        taken |= {key: costs[key][1] for _, key in new}
    return list(taken)


def test_a_book_grows_along_the_moves_that_lose_least(tmp_path: Path) -> None:
    settings = BookSearchSettings(nodes=100, positions=100, loss=0.2)
    dice = Dice()
    found = search_book(tmp_path / "book.db", [Position()], dice, settings=settings)
    assert found.wanted == len(found.book) == found.searched == 100
    sizes: list[int] = []
    while sum(sizes) < 100:  # a round takes no more than is known
        known = slow_growth(dice, settings, [*sizes, 64])
        sizes.append(min(len(known), 100) - sum(sizes))
    assert set(found.book) == set(slow_growth(dice, settings, sizes))


def test_lines_that_are_decided_or_lose_much_end(tmp_path: Path) -> None:
    found = search_book(
        tmp_path / "one.db", [Position()], Dice(), settings=BookSearchSettings(positions=50, loss=0.0, decided=0.51)
    )
    assert found.wanted < 50
    assert found.wanted == len(found.book)


@pytest.mark.parametrize("latest_first", [False, True])
def test_an_interrupted_book_grows_on_to_the_same(tmp_path: Path, latest_first: bool) -> None:
    settings = BookSearchSettings(nodes=100, positions=200, loss=0.2)
    whole = tmp_path / "whole.db"
    search_book(whole, [Position()], Dice(), settings=settings)
    cut, stops, searched = tmp_path / "cut.db", [1, 0, 7, 50, 64, 3], 0
    for stop in stops:
        dice = Dice(stops_after=stop, latest_first=latest_first)
        with pytest.raises(KeyboardInterrupt):
            search_book(cut, [Position()], dice, settings=settings)
        searched += len(dice.searched)
    assert len(read_book(cut)) == sum(stops)
    dice = Dice()
    found = search_book(cut, [Position()], dice, settings=settings)
    assert cut.read_bytes() == whole.read_bytes()
    assert searched + len(dice.searched) == 200
    assert (found.searched, found.kept) == (len(dice.searched), searched)


def test_searches_of_the_engine_grow_on_to_the_same(tmp_path: Path) -> None:
    """One search at a time and no cache: nothing depends on what was searched before."""
    settings = BookSearchSettings(nodes=60, positions=40, loss=0.2)

    def grow(path: Path, stop: int | None) -> None:
        with Network("<hash>", cache_mb=0) as network, AnalysisService(network, at_once=1) as service:
            searcher = ServiceBookSearcher(service)

            class Stopping:
                identity = searcher.identity

                def search(
                    self, positions: Sequence[Position], nodes: int, moves: int
                ) -> Iterator[tuple[Position, Sequence[BookMove]]]:
                    for number, found in enumerate(searcher.search(positions, nodes, moves)):
                        if number == stop:
                            raise KeyboardInterrupt
                        yield found

            search_book(path, [Position()], Stopping(), settings=settings)

    grow(tmp_path / "whole.db", None)
    for stop in (1, 3):
        with pytest.raises(KeyboardInterrupt):
            grow(tmp_path / "cut.db", stop)
    grow(tmp_path / "cut.db", None)
    assert (tmp_path / "cut.db").read_bytes() == (tmp_path / "whole.db").read_bytes()


def test_a_newer_network_searches_again_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    settings = BookSearchSettings(nodes=100, positions=20)
    search_book(path, [Position()], Dice("old"), settings=settings)
    by_hand = position_key(Position("startpos moves 1g1f"))
    book = read_book(path)
    own = BookMove(Position("startpos moves 1g1f").legal_moves[0], count=7)
    book[by_hand] = [own]
    book.comments.pop((by_hand, ""), None)
    book.comments[START, ""] = "the start\n" + book.comments[START, ""]
    write_book(book, path)
    kept = search_book(path, [Position()], Dice("new"), settings=settings)
    assert (kept.searched, kept.kept, kept.older) == (0, 20, 20)
    refreshing = settings.model_copy(update={"refresh": True})
    with pytest.raises(KeyboardInterrupt):
        search_book(path, [Position()], Dice("new", stops_after=5), settings=refreshing)
    dice = Dice("new")
    found = search_book(path, [Position()], dice, settings=refreshing)
    assert found.older == 0
    assert found.searched == len(dice.searched)
    assert by_hand not in dice.searched
    assert found.book[by_hand] == (own,)
    assert list(found.book[START]) == Dice("new").moves(Position(), 100)
    assert found.book.comments[START, ""] == "the start\nfukayomi: 100 nodes by new"
    assert set(book) <= set(found.book)


def test_more_nodes_search_again(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    search_book(path, [Position()], Dice(), settings=BookSearchSettings(nodes=100))
    fewer = search_book(path, [Position()], Dice(), settings=BookSearchSettings(nodes=50))
    assert (fewer.searched, fewer.book[START][0].count) == (0, 50)
    more = search_book(path, [Position()], Dice(), settings=BookSearchSettings(nodes=200))
    assert (more.searched, more.book[START][0].count) == (1, 100)


def test_what_cannot_be_a_book_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BookError, match=r"a book from a search is a \.db"):
        search_book(tmp_path / "book.bin", [Position()], Dice())
    with pytest.raises(ValueError, match="no position to search"):
        search_book(tmp_path / "book.db", [], Dice())
    damaged = tmp_path / "damaged.db"
    damaged.write_text(f"#YANEURAOU-DB2016 1.00\nsfen {START} 1\n7g7f none 1 1 1\nzzzz none 1 1 1\n")
    before = damaged.read_bytes()
    with pytest.raises(BookError, match=r"damaged\.db, line 4: .*must be whole"):
        search_book(damaged, [Position()], Dice())
    assert damaged.read_bytes() == before
