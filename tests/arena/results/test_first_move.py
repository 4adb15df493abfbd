"""First-move statistics: a published league to the digit, repeated games, and games that do not count."""

from collections.abc import Iterator

import pytest

from fukayomi.arena.results.first_move import FirstMoveResults, first_move
from fukayomi.arena.results.game import Game
from fukayomi.shogi import Move
from fukayomi.shogi.record import Result, Termination

ONE, TWO, SUISHO = "dlshogi-1gpu_2th-1", "dlshogi-1gpu_2th-2", "suisho4-10th"
SEED_LEAGUE = {
    # (Black, White): Black's wins, losses, draws
    (ONE, TWO): (117, 67, 0),
    (TWO, ONE): (123, 58, 1),
    (ONE, SUISHO): (155, 46, 5),
    (SUISHO, ONE): (81, 120, 3),
    (TWO, SUISHO): (152, 41, 12),
    (SUISHO, TWO): (71, 128, 6),
}
SEED_LINES = """\
dlshogi-1gpu_2th-1 vs dlshogi-1gpu_2th-2: 175-190-1 (48.0%)
Black vs White: 240-125-1 (65.7%)
dlshogi-1gpu_2th-1 playing Black: 117-67-0 (63.6%)
dlshogi-1gpu_2th-1 playing White: 58-123-1 (32.1%)
dlshogi-1gpu_2th-2 playing Black: 123-58-1 (67.9%)
dlshogi-1gpu_2th-2 playing White: 67-117-0 (36.4%)
dlshogi-1gpu_2th-1 vs suisho4-10th: 275-127-8 (68.0%)
Black vs White: 236-166-8 (58.5%)
dlshogi-1gpu_2th-1 playing Black: 155-46-5 (76.5%)
dlshogi-1gpu_2th-1 playing White: 120-81-3 (59.6%)
suisho4-10th playing Black: 81-120-3 (40.4%)
suisho4-10th playing White: 46-155-5 (23.5%)
dlshogi-1gpu_2th-2 vs suisho4-10th: 280-112-18 (70.5%)
Black vs White: 223-169-18 (56.6%)
dlshogi-1gpu_2th-2 playing Black: 152-41-12 (77.1%)
dlshogi-1gpu_2th-2 playing White: 128-71-6 (63.9%)
suisho4-10th playing Black: 71-128-6 (36.1%)
suisho4-10th playing White: 41-152-12 (22.9%)
"""


def league() -> Iterator[Game]:
    for (black, white), (wins, losses, draws) in SEED_LEAGUE.items():
        for result, count in ((Result.BLACK_WIN, wins), (Result.WHITE_WIN, losses), (Result.DRAW, draws)):
            yield from [Game(black, white, result)] * count


def lines(found: FirstMoveResults) -> str:
    return "".join(f"{line}\n" for pairing in found.pairings for line in pairing.lines())


def test_the_seed_s_league_to_the_digit() -> None:
    assert lines(first_move(league())) == SEED_LINES


def test_the_seed_s_mean_over_opponents() -> None:
    found = first_move(league())
    means = {mean.player: mean for mean in found.means(as_printed=True)}
    assert str(means[SUISHO]).startswith("suisho4-10th, mean over 2 opponents: Black vs White 57.55%, ")
    assert set(means) == {ONE, TWO, SUISHO}
    exact = {mean.player: mean.black for mean in found.means()}
    assert exact[SUISHO] == pytest.approx((240 / 410 + 232 / 410) / 2, abs=1e-12)
    assert found.black.games == found.games == 366 + 410 + 410


def test_each_opponent_counts_once_in_the_mean() -> None:
    games = [Game("a", "b", Result.BLACK_WIN)] * 9 + [Game("c", "a", Result.WHITE_WIN)]
    (mean,) = first_move(games).means()
    assert (mean.player, mean.opponents, mean.black) == ("a", 2, 0.5)
    assert (mean.as_black, mean.as_white) == (1.0, 1.0)
    assert first_move(games[:9]).means() == []


def played(moves: str, *, black: str = "a", white: str = "b", sfen: str = "", result: Result = Result.DRAW) -> Game:
    start = {"initial_sfen": sfen} if sfen else {}
    return Game(black, white, result, moves=tuple(Move.from_usi(move) for move in moves.split()), **start)


def test_games_of_identical_moves_count_once() -> None:
    handicap = "lnsgkgsnl/1r7/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
    games = [
        played("7g7f 3c3d", result=Result.BLACK_WIN),
        played("7g7f 3c3d", result=Result.WHITE_WIN),  # repeats the first, with another end
        played("7g7f 3c3d", black="b", white="a"),  # other colours
        played("7g7f 3c3d", black="c"),  # another player
        played("7g7f"),  # shorter
        played("7g7f 3c3d", sfen=handicap),
        played("7g7f 3c3d", black="b", white="a"),
    ]
    everything, distinct = first_move(games), first_move(games, distinct=True)
    assert (everything.games, everything.identical) == (7, 2)
    assert (distinct.games, distinct.identical) == (5, 2)
    assert str(everything.black) == "1-1-5 (50.0%)"
    assert str(distinct.black) == "1-0-4 (60.0%)"


def test_games_without_moves_are_all_kept_and_told() -> None:
    found = first_move([Game("a", "b", Result.DRAW)] * 3, distinct=True)
    assert (found.games, found.without_moves, found.identical) == (3, 3, 0)


def test_games_that_were_broken_off_count_nowhere() -> None:
    games = [
        Game("a", "b", Result.BLACK_WIN, Termination.CRASH),
        Game("a", "b", Result.UNKNOWN),
        Game("a", "b", Result.BLACK_WIN, Termination.INTERRUPTED),
        Game("a", "b", Result.WHITE_WIN, Termination.TIME_UP),
    ]
    found = first_move(games)
    assert (found.games, found.failed) == (1, 3)
    assert str(found.pairings[0].total) == "0-1-0 (0.0%)"


def test_a_player_against_itself_has_only_colours() -> None:
    games = [Game("a", "a", Result.BLACK_WIN), Game("a", "a", Result.BLACK_WIN), Game("a", "a", Result.DRAW)]
    found = first_move(games)
    assert lines(found) == "a vs a: 2-0-1 (83.3%)\nBlack vs White: 2-0-1 (83.3%)\n"
    assert found.means() == []


def test_colours_that_were_not_played_have_no_rate() -> None:
    text = lines(first_move([Game("a", "b", Result.BLACK_WIN)]))
    assert "a playing White: 0-0-0 (-)" in text
