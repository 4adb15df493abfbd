"""Games as sources of positions: their scores, the scales of their players, and the positions that may disagree."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import EVAL_SCALE, MATE_CP, encode_hcp
from fukayomi.disagreement.model import GamePosition, View, logit, win_rate_of
from fukayomi.disagreement.settings import DisagreementSettings, Rule
from fukayomi.shogi import BLACK, Color, Move, Position, Repetition, ShogiError
from fukayomi.shogi.record import Record, Result, Termination

OPENING_PLIES = 24
"""Games with the same position after this many plies have the same opening."""
LEAST_SCORES = 1000
"""Scores with a result that a scale of its own needs."""
LARGEST_CP = 3000
"""Scores beyond it count as such in the fit of scales."""
LEAST_SLOPE = 0.05
"""A scale of 15 120: a player whose scores say less about results has none."""
STEPS, PRECISION = 100, 1e-9
AGREED_CP = 100
"""With rule WINNER: centipawns from which a player says that the winner is ahead."""
KEPT = 0.9
"""With rule WINNER: share of its first score below which the winner's never falls again."""
Floats = NDArray[np.float64]
_NONE = -(1 << 31)
_POINTS = {Result.BLACK_WIN: 1.0, Result.DRAW: 0.5, Result.WHITE_WIN: 0.0}
_DECIDED = frozenset({Termination.RESIGN, Termination.DECLARATION, Termination.MATE})


@dataclass(frozen=True, slots=True, eq=False)
class ScoredGame:
    """A game with N moves and the scores of its players; about 1 kB."""

    name: str
    key: str
    initial_sfen: str
    first: Color
    """The side that moves first."""
    moves: NDArray[np.uint16]
    """As `Move.raw`: uint16 [N]."""
    scores: NDArray[np.int32]
    """Centipawns from Black's side, said with each move; -2^31: none: int32 [N]."""
    players: tuple[str, str]
    """Black and White."""
    points: float | None
    """Black's points; None: not known."""
    is_decided: bool
    """True if it ended by resignation, declaration or mate."""

    @classmethod
    def of(cls, record: Record) -> "ScoredGame":
        """The game of a record. A mate is a score of ±30000."""
        moves = np.array([played.move.raw for played in record.moves], np.uint16)
        scores = [_score(played.score_cp, played.mate) for played in record.moves]
        text = "\n".join([record.black_name, record.white_name, record.start_time, record.initial_sfen])
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass") + moves.tobytes(), digest_size=8).hexdigest()
        return cls(
            record.name, key, record.initial_sfen,
            Position.from_sfen(record.initial_sfen, allow_missing_king=True).turn, moves, np.array(scores, np.int32),
            (record.black_name or "Black", record.white_name or "White"),
            _POINTS.get(record.result), record.termination in _DECIDED,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.moves)

    def score(self, ply: int) -> int | None:
        """The score that was said with the move after `ply` moves, from Black's side."""
        found = int(self.scores[ply])
        return None if found == _NONE else found

    @property
    def has_both_scores(self) -> bool:
        """True if each side has a score."""
        return all(bool((self.scores[side::2] != _NONE).any()) for side in (0, 1))

    def turn(self, ply: int) -> Color:
        """The side to move after `ply` moves."""
        return self.first if ply % 2 == 0 else self.first.opponent

    def player(self, ply: int) -> str:
        """Who moves after `ply` moves."""
        return self.players[0 if self.turn(ply) == BLACK else 1]

    def replay(self) -> Iterator[Position]:
        """The positions before each move and after the last one; each is the same object."""
        position = Position.from_sfen(self.initial_sfen, allow_missing_king=True)
        yield position
        for raw in self.moves.tolist():
            position.push(Move.from_raw(raw))
            yield position

    def at(self, plies: Mapping[int, tuple[View | None, View | None]]) -> list[GamePosition]:
        """The positions after some numbers of moves, in order, with what a and b think of them."""
        last, opening, lines = max(plies, default=0), "", dict[int, str]()
        for ply, position in enumerate(self.replay()):
            if ply <= OPENING_PLIES:
                opening = position.sfen().rpartition(" ")[0]
            if ply in plies:
                lines[ply] = position.usi()
            if ply >= max(last, OPENING_PLIES):
                break
        return [
            GamePosition(
                game=self.name,
                game_key=self.key,
                opening=hashlib.blake2b(opening.encode(), digest_size=8).hexdigest(),
                line=lines[ply],
                ply=ply,
                played=Move.from_raw(int(self.moves[ply])).usi() if ply < len(self) else None,
                black_points=self.points,
                a=plies[ply][0],
                b=plies[ply][1],
            )
            for ply in sorted(plies)
        ]


def _score(score_cp: int | None, mate: int | None) -> int:
    if mate:
        return MATE_CP if mate > 0 else -MATE_CP
    return _NONE if score_cp is None else max(-MATE_CP, min(MATE_CP, score_cp))


