"""``fukayomi sprt``: the sequential test and the strength of one player against another, from counts or games."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.arena.statistics.sprt import SprtDecision, SprtSettings
from fukayomi.cli.common.errors import fail
from fukayomi.cli.common.options import AsJson, given_options, options_of
from fukayomi.cli.common.text import json_text, printable
from fukayomi.listener import Listener
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.arena.match.settings import MatchSettings
    from fukayomi.arena.results.sequential_test import SprtResult
    from fukayomi.arena.statistics.intervals import Strength


@options_of(SprtSettings, "elo0", "elo1", "alpha", "beta", "model", panel="Test")
class SprtOptions:
    """The hypotheses."""


@dataclass(frozen=True)
class GameOptions:
    """Games to count."""

    games: Annotated[Path | None, typer.Option(metavar="PATH")] = None
    """Count the games of a match folder, match.db, PGN or records instead."""
    players: Annotated[tuple[str, str] | None, typer.Option(metavar="A B", show_default="the only two players")] = None
    """Players to compare, A first."""


def sprt(
    test: SprtOptions,
    source: GameOptions,
    counts: Annotated[
        list[int] | None,
        typer.Argument(
            min=0,
            metavar="COUNTS",
            help="Losses, draws and wins of the first player; or five counts of game pairs by its points: "
            "0 (LL), 1/2 (LD), 1 (LW or DD), 3/2 (DW), 2 (WW).",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Test whether one player is stronger than another, and estimate by how much.

    \b
    fukayomi sprt 40 20 60
    fukayomi sprt 5 20 60 25 10 --elo1 5
    fukayomi sprt --games match/ --players new old

    The log-likelihood ratio (LLR) is exact and depends on the counts alone. Stop the match when it first passes a
    bound. Errors and intervals are 95 %. The plain Elo of a match that the test itself stopped is too extreme; the line
    "Elo if stopped by the test" corrects this (on the logistic scale).

    With --games, pairs are the two games of an opening with swapped colours, and only complete pairs count. A game that
    crashed, stalled, broke the protocol or was interrupted does not complete a pair; a loss on time or by an illegal
    move is a loss. Games from sources without pair numbers (PGN, records) count singly. A match that was played with
    --sprt brings its hypotheses and the order of its players, unless others are given.
    """
    from fukayomi.arena.results.sequential_test import evaluate_sprt, sprt

    if bool(counts) == (source.games is not None) or (source.players and source.games is None):
        fail("give either COUNTS, or --games (with --players)", 2)
    settings = given_options(test)
    if source.games is None:
        result = evaluate_sprt(counts or [], SprtSettings(**settings))
    else:
        match = _sequential_match(source.games)
        players = source.players
        if match is not None and match.sprt is not None:
            settings = match.sprt.model_dump() | settings
            players = players or (match.engines[0].name, match.engines[1].name)
        result = sprt(source.games, players=players, listener=_Skipped(), **settings)
    if as_json:
        typer.echo(json_text(_as_json(result)))
    else:
        for line in _report(result):
            typer.echo(line)


def _sequential_match(games: Path) -> "MatchSettings | None":
    """The settings of the match that a folder or match.db holds; None if it holds none."""
    from fukayomi.arena.match.store import DATABASE, read_settings

    return read_settings(games.parent if games.name == DATABASE else games)


class _Skipped(Listener):
    def note(self, text: str) -> None:
        typer.echo(f"skipped {printable(text)}", err=True)


def _report(result: "SprtResult") -> list[str]:
    """Lines in the format of fastchess."""
    settings, status, strength = result.settings, result.status, result.strength
    rate, found, counts = result.win_rate, result.head_to_head, result.counts
    lines: list[str] = []
    if found is not None:
        lines.append(f"{printable(found.first)} vs {printable(found.second)}")
        if found.failed or (found.has_pairs and found.single):
            lines.append(
                f"Left out: {counted(found.failed, 'failed game')}, {counted(found.single, 'game')} of incomplete pairs"
            )
    if strength.score is None:
        lines.append("Elo: unknown, no game counts")
    else:
        lines += _strength_lines(result.counts, strength)
        lines.append(_games_line(result))
    if rate is not None:
        lines.append(f"Win rate: {rate}, draws left out")
    if len(counts) == 5:
        ratio = ""
        if found is not None:
            ratio = f", WL/DD Ratio: {_ratio(counts[2] - found.drawn_pairs, found.drawn_pairs)}"
        lines.append(f"Ptnml(0-2): [{', '.join(map(str, counts))}]{ratio}")
    bound = status.upper if status.llr >= 0 else -status.lower
    lines.append(
        f"LLR: {status.llr:.2f} ({status.llr / bound:.1%}) ({status.lower:.2f}, {status.upper:.2f}) "
        f"[{settings.elo0:.2f}, {settings.elo1:.2f}] {settings.model.value}"
    )
    lines.append(_decision_line(settings, status.decision))
    elo = result.sequential_elo
    if elo is not None and status.decision is not SprtDecision.CONTINUE:
        lines.append(
            f"Elo if stopped by the test: {elo.elo:.2f} [{elo.low:.2f}, {elo.high:.2f}], LOS: {elo.los * 100:.2f} %"
        )
    return lines


