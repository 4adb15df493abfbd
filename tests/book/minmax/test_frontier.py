"""The frontier of a book: where games may change the choice at the start."""

import pytest
from minmax_games import games_of, random_games

from fukayomi.book import MinmaxSettings
from fukayomi.book.minmax.frontier import FrontierLine, frontier
from fukayomi.book.minmax.games import GameColumns
from fukayomi.book.minmax.minmax import Solved, reached
from fukayomi.shogi import BLACK, START_SFEN, WHITE, Color, Position
from fukayomi.shogi.record import Record


def lines_of(games: list[Record], side: Color, count: int, th: int = 10) -> list[FrontierLine]:
    columns, settings = GameColumns(), MinmaxSettings(th=th)
    for game in games:
        columns.add(game)
    return frontier(Solved(reached(columns, Position(), settings, None), side, settings), count)


def moves_of(line: FrontierLine) -> str:
    return line.line.removeprefix(f"sfen {START_SFEN}").removeprefix(" moves ")


def test_a_rival_with_few_games_is_tried() -> None:
    games = games_of(f"7g7f 3c3d: {'b' * 60}{'w' * 40}", "2g2f 8c8d: bbbww")
    (line,) = lines_of(games, BLACK, 1)
    assert (moves_of(line), line.games) == ("2g2f", 5)
    assert line.low < 0.3
    assert line.high > 0.8


def test_the_less_known_of_two_is_tried() -> None:
    games = games_of(f"7g7f 3c3d: {'b' * 6}{'w' * 4}", f"2g2f 8c8d: {'b' * 55}{'w' * 45}")
    (line,) = lines_of(games, BLACK, 1)
    assert (moves_of(line), line.games) == ("7g7f 3c3d", 10)


def test_where_the_choice_is_sure_the_next_one_counts() -> None:
    games = games_of(
        f"7g7f 3c3d 2g2f: {'b' * 95}{'w' * 5}", f"2g2f 8c8d 7g7f: {'b' * 5}{'w' * 95}", "7g7f 8c8d 2g2f: bbw",
    )  # fmt: skip
    (line,) = lines_of(games, BLACK, 1)
    assert moves_of(line) == "7g7f 8c8d"  # White's answer that few games know


def test_the_answer_that_the_opponent_hopes_most_of_comes_first() -> None:
    games = games_of(
        f"7g7f 3c3d 2g2f: {'b' * 60}{'w' * 40}",
        f"2g2f 8c8d 2f2e: {'b' * 6}{'w' * 5}",
        f"2g2f 3c3d 2f2e: {'b' * 4}{'w' * 7}",
    )
    (line,) = lines_of(games, BLACK, 1)
    assert moves_of(line) == "2g2f 3c3d 2f2e"


def test_games_about_to_be_played_count() -> None:
    games = games_of(f"7g7f 3c3d: {'b' * 60}{'w' * 40}", "2g2f 8c8d: bbbww", "5g5f 8c8d: bbbww")
    lines = [moves_of(line) for line in lines_of(games, BLACK, 6)]
    assert set(lines) == {"2g2f", "5g5f"}
    assert lines[0] != lines[1]


def test_for_white_the_values_are_the_other_way() -> None:
    games = games_of(f"7g7f 3c3d 2g2f: {'b' * 50}{'w' * 50}", "7g7f 8c8d 2g2f: wwbww")
    (line,) = lines_of(games, WHITE, 1)
    assert moves_of(line) == "7g7f 8c8d"


def test_a_mate_has_no_frontier() -> None:
    columns, settings = GameColumns(), MinmaxSettings(th=1)
    (game,) = games_of("G*5b: b", start="4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    columns.add(game)
    solved = Solved(reached(columns, Position.from_sfen(game.initial_sfen), settings, None), BLACK, settings)
    assert [node.is_mated for node in solved.nodes] == [False, True]
    assert frontier(solved, 3) == []


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("side", [BLACK, WHITE])
def test_lines_are_legal_and_end_where_the_book_does(seed: int, side: Color) -> None:
    games = random_games(seed, START_SFEN, 120, 8, 3)
    columns, settings = GameColumns(), MinmaxSettings(th=6)
    for game in games:
        columns.add(game)
    solved = Solved(reached(columns, Position(), settings, None), side, settings)
    inner = {node.sfen.rsplit(" ", 1)[0] for node in solved.nodes if node.edges}
    lines = frontier(solved, 5)
    assert lines
    for line in lines:
        position = Position.from_usi(line.line)
        assert position.sfen().rsplit(" ", 1)[0] not in inner
        assert 0 <= line.low <= line.high <= 1
    assert lines == frontier(solved, 5)