@dataclass(slots=True)
class Outcomes:
    """The scores of a player with the results of the games."""

    counts: Counter[tuple[str, int, int]] = field(default_factory=Counter[tuple[str, int, int]])
    """By opponent, score and half points, the last two of the side to move."""

    def add(self, opponent: str, score_cp: int, half_points: int) -> None:
        """Count a score; a mate does not count."""
        if abs(score_cp) < MATE_CP:
            self.counts[opponent, max(-LARGEST_CP, min(LARGEST_CP, score_cp)), half_points] += 1

    def scale(self) -> float | None:
        """Centipawns `a` of the logistic model with the win rate 1 / (1 + exp(-(score / a + strength))), by maximum
        likelihood; the strength beside each opponent is fitted too, and left out of win rates.

        None: there are too few scores, or higher ones do not win more often.
        """
        if self.counts.total() < LEAST_SCORES:
            return None
        names = {name: number for number, name in enumerate(sorted({name for name, _, _ in self.counts}), 1)}
        rows = np.zeros((len(self.counts), len(names) + 1))
        points, weights = np.zeros(len(rows)), np.zeros(len(rows))
        for number, ((name, score, half), count) in enumerate(sorted(self.counts.items())):
            rows[number, 0], rows[number, names[name]] = score / EVAL_SCALE, 1.0
            points[number], weights[number] = half / 2, count
        slope = float(_logistic(rows, points, weights)[0])
        return EVAL_SCALE / slope if slope > LEAST_SLOPE else None


def _logistic(rows: NDArray[np.float64], points: NDArray[np.float64], weights: NDArray[np.float64]) -> Floats:
    """Coefficients of a logistic model by Newton's method, with a small ridge: one game each at even odds."""
    found = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        expected = 1 / (1 + np.exp(-rows @ found))
        gradient = rows.T @ (weights * (points - expected)) - found
        curvature = (rows * (weights * expected * (1 - expected))[:, None]).T @ rows + np.eye(len(found))
        step = np.linalg.solve(curvature, gradient)
        found = found + step / max(1.0, float(np.abs(step).max()))
        if float(np.abs(step).max()) < PRECISION:
            break
    return found


Scales = Mapping[str, float]
"""Centipawns in the win rate of each player, 1 / (1 + exp(-score / scale)); missing where it cannot be fitted."""


def scale_of(scales: Scales, player: str) -> float:
    """The scale of a player; dlshogi's 756 where it cannot be fitted."""
    return scales.get(player, EVAL_SCALE)


def fitted(outcomes: Mapping[str, Outcomes]) -> dict[str, float]:
    """The scales of players that can be fitted."""
    found = {name: each.scale() for name, each in sorted(outcomes.items())}
    return {name: round(scale, 1) for name, scale in found.items() if scale is not None}


def scales_of_games(games: Iterable[ScoredGame]) -> dict[str, float]:
    """The scales of the players of games, by the scores that they say and the results."""
    outcomes: dict[str, Outcomes] = {}
    for game in games:
        if game.points is None:
            continue
        for ply in np.flatnonzero(game.scores != _NONE).tolist():
            sign = 1 if game.turn(ply) == BLACK else -1
            half = round(2 * (game.points if sign == 1 else 1 - game.points))
            outcomes.setdefault(game.player(ply), Outcomes()).add(
                game.player(ply + 1), sign * int(game.scores[ply]), half
            )
    return fitted(outcomes)


# --------------------------------------------------------------------------------------------------- the rules


def candidates(game: ScoredGame, settings: DisagreementSettings, scales: Scales) -> tuple[int, list[GamePosition]]:
    """The positions of a game that its scores show by the settings' rule: their number, and those with the largest
    gaps, up to `per_game`, in order.

    a and b are the players in the order of their names, whoever moves.
    """
    if not game.has_both_scores:
        return 0, []
    rules = {Rule.SCORES: _by_gap, Rule.MARGIN: _by_margin, Rule.WINNER: _by_winner}
    found = {
        ply: _views(game, ply, scales)
        for ply in rules[settings.way](game, settings, scales)
        if settings.min_ply <= ply <= settings.max_ply
    }
    largest = sorted(found, key=lambda ply: (-abs(logit(found[ply][0].win_rate) - logit(found[ply][1].win_rate)), ply))
    return len(found), game.at({ply: found[ply] for ply in largest[: settings.per_game or None]})


def _views(game: ScoredGame, ply: int, scales: Scales) -> tuple[View, View]:
    """The score with the move before a position, and that with the move after it."""
    sign = 1 if game.turn(ply) == BLACK else -1
    views: list[View] = []
    for at in (ply - 1, ply):
        player, score = game.player(at), sign * int(game.scores[at])
        rate = win_rate_of(score, scale_of(scales, player))
        move = Move.from_raw(int(game.moves[ply])).usi() if at == ply else None
        views.append(View(player=player, score_cp=score, win_rate=rate, move=move))
    if views[0].player > views[1].player or (views[0].player == views[1].player and ply % 2):
        views.reverse()
    return views[0], views[1]


