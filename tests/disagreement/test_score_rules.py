"""Positions that the scores of games show: the gap of calibrated scores, and dlshogi's two rules."""

import random
from itertools import pairwise
from math import exp, log

import pytest

from fukayomi.disagreement import DisagreementSettings
from fukayomi.disagreement.games import Outcomes, ScoredGame, candidates, scales_of_games
from fukayomi.shogi import Move
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination

SHUTTLE = ("2h3h", "8b7b", "3h2h", "7b8b")


def game(
    *scores: int | None, winner: Result = Result.BLACK_WIN, ending: Termination = Termination.RESIGN
) -> ScoredGame:
    """A game whose moves have these scores, from Black's side."""
    moves = (SHUTTLE * len(scores))[: len(scores)]
    played = [RecordedMove(Move.from_usi(usi), score) for usi, score in zip(moves, scores, strict=True)]
    return ScoredGame.of(Record(moves=played, black_name="x", white_name="y", termination=ending, result=winner))


def plies(found: ScoredGame, rule: str, **changes: object) -> list[int]:
    """The plies of the positions that a rule shows."""
    settings = DisagreementSettings(**{"rule": rule, "min_ply": 0, "per_game": 0, **changes})  # pyright: ignore[reportArgumentType]
    count, positions = candidates(found, settings, {})
    assert count == len(positions)
    return [position.ply for position in positions]


def test_a_gap_of_scores_is_one_of_logits() -> None:
    """756 centipawns are a logit where no scale is fitted."""
    assert plies(game(0, 757, 0, 755), "scores") == [1, 2]
    assert plies(game(0, 757, 0, 755), "scores", gap=0.99) == [1, 2, 3]
    assert plies(game(3000, 2300, 10_000), "scores", gap=0.5) == []  # both above 95 %
    assert plies(game(0, None, 2000, None), "scores") == []
    assert plies(game(0, 30_000, 0), "scores") == []  # a mate is not a matter of opinion


def test_views_are_those_of_the_side_to_move() -> None:
    settings = DisagreementSettings(min_ply=0)
    _, (first, second) = candidates(game(0, 900, -100), settings, {"x": 300.0})
    assert (first.ply, second.ply) == (1, 2)
    assert first.a is not None
    assert first.b is not None
    assert (first.a.player, first.a.score_cp, first.b.player, first.b.score_cp) == ("x", 0, "y", -900)  # White's
    assert first.b.win_rate == pytest.approx(1 / (1 + exp(900 / 756.0864961)))
    assert (first.b.move, first.a.move, first.played) == ("8b7b", None, "8b7b")
    assert second.a is not None
    assert (second.a.player, second.a.score_cp) == ("x", -100)
    assert second.a.win_rate == pytest.approx(1 / (1 + exp(100 / 300)))
    assert second.gap == pytest.approx(-100 / 300 - 900 / 756.0864961)
    assert second.position().usi() == "startpos moves 2h3h 8b7b"


def test_margin_goes_on_until_both_agree() -> None:
    """From a difference of more than 400 without agreement, to the first ply where both see 350 on one side."""
    assert plies(game(0, 100, 600, 500, 600), "margin") == [2, 3]  # 500 and 600: they agree, which is still shown
    assert plies(game(0, 400, 349, 600, 300, 360, 360), "margin") == []  # never more than 400 apart
    assert plies(game(-100, 301, 200, 200, -50), "margin") == [1, 2, 3, 4]
    assert plies(game(0, 500, 500), "margin", margin_cp=600, difference_cp=499) == [1, 2]
    assert plies(game(0, 500, 500), "margin", difference_cp=500) == []
    assert plies(game(0, 500, 500, ending=Termination.REPETITION, winner=Result.DRAW), "margin") == []


def test_margin_is_that_of_dlshogi() -> None:
    """As the tool defines it: the score nearer to 0 has another sign than the other, or has it after ±350."""
    random.seed(1)
    for _ in range(300):
        scores = [random.randrange(-900, 900) for _ in range(12)]
        expected: list[int] = []
        for ply, (one, other) in enumerate(pairwise(scores), 1):
            near, far = sorted((one, other), key=abs)
            differ = any((near + shift) * far < 0 for shift in (350, -350))
            if expected or (differ and abs(one - other) > 400):
                expected.append(ply)
                if not differ:
                    break
        assert plies(game(*scores), "margin") == expected


def test_winner_sees_it_first() -> None:
    """The loser's positions, until its score agrees by 100."""
    #            Black wins; White believes in itself for two moves more
    assert plies(game(50, -50, 600, -40, 650, -20, 700, 150, 900, 400), "winner") == [3, 5]
    assert plies(game(50, -50, 600, -40, 300, -20, 200, 150), "winner") == []  # the winner's score fell below 90 %
    assert plies(game(50, -50, 400, -40, 420, 150), "winner") == []  # 460 apart is not enough
    white = Result.WHITE_WIN
    assert plies(game(10, -600, 30, -650, 20, -700, -300, -900, winner=white), "winner") == [2, 4]
    assert plies(game(50, -50, 600, -40, 650, -20, 700, 150, winner=white), "winner") == []
    assert plies(game(50, -50, 600, -40, 650, winner=Result.DRAW, ending=Termination.REPETITION), "winner") == []


@pytest.mark.parametrize("scale", [200.0, 600.0, 1500.0])
def test_scales_do_not_depend_on_the_opponents(scale: float) -> None:
    """Scores of a player against a weaker, an equal and a stronger one: the strength does not change the scale."""
    random.seed(round(scale))
    outcomes = Outcomes()
    for opponent, strength in (("weak", 1.5), ("equal", 0.0), ("strong", -1.0)):
        for _ in range(20_000):
            score = round(random.gauss(0, scale))
            won = random.random() < 1 / (1 + exp(-score / scale - strength))
            outcomes.add(opponent, score, 2 if won else 0)
    assert outcomes.scale() == pytest.approx(scale, rel=0.05)


def test_scales_that_cannot_be_fitted() -> None:
    few, senseless = Outcomes(), Outcomes()
    for number in range(5000):
        senseless.add("x", 100 if number % 2 else -100, 2 * (number % 4 // 2))  # a score says nothing
        if number < 500:
            few.add("x", 100, 2)
    assert few.scale() is None
    assert senseless.scale() is None
    assert scales_of_games([game(1, 2, 3)]) == {}


def test_per_game_keeps_the_largest_gaps() -> None:
    found = game(0, 800, 0, -1600, 0, 900)
    settings = DisagreementSettings(min_ply=0, per_game=2)
    count, positions = candidates(found, settings, {})
    assert (count, [position.ply for position in positions]) == (5, [3, 4])
    assert log(exp(positions[0].gap)) == positions[0].gap
