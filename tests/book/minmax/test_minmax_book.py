"""Books by min-max: against the plain definition, and by examples."""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from minmax_games import game_of, games_of, random_games
from plain_minmax import DRAW_VALUES, PlainBook, key_of

from fukayomi._native import EVAL_SCALE, centipawns
from fukayomi.arena.results.game import Game
from fukayomi.book import BookError, BookLimits, BookReader, MinmaxSettings, minmax_book, write_book
from fukayomi.shogi import BLACK, START_SFEN, WHITE, Color, Move, Position
from fukayomi.shogi.record import Record, RecordedMove, Termination

SEED_START = "lr5nl/3g1kg2/2n1ppsp1/p1pps1p1p/1p5P1/P1PPSPP1P/1PS1P1N2/2GK1G3/LN5RL w Bb 38"
ROOKS = "4k4/9/9/9/9/9/9/5R3/4K4 b - 1"
"""A rook that may give check for ever."""


def check_against_plain(games: list[Record], start: str, th: int, side: Color | None) -> None:
    found = minmax_book(games, start, side=side, settings=MinmaxSettings(th=th))
    plain = PlainBook(games, th)
    root = key_of(Position.from_sfen(start))
    for value in found.sides:
        assert value.win_rate == pytest.approx(plain.value(root, value.side))
        reached, waiting = {root}, [root]
        while waiting:
            for after in plain.moves(waiting.pop()).values():
                if after not in reached:
                    reached.add(after)
                    waiting.append(after)
        expected = {key for key in reached if plain.moves(key) and f" {'bw'[value.side]} " in f"{key} "}
        entries = {sfen.rsplit(" ", 1)[0]: moves for sfen, moves in found.entries.items()}
        assert {key for key in entries if f" {'bw'[value.side]} " in f"{key} "} == expected
        for key in expected:
            values = {move: plain.value(after, value.side) for move, after in plain.moves(key).items()}
            scores = {move: centipawns(each, EVAL_SCALE) for move, each in values.items()}
            best, *others = entries[key]
            assert best.score_cp == max(scores.values())
            assert {move.move for move in entries[key]} == set(scores)
            assert all(move.score_cp in (scores[move.move], scores[move.move] - 1) for move in others)


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 3), st.sampled_from([BLACK, WHITE, None]))
def test_book_is_the_plain_one_with_circles_and_checks(seed: int, th: int, side: Color | None) -> None:
    check_against_plain(random_games(seed, ROOKS, 8, 9, 3), ROOKS, th, side)


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_book_from_the_start_of_the_suisho_book(seed: int, th: int) -> None:
    check_against_plain(random_games(seed, SEED_START, 30, 6, 2), SEED_START, th, None)


def test_values_go_back_to_the_start_and_scores_mean_centipawns(tmp_path: Path) -> None:
    games = games_of("7g7f 3c3d: bbbw", "7g7f 8c8d: bbww", "2g2f 8c8d: bbbbbbw", "2g2f 3c3d: bwww", "1g1f: b")
    found = minmax_book(games, side=BLACK, settings=MinmaxSettings(th=4))
    (black,) = found.sides
    assert black.win_rate == 0.5
    assert [move.usi() for move in black.line] == ["7g7f", "8c8d"]
    assert found.rows() == [
        {"move": "7g7f", "score_cp": 0, "depth": 2, "games": 8},
        {"move": "2g2f", "score_cp": centipawns(0.25, EVAL_SCALE), "depth": 2, "games": 11},
    ]
    assert list(found.entries) == [START_SFEN]
    path = tmp_path / "book.db"
    assert write_book(found.book(), path) == []
    with BookReader.open(path) as book:
        first, *_ = book.moves(Position())
        assert first.move.usi() == "7g7f"  # though 2g2f was played more often
        assert book.choose(Position(), BookLimits(most_loss_cp=0), by="random").move.usi() == "7g7f"  # pyright: ignore[reportOptionalMemberAccess]
        assert book.choose(Position(), BookLimits(least_score_black_cp=1)) is None


def test_scale_of_scores() -> None:
    games = games_of("7g7f: bbbw")
    scores = [
        minmax_book(games, side=BLACK, settings=MinmaxSettings(th=1, eval_scale=scale)).entries[START_SFEN][0].score_cp
        for scale in (300.0, 600.0)
    ]
    assert scores == [330, 659]  # 300 ln 3, 600 ln 3


def test_draws_are_worth_what_the_colour_of_the_book_says() -> None:
    games = games_of("7g7f 3c3d: dddd", "7g7f 8c8d: bbwwwwww")
    values = {value.side: value.win_rate for value in minmax_book(games, settings=MinmaxSettings(th=4)).sides}
    assert values == {BLACK: 0.25, WHITE: 0.75}
    games = games_of("7g7f 3c3d: dddd")
    values = {value.side: value.win_rate for value in minmax_book(games, settings=MinmaxSettings(th=4)).sides}
    assert values == pytest.approx(DRAW_VALUES)