def _pairs(game: ScoredGame) -> Iterator[tuple[int, int, int]]:
    """Plies from 1 on with the score before the position and the one after it, from Black's side."""
    for ply in range(1, len(game)):
        before, after = game.score(ply - 1), game.score(ply)
        if before is not None and after is not None:
            yield ply, before, after


def _by_gap(game: ScoredGame, settings: DisagreementSettings, scales: Scales) -> Iterator[int]:
    for ply, before, after in _pairs(game):
        if max(abs(before), abs(after)) >= MATE_CP:
            continue
        one, other = (
            logit(win_rate_of(score, scale_of(scales, game.player(at))))
            for score, at in ((before, ply - 1), (after, ply))
        )
        if abs(one - other) >= settings.gap:
            yield ply


def _by_margin(game: ScoredGame, settings: DisagreementSettings, scales: Scales) -> Iterator[int]:
    """From the first ply where the two do not agree and differ enough, to the first where they agree."""
    del scales
    if not game.is_decided:
        return
    margin, has_begun = settings.margin_cp, False
    for ply, before, after in _pairs(game):
        agree = min(before, after) >= margin or max(before, after) <= -margin
        has_begun = has_begun or (not agree and abs(after - before) > settings.least_difference_cp)
        if has_begun:
            yield ply
            if agree:
                return


def _by_winner(game: ScoredGame, settings: DisagreementSettings, scales: Scales) -> Iterator[int]:
    """The loser's positions from the ply where the winner alone sees that it wins, until the loser sees it too."""
    del scales
    if not game.is_decided or game.points not in (0.0, 1.0):
        return
    winner = BLACK if game.points == 1.0 else BLACK.opponent
    sign = 1 if winner == BLACK else -1
    for ply, before, after in _pairs(game):
        is_winners = game.turn(ply) == winner
        won, lost = (sign * s for s in ((after, before) if is_winners else (before, after)))
        if not (won > 0 > lost and won - lost > settings.least_difference_cp):
            continue
        first = ply if is_winners else ply + 1
        said = [score for at in range(first, len(game), 2) if (score := game.score(at)) is not None]
        if not said or sign * said[0] <= AGREED_CP or min(sign * s for s in said) < KEPT * sign * said[0]:
            continue
        for at in range(ply if not is_winners else ply + 1, len(game), 2):
            score = game.score(at)
            if score is None or sign * score > AGREED_CP:
                return
            if game.score(at - 1) is not None:
                yield at
        return


# ------------------------------------------------------------------------------------------------ without scores


def sample(games: Iterable[ScoredGame], settings: DisagreementSettings) -> list[GamePosition]:
    """Positions of games to search: of each game up to `per_game`, chosen by the seed, none of them twice.

    Positions with one legal move are left out, repeated ones, and those without a king. A line without a result, as in
    lists of positions, gives its last position.
    """
    seen: set[str] = set()
    found: list[GamePosition] = []
    for game in games:
        if game.points is None and not game.has_both_scores:
            plies = [len(game)]
        else:
            plies = list(range(settings.min_ply, min(settings.max_ply, len(game) - 1) + 1))
        plies.sort(key=lambda ply: share(f"{settings.seed} {game.key} {ply}"))
        chosen = _fitting(game, plies, settings.per_game or max(1, len(plies)), seen)
        found += game.at(dict.fromkeys(chosen, (None, None)))
    return found


def _fitting(game: ScoredGame, plies: Sequence[int], most: int, seen: set[str]) -> list[int]:
    """The first `most` of the plies whose positions are usable and were not seen before."""
    chosen: list[int] = []
    for begin in range(0, len(plies), 2 * most):  # a replay looks at no more of them than necessary
        part = plies[begin : begin + 2 * most]
        keys = dict[int, str]()
        for ply, position in enumerate(game.replay()):
            if ply in part and is_usable(position):
                keys[ply] = position.sfen().rpartition(" ")[0]
            if ply == max(part):
                break
        for ply in part:
            if len(chosen) < most and ply in keys and keys[ply] not in seen:
                seen.add(keys[ply])
                chosen.append(ply)
        if len(chosen) == most:
            break
    return chosen


def is_usable(position: Position) -> bool:
    """True if a position has both kings, repeats no other, and the side to move has a choice."""
    try:
        encode_hcp(position)
    except ShogiError:
        return False
    return len(position.legal_moves) > 1 and position.repetition() is Repetition.NONE


def share(text: str) -> float:
    """A number from 0 to 1 that depends on a text alone."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) / 2**64
