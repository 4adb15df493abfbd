"""The result of a match as the JSON document of ``fukayomi match --json``."""

from dataclasses import asdict
from typing import Any

from fukayomi.arena.match.state import MatchResult, MatchState
from fukayomi.arena.results.diversity import Diversity, Variety
from fukayomi.arena.results.game import MatchScore, by_name
from fukayomi.arena.results.head_to_head import Meeting, PlayerStanding
from fukayomi.arena.results.match_db import DATABASE
from fukayomi.arena.results.match_files import GAMES, LOGS, PGN
from fukayomi.arena.statistics.intervals import Strength
from fukayomi.arena.statistics.move_times import MoveTimes, Times
from fukayomi.shogi import BLACK, WHITE


def summarize(result: MatchResult) -> dict[str, Any]:
    """Summarise the whole match, the games of earlier runs included, as plain values."""
    state = result.state
    return {
        "games": state.played,
        "scheduled": state.played + result.unplayed,
        "unplayed": result.unplayed,
        "interrupted": result.is_interrupted,
        **summarize_state(state),
        "diversity": _diversity(result.diversity),
        "paths": {
            "database": str(state.folder / DATABASE),
            "records": str(state.folder / GAMES),
            "pgn": str(state.folder / PGN),
            "logs": str(state.folder / LOGS) if state.settings.log else None,
        },
    }


def summarize_state(state: MatchState) -> dict[str, Any]:
    """Summary of a match's games so far, as plain values: the part of `summarize` that does not need moves."""
    standings = state.standings
    return {
        "players": [_player(player, state) for player in standings.players.values()],
        "pairs": [_meeting(meeting) for meeting in standings.meetings()],
        "first_mover": _score(standings.first_mover),
        "terminations": {str(ending): count for ending, count in standings.terminations.most_common()},
        "failures": [{"game": number, **asdict(failure)} for number, failure in state.failures],
        "forfeit_warnings": standings.warnings(),
        "left_out": sorted(state.left_out),
        "warnings": state.warnings,
        "sprt": _sprt(state),
    }


def _player(player: PlayerStanding, state: MatchState) -> dict[str, Any]:
    strength, times = player.counts.strength(), state.times.get(player.name, MoveTimes())
    return {
        "name": player.name,
        **_score(player.total),
        **_elo(strength),
        "as_black": _score(player.by_color[BLACK]),
        "as_white": _score(player.by_color[WHITE]),
        "failures": sum(failure.engine == player.name for _, failure in state.failures),
        "forfeits": by_name(player.forfeits),
        "rests_on_forfeits": player.rests_on_forfeits,
        "without_forfeits": _elo(player.clean_counts.strength()) | {"games": sum(player.clean_counts.games)},
        "time": _times(times.used()),
        "overhead": _times(times.overhead()),
    }


def _times(times: Times | None) -> dict[str, Any] | None:
    return None if times is None else {name: rounded(value, 1) for name, value in asdict(times).items()}


def _meeting(meeting: Meeting) -> dict[str, Any]:
    return {
        "first": meeting.first,
        "second": meeting.second,
        **_score(meeting.score),
        "pentanomial": meeting.counts.pairs,
        **_strength(meeting.counts.strength()),
        "without_forfeits": _elo(meeting.clean_counts.strength()) | {"games": sum(meeting.clean_counts.games)},
    }


def _score(score: MatchScore) -> dict[str, Any]:
    return {
        "games": score.games,
        "wins": score.wins,
        "losses": score.losses,
        "draws": score.draws,
        "score": rounded(score.rate, 6),
    }


def _strength(strength: Strength) -> dict[str, Any]:
    return {
        **_elo(strength),
        "nelo": rounded(strength.nelo, 2),
        "nelo_error": rounded(strength.nelo_error, 2),
        "los": rounded(strength.los, 6),
    }


def _elo(strength: Strength) -> dict[str, Any]:
    return {
        "elo": rounded(strength.elo, 2),
        "elo_error": rounded(strength.elo_error, 2),
        "elo_low": rounded(strength.elo_low, 2),
        "elo_high": rounded(strength.elo_high, 2),
        "score_low": rounded(strength.score_low, 6),
        "score_high": rounded(strength.score_high, 6),
    }


def _sprt(state: MatchState) -> dict[str, Any] | None:
    settings, result = state.settings.sprt, state.sprt()
    if settings is None or result is None:
        return None
    found = dict(settings) | asdict(result)
    return found | {"model": str(settings.model), "decision": str(result.decision)}


def _diversity(diversity: Diversity) -> dict[str, Any]:
    return {
        "ply": diversity.ply,
        **_variety(diversity.total),
        "players": [{"name": name, **_variety(variety)} for name, variety in sorted(diversity.by_player.items())],
        "warnings": diversity.warnings,
    }


def _variety(variety: Variety) -> dict[str, Any]:
    return asdict(variety) | {"share": rounded(variety.share, 6)}


def rounded(value: float | None, digits: int) -> float | None:
    """Round a number; None stays None, and there is no -0.0."""
    return None if value is None else round(value, digits) + 0.0
