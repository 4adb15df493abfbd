"""Who was right: games that are played on from disagreements, in pairs with colours swapped."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot
from pathlib import Path

from fukayomi.arena.game.openings import Opening, OpeningError, check_playable
from fukayomi.arena.game.rules import Tournament
from fukayomi.arena.match.play import play_match
from fukayomi.arena.match.state import MatchResult
from fukayomi.arena.results.game import Game, is_forfeit
from fukayomi.arena.statistics.intervals import score_interval
from fukayomi.disagreement.model import Disagreement, Verdict, gap_of, halfway
from fukayomi.disagreement.searching import NAMES
from fukayomi.disagreement.settings import DisagreementError, DisagreementSettings, PlayerSettings
from fukayomi.listener import Listener
from fukayomi.shogi import BLACK, Move, Position
from fukayomi.shogi.record import Result
from fukayomi.usi.engine import UsiEngine

SPREAD = 0.1
"""Step between the node limits of games from the same position, so that they differ."""
ONE_PLAYER = 0.5
"""Share of pairs in which one player won both games, above which an unresolved position is volatile."""
_HALF_POINTS = {Result.BLACK_WIN: 2, Result.DRAW: 1, Result.WHITE_WIN: 0}


def judge(
    found: Sequence[Disagreement],
    players: tuple[PlayerSettings, PlayerSettings],
    settings: DisagreementSettings,
    folder: Path,
    *,
    concurrency: int,
    listener: Listener,
) -> list[Disagreement]:
    """Play on from disagreements, and say who was right. A kill costs the games in progress.

    The players have the limits of their first searches; players that are the same but for the limit both have the
    larger one. Node limits of games from one position differ by a tenth each, so that the games differ.

    Where the win rates differ by `gap`, the games begin at the position; where only moves differ, after each of them.
    Games that are lost on time, by an illegal move or by an engine's failure do not count. A position without games
    stays as it is.

    Args:
        found: The disagreements.
        players: a and b.
        settings: Pairs, and plies of the games.
        folder: Folder of the match.
        concurrency: Games at once.
        listener: Hears of the progress, and of games that do not count.

    Raises:
        ValueError: An engine does not work, or the folder has another match.
        OSError: A file cannot be written.
    """
    lines = {each.line: _openings(each, settings) for each in found}
    openings = [line for each in found for line in lines[each.line]]
    if not openings or not settings.pairs:
        return list(found)
    result = play_match(
        {name: _engine(player) for name, player in zip(NAMES, players, strict=True)},
        games=2 * settings.pairs * len(openings),
        clock=dict(zip(NAMES, _clocks(players, settings.pairs), strict=True)),
        openings=openings,
        folder=folder,
        concurrency=concurrency,
        tournament=Tournament.ROUND_ROBIN,
        rules={"max_plies": settings.max_plies},
        undeclared_options=False,
        restart=True,
        listener=listener,
    )
    if result.is_interrupted:
        raise KeyboardInterrupt
    if result.unplayed:
        raise DisagreementError(f"{folder}: {result.unplayed} games were not played; run the same again to play them")
    if left_out := sum(map(is_forfeit, result.games)):
        listener.note(f"{folder}: {left_out:,} of {len(result.games):,} games are forfeits and do not count")
    games = _by_opening(result, len(openings))
    judged: list[Disagreement] = []
    place = 0
    for each in found:
        count = len(lines[each.line])
        judged.append(_judged(each, games[place : place + count], settings) if count else each)
        place += count
    return judged


def _openings(found: Disagreement, settings: DisagreementSettings) -> list[str]:
    """Where the games begin; nowhere, if one of them would be over there."""
    lines = [found.line]
    if is_about_moves(found, settings):
        lines = _after_moves(found)
    try:
        for line in lines:
            check_playable(Opening.from_position(Position.from_usi(line)), settings.max_plies)
    except OpeningError:
        return []
    return lines


def _after_moves(found: Disagreement) -> list[str]:
    """The positions after a's move and after b's."""
    lines: list[str] = []
    for view in found.views:
        position = found.position()
        assert view is not None
        assert view.move is not None
        position.push(Move.from_usi(view.move))
        lines.append(position.usi())
    return lines


def is_about_moves(found: Disagreement, settings: DisagreementSettings) -> bool:
    """True if the moves differ, and the win rates do not."""
    a, b = found.views
    if a is None or b is None or a.move is None or b.move is None or a.move == b.move:
        return False
    return abs(gap_of((a, b))) < settings.gap


def _engine(player: PlayerSettings) -> UsiEngine:
    """The player as a USI engine."""
    if player.network is None:
        return UsiEngine(list(player.command), options=player.options, directory=player.directory)
    options = {"DNN_Model": player.network, "USI_Ponder": "false"} | player.options
    return UsiEngine([sys.executable, "-m", "fukayomi", "usi"], options=options)


def _clocks(players: tuple[PlayerSettings, PlayerSettings], pairs: int) -> list[str]:
    """The clocks of the match."""
    first, second = players
    are_same = first.changed(clock=second.clock) == second
    largest = max(player.clock.nodes[0] if player.clock.nodes else 0 for player in players)
    clocks: list[str] = []
    for number, player in enumerate(players):
        if not player.clock.nodes:
            clocks.append(player.clock.text())
            continue
        nodes = largest if are_same else player.clock.nodes[0]
        steps = [step + number / 2 for step in range(pairs)]  # b's lie between a's
        clocks.append("nodes=" + "/".join(str(round(nodes * (1 + SPREAD * step))) for step in steps))
    return clocks


def _by_opening(result: MatchResult, openings: int) -> list[list[Game]]:
    """The games from each opening, those of a pair next to each other, without forfeits. Pairs count from 1, and
    take the openings in turn."""
    found: list[list[Game]] = [[] for _ in range(openings)]
    for game in result.games:
        assert game.pair is not None
        if not is_forfeit(game):
            found[(game.pair - 1) % openings].append(game)
    return found


@dataclass(frozen=True, slots=True)
class _Score:
    """The points of the side to move at the disagreement, 0 to 1 a game."""

    mean: float
    low: float
    high: float
    games: int
    one_player: float
    """Share of the pairs in which one player won both games."""


def _score(games: Sequence[Game], *, for_black: bool) -> _Score:
    """The score of a side in games that are pairs. Games with the same moves are one game."""
    points = {game.name: _HALF_POINTS[game.result] for game in games}
    if not for_black:
        points = {name: 2 - half for name, half in points.items()}
    different = {game.moves: points[game.name] for game in games}
    counts = Counter(different.values())
    low, high = score_interval([counts[half] for half in (0, 1, 2)])
    pairs: dict[int | None, list[int]] = {}
    for game in games:
        pairs.setdefault(game.pair, []).append(points[game.name])
    one_player = sum(sorted(pair) == [0, 2] for pair in pairs.values()) / max(1, len(pairs))
    return _Score(sum(different.values()) / max(1, 2 * len(different)), low, high, len(different), one_player)


def _judged(found: Disagreement, games: Sequence[Sequence[Game]], settings: DisagreementSettings) -> Disagreement:
    if not all(games):
        return found
    for_black = found.position().turn == BLACK
    scores = [_score(each, for_black=for_black) for each in games]
    if not is_about_moves(found, settings):
        return _by_value(found, scores[0])
    return _by_moves(found, scores[0], scores[1])


def _by_value(found: Disagreement, score: _Score) -> Disagreement:
    """The win rate half-way between the two, in logits, decides: on which side of it the interval lies."""
    a, b = found.views
    assert a is not None
    assert b is not None
    middle = halfway(a.win_rate, b.win_rate)
    verdict = Verdict.UNRESOLVED
    if score.low > middle or score.high < middle:
        verdict = Verdict.A_BLIND if (score.low > middle) == (b.win_rate > a.win_rate) else Verdict.B_BLIND
    elif score.one_player > ONE_PLAYER:
        verdict = Verdict.VOLATILE
    return _with(found, verdict, score.games, score.mean, score.low, score.high)


def _by_moves(found: Disagreement, after_a: _Score, after_b: _Score) -> Disagreement:
    """The difference of the two scores decides; its interval is Newcombe's, from those of the scores
    (R. G. Newcombe, Statistics in Medicine 17, 1998, method 10)."""
    mean = after_a.mean - after_b.mean
    low = mean - hypot(after_a.mean - after_a.low, after_b.high - after_b.mean)
    high = mean + hypot(after_a.high - after_a.mean, after_b.mean - after_b.low)
    verdict = Verdict.UNRESOLVED
    if low > 0 or high < 0:
        verdict = Verdict.B_BLIND if low > 0 else Verdict.A_BLIND
    elif min(after_a.one_player, after_b.one_player) > ONE_PLAYER:
        verdict = Verdict.VOLATILE
    return _with(found, verdict, after_a.games + after_b.games, mean, low, high).model_copy(
        update={"is_about_moves": True}
    )


def _with(found: Disagreement, verdict: Verdict, games: int, score: float, low: float, high: float) -> Disagreement:
    return found.model_copy(update={"verdict": verdict, "games": games, "score": score, "low": low, "high": high})