def test_each_side_has_its_own_positions() -> None:
    games = games_of("7g7f 3c3d 2g2f: bbww")
    turns = [
        [sfen.split()[1] for sfen in minmax_book(games, side=side, settings=MinmaxSettings(th=1)).entries]
        for side in (BLACK, WHITE, None)
    ]
    assert [sorted(each) for each in turns] == [["b", "b"], ["w"], ["b", "b", "w"]]


def test_moves_in_another_order_meet() -> None:
    games = games_of("7g7f 3c3d 2g2f: bb", "2g2f 3c3d 7g7f: www")
    found = minmax_book(games, side=BLACK, settings=MinmaxSettings(th=2))
    assert found.sides[0].win_rate == 0.4
    assert found.positions == 6
    assert [move.score_cp for move in found.entries[START_SFEN]] == [centipawns(0.4, EVAL_SCALE)] * 2


def test_repeated_games_count_once_where_that_is_asked() -> None:
    games = games_of("7g7f: bbbbw", "2g2f: bw")
    often = minmax_book(games, side=BLACK, settings=MinmaxSettings(th=2))
    once = minmax_book(games, side=BLACK, settings=MinmaxSettings(th=2, uniq=True))
    assert (often.sides[0].win_rate, often.games, often.repeated) == (0.8, 7, 0)
    assert (once.sides[0].win_rate, once.games, once.repeated) == (0.5, 4, 3)


def test_games_that_say_nothing_are_left_out() -> None:
    games = [
        *games_of("7g7f: bw"),
        game_of("7g7f", "b", ending=Termination.TIME_UP),
        game_of("7g7f", "b", ending=Termination.CRASH),
        Record(moves=[RecordedMove(Move.from_usi("7g7f"))]),
        game_of("", "b"),
        game_of("G*5b", "b", "4k4/9/4P4/9/9/9/9/9/9 b G 1"),
    ]
    found = minmax_book(games, side=BLACK, settings=MinmaxSettings(th=1))
    assert (found.games, found.left_out, found.sides[0].win_rate) == (2, 5, 0.5)


def test_records_of_any_origin_say_the_same() -> None:
    games = games_of("7g7f 3c3d 2g2f 8c8d: bbw", "2g2f 8c8d: wwd", "7g7f 8c8d: bdw")
    from_csa = [Record.from_text(game.csa()) for game in games]
    for record, game in zip(from_csa, games, strict=True):
        record.termination, record.result = game.termination, game.result
    of_match = [Game.from_record(game) for game in games]
    one, *others = (minmax_book(each, settings=MinmaxSettings(th=2)) for each in (games, from_csa, of_match))
    assert len(one.entries) == 5
    assert all((each.entries, each.sides) == (one.entries, one.sides) for each in others)


def test_too_few_games_through_the_start() -> None:
    with pytest.raises(BookError, match=r"0 games pass through .* needs 100: give more games, another start, or"):
        minmax_book([], SEED_START)
    with pytest.raises(BookError, match="1 game passes through"):
        minmax_book(games_of("7g7f: b"))


def test_a_mated_position_is_lost_whatever_the_result_says() -> None:
    start = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
    found = minmax_book(games_of("G*5b: w", start=start), start, side=BLACK, settings=MinmaxSettings(th=1))
    assert found.sides[0].win_rate == 1.0


def test_a_line_that_goes_round_is_a_draw_and_perpetual_check_is_lost() -> None:
    shuffle = games_of("5i4i 5a6a 4i5i 6a5a 5i4i: bbbb", start=ROOKS)
    found = minmax_book(shuffle, ROOKS, settings=MinmaxSettings(th=1))
    assert [value.win_rate for value in found.sides] == [0.4, 0.6]
    assert found.circles == 4
    checks = games_of("4h5h 5a4a 5h4h 4a5a 4h5h: bbbb", start=ROOKS)
    found = minmax_book(checks, ROOKS, settings=MinmaxSettings(th=1))
    assert [value.win_rate for value in found.sides] == [0.0, 1.0]


def test_the_move_that_makes_progress_is_first() -> None:
    """Black wins by going on; the way round leads to the same place and costs a centipawn."""
    games = games_of("5i4i 5a6a 4i5i 6a5a 5i6i: bbb", "5i6i 5a6a: bbw", start=ROOKS)
    found = minmax_book(games, ROOKS, side=BLACK, settings=MinmaxSettings(th=3))
    first, second = found.entries[ROOKS]
    assert (first.move.usi(), second.move.usi()) == ("5i6i", "5i4i")
    assert first.score_cp is not None
    assert second.score_cp == first.score_cp - 1