def _strength_lines(counts: tuple[int, ...], strength: "Strength") -> list[str]:
    if strength.elo_low is None or strength.elo_high is None:
        end = f"above {strength.elo_low:.2f}" if strength.elo_low is not None else f"below {strength.elo_high:.2f}"
        elo = f"{end} (95 %)"
    else:
        elo = f"{strength.elo:.2f} +/- {strength.elo_error:.2f}"
    nelo = f" +/- {strength.nelo_error:.2f}" if strength.nelo_error is not None else " (all results are the same)"
    first = f"Elo: {elo}, nElo: {strength.nelo:.2f}{nelo}"
    middle = len(counts) // 2
    second = f"LOS: {strength.los * 100:.2f} %, DrawRatio: {counts[middle] / sum(counts) * 100:.2f} %"
    if strength.pairs is not None:
        second += f", PairsRatio: {_ratio(sum(counts[middle + 1 :]), sum(counts[:middle]))}"
    return [first, second]


def _games_line(result: "SprtResult") -> str:
    strength, rate = result.strength, result.win_rate
    score = strength.score or 0.0
    single = f", Wins: {rate.wins}, Losses: {rate.losses}, Draws: {rate.draws}" if rate is not None else ""
    interval = f"95 %: {strength.score_low * 100:.2f} to {strength.score_high * 100:.2f} %"
    points = f"{score * strength.games:.1f} ({score * 100:.2f} %, a draw is half; {interval})"
    return f"Games: {strength.games}{single}, Points: {points}"


def _ratio(above: int, below: int) -> str:
    return f"{above / below:.2f}" if below else "-"


def _decision_line(settings: SprtSettings, decision: SprtDecision) -> str:
    match decision:
        case SprtDecision.H0:
            return f"H0 accepted: the difference is closer to {settings.elo0:g} than to {settings.elo1:g}"
        case SprtDecision.H1:
            return f"H1 accepted: the difference is closer to {settings.elo1:g} than to {settings.elo0:g}"
        case SprtDecision.CONTINUE:
            return "Undecided: play on"


def _as_json(result: "SprtResult") -> dict[str, Any]:
    settings, status, strength = result.settings, result.status, result.strength
    document: dict[str, Any] = {
        "llr": status.llr, "lower": status.lower, "upper": status.upper, "decision": status.decision.value,
        "elo": strength.elo, "elo_error": strength.elo_error, "elo_low": strength.elo_low,
        "elo_high": strength.elo_high, "nelo": strength.nelo, "nelo_error": strength.nelo_error, "los": strength.los,
        "score": strength.score, "score_low": strength.score_low, "score_high": strength.score_high,
        "games": strength.games,
        "pairs": strength.pairs, "counts": result.counts, "elo0": settings.elo0, "elo1": settings.elo1,
        "alpha": settings.alpha, "beta": settings.beta, "model": settings.model.value,
    }  # fmt: skip
    document["stopped"] = asdict(result.sequential_elo) if result.sequential_elo is not None else None
    if (rate := result.win_rate) is not None:
        document |= {
            "wins": rate.wins, "losses": rate.losses, "draws": rate.draws, "win_rate": rate.rate,
            "win_rate_low": rate.low, "win_rate_high": rate.high,
        }  # fmt: skip
    if (found := result.head_to_head) is not None:
        document |= {
            "players": [found.first, found.second], "failed_games": found.failed,
            "unpaired_games": found.single if found.has_pairs else 0,
        }  # fmt: skip
    return document