# ------------------------------------------------------------------------------------------ what the seed names as weak

FEW_GAMES = games_of("7g7f: bbb", f"2g2f: {'b' * 70 + 'w' * 30}")
"""A move that won all of three games, and one that won 70 of 100."""


def judge(positions: Sequence[Position]) -> list[tuple[float, Mapping[Move, float]]]:
    """A network that finds everything even, but for Black's 5g5f, which wins and which it plays."""
    found: list[tuple[float, Mapping[Move, float]]] = []
    for position in positions:
        wins = any(move.usi() == "5g5f" for move in position.moves) or "/4P4/" in position.sfen()
        policy = {move: 0.9 if move.usi() == "5g5f" else 0.001 for move in position.legal_moves}
        found.append((0.1 if wins and position.turn == WHITE else 0.5, policy))
    return found


def best_move(games: list[Record], **fields: object) -> str:
    found = minmax_book(
        games, side=BLACK, settings=MinmaxSettings.model_validate({"th": 2, **fields}), judge=judge
    )  # fmt: skip
    return found.entries[START_SFEN][0].move.usi()


def test_few_games_count_for_less_by_a_bound_of_the_interval() -> None:
    assert best_move(FEW_GAMES) == "7g7f"
    assert best_move(FEW_GAMES, confidence=0.95) == "2g2f"
    found = minmax_book(FEW_GAMES, side=BLACK, settings=MinmaxSettings(th=2, confidence=0.95))
    assert found.sides[0].win_rate == pytest.approx(0.6202, abs=1e-4)  # Wilson's lower bound, one-sided


def test_few_games_count_for_less_beside_the_networks_value() -> None:
    assert best_move(FEW_GAMES, prior_games=10) == "2g2f"
    found = minmax_book(FEW_GAMES, side=BLACK, settings=MinmaxSettings(th=2, prior_games=10), judge=judge)
    assert found.sides[0].win_rate == pytest.approx((70 + 5) / 110)


def test_moves_that_nobody_tries_become_leaves_and_lines_to_play() -> None:
    assert best_move(FEW_GAMES, prior_games=10, candidates=0.2) == "5g5f"
    found = minmax_book(
        FEW_GAMES, side=BLACK, settings=MinmaxSettings(th=2, prior_games=10, candidates=0.2), judge=judge
    )
    assert found.sides[0].win_rate == pytest.approx(0.9)
    (line,) = found.sides[0].to_play
    assert (line.line, line.games, line.probability) == (f"sfen {START_SFEN} moves 5g5f", 0, 0.9)
    assert found.entries[START_SFEN][0].count == 0


def test_moves_with_few_games_are_lines_to_play_if_they_may_be_better() -> None:
    games = games_of("7g7f 3c3d: bbbbwwww", "7g7f 8c8d: bw", "2g2f: b", f"1g1f: {'w' * 7}")
    (black,) = minmax_book(games, side=BLACK, settings=MinmaxSettings(th=8)).sides
    lines = {line.line.partition(" moves ")[2]: line.games for line in black.to_play}
    assert lines == {"2g2f": 1, "7g7f 8c8d": 2}
    assert Position.from_usi(black.to_play[0].line).ply in (2, 3)


def test_moves_that_nobody_played_lead_to_positions_of_other_games() -> None:
    """After 2g2f 3c3d nobody played 7g7f, which leads to a position that Black always won."""
    games = games_of("7g7f 3c3d 2g2f: bbb", "2g2f 3c3d 1g1f: www")
    settings = MinmaxSettings(th=3)
    key = Position.from_usi("startpos moves 2g2f 3c3d").sfen()
    without = minmax_book(games, side=BLACK, settings=settings)
    with_them = minmax_book(games, side=BLACK, settings=settings.changed(transpositions=True))
    assert [move.move.usi() for move in without.entries[key]] == ["1g1f"]
    assert [(move.move.usi(), move.count) for move in with_them.entries[key]] == [("7g7f", 0), ("1g1f", 3)]


def test_a_network_is_asked_for() -> None:
    with pytest.raises(ValueError, match="prior_games mixes the values of a network in"):
        minmax_book(FEW_GAMES, settings=MinmaxSettings(th=2, prior_games=1))
    with pytest.raises(ValueError, match="whose weight prior_games is 0"):
        MinmaxSettings(candidates=0.1)


def test_order_of_the_games_does_not_matter() -> None:
    games = random_games(7, ROOKS, 40, 12, 3)
    one = minmax_book(games, ROOKS, settings=MinmaxSettings(th=2))
    other = minmax_book(chain(reversed(games)), ROOKS, settings=MinmaxSettings(th=2))
    assert one.entries.keys() == other.entries.keys()
    for key, moves in one.entries.items():
        assert moves[0].score_cp == other.entries[key][0].score_cp
