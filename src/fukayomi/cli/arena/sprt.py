"""``fukayomi sprt``: the sequential test and the strength of one player against another, by counts or by games."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.arena.statistics.intervals import Strength, WinRate, estimate_strength, win_rate
from fukayomi.arena.statistics.sprt import SprtDecision, SprtModel, SprtSettings, SprtStatus
from fukayomi.cli.common.errors import fail, user_errors
from fukayomi.cli.common.options import AsJson
from fukayomi.cli.common.text import json_text, printable

if TYPE_CHECKING:
    from fukayomi.arena.results.pairs import HeadToHead
    from fukayomi.arena.statistics.sequential_elo import SequentialElo


def sprt(
    counts: Annotated[
        list[int] | None,
        typer.Argument(
            min=0,
            metavar="[COUNTS]...",
            help="Losses, draws and wins of the first player; or pairs of games by its points, five numbers: "
            "0 (LL), 1/2 (LD), 1 (LW or DD), 3/2 (DW), 2 (WW).",
        ),
    ] = None,
    elo0: Annotated[float, typer.Option(help="H0: the first player is stronger by so much.")] = 0.0,
    elo1: Annotated[float, typer.Option(help="H1: it is stronger by so much.")] = 10.0,
    alpha: Annotated[float, typer.Option(help="How often H1 may be accepted where H0 is true.")] = 0.05,
    beta: Annotated[float, typer.Option(help="How often H0 may be accepted where H1 is true.")] = 0.05,
    model: Annotated[SprtModel, typer.Option(help="The scale of elo0 and elo1.")] = SprtModel.NORMALIZED,
    games: Annotated[
        Path | None, typer.Option(metavar="DIR|FILE", help="Count a match's games instead: its folder, match.db, PGN.")
    ] = None,
    players: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Whose games; A is the first player. By default the only two there are."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Test whether one player is stronger than another, and say by how much.

    fukayomi sprt 40 20 60 · fukayomi sprt 5 20 60 25 10 --elo1 5 · fukayomi sprt --games DIR --players new old

    The log-likelihood ratio (LLR) is exact and depends on the counts alone. A match is stopped when it first passes a
    bound. Errors and intervals are of 95 %. The Elo of a match that the test itself stopped is a little too far out;
    "if the test stopped it" corrects this (on the logistic scale).

    With --games, pairs are the two games of an opening with swapped colours, and only complete ones count. A game that
    crashed, stalled, broke the protocol or was interrupted does not complete a pair; a loss on time or by an illegal
    move is a loss. A source that does not number its pairs (PGN, records) is counted in single games.
    """
    from fukayomi.arena.statistics.sequential_elo import estimate_sequential_elo

    with user_errors():
        settings = SprtSettings(elo0, elo1, alpha, beta, model)
        duel = None
        if games is not None and not counts:
            duel = _read_duel(games, players)
            counts = list(duel.pairs if duel.has_pairs else duel.results)
        elif counts is None or games is not None or players is not None:
            fail("either COUNTS are needed, or --games (and --players)", 2)
        result, strength = settings.evaluate(counts), estimate_strength(counts)
        stopped = estimate_sequential_elo(counts, settings)
    single = counts if len(counts) == 3 else duel.paired_results if duel else None
    rate = win_rate(single[2], single[0], single[1]) if single else None
    if as_json:
        typer.echo(json_text(_as_json(settings, result, counts, strength, stopped, rate, duel)))
    else:
        for line in _report(settings, result, counts, strength, stopped, rate, duel):
            typer.echo(line)


def _read_duel(path: Path, players: tuple[str, str] | None) -> "HeadToHead":
    """The games of two players; of the only two if none are named.

    Raises:
        ValueError: The source has no game, no such player, or players to choose from.
    """
    from fukayomi.arena.results.pairs import count_head_to_head
    from fukayomi.arena.results.sources import read_games

    found = list(read_games([path], lambda problem: typer.echo(f"skipped {printable(problem)}", err=True)))
    names = list(dict.fromkeys(name for game in found for name in (game.black, game.white)))
    listed = ", ".join(names)
    if players is None:
        if len(names) != 2:
            raise ValueError(f"--players must name two of {listed}")
        players = (names[0], names[1])
    for player in players:
        if player not in names:
            raise ValueError(f"no game of {player!r} in {path}; there are {listed}")
    if players[0] == players[1]:
        raise ValueError(f"--players must name two, not {players[0]!r} twice")
    return count_head_to_head(found, *players)


def _report(
    settings: SprtSettings, result: SprtStatus, counts: list[int], strength: Strength,
    stopped: "SequentialElo | None", rate: WinRate | None, duel: "HeadToHead | None",
) -> list[str]:  # fmt: skip
    """The lines for people, in the manner of fastchess."""
    lines: list[str] = []
    if duel is not None:
        lines.append(f"{printable(duel.first)} vs {printable(duel.second)}")
        if duel.failed or (duel.has_pairs and duel.single):
            lines.append(f"Left out: {duel.failed} games that failed, {duel.single} without the other of their pair")
    if strength.score is None:
        lines.append("Elo: unknown, no game counts")
    else:
        lines += _strength_lines(counts, strength)
        lines.append(_games_line(strength, rate))
    if rate is not None:
        lines.append(f"Win rate: {rate}, draws left out")
    if len(counts) == 5:
        ratio = ""
        if duel is not None:
            ratio = f", WL/DD Ratio: {_ratio(counts[2] - duel.drawn_pairs, duel.drawn_pairs)}"
        lines.append(f"Ptnml(0-2): [{', '.join(map(str, counts))}]{ratio}")
    bound = result.upper if result.llr >= 0 else -result.lower
    lines.append(
        f"LLR: {result.llr:.2f} ({result.llr / bound:.1%}) ({result.lower:.2f}, {result.upper:.2f}) "
        f"[{settings.elo0:.2f}, {settings.elo1:.2f}] {settings.model.value}"
    )
    lines.append(_decision_line(settings, result))
    if stopped is not None and result.decision is not SprtDecision.CONTINUE:
        span = f"[{stopped.low:.2f}, {stopped.high:.2f}]"
        lines.append(f"Elo if the test stopped it: {stopped.elo:.2f} {span}, LOS: {stopped.los * 100:.2f} %")
    return lines


def _strength_lines(counts: list[int], strength: Strength) -> list[str]:
    if strength.elo_error is None or strength.nelo_error is None:
        first = f"Elo: {strength.elo:.2f}, nElo: {strength.nelo:.2f} (all results are the same: no error can be told)"
    else:
        first = (
            f"Elo: {strength.elo:.2f} +/- {strength.elo_error:.2f}, "
            f"nElo: {strength.nelo:.2f} +/- {strength.nelo_error:.2f}"
        )
    middle = len(counts) // 2
    second = f"LOS: {strength.los * 100:.2f} %, DrawRatio: {counts[middle] / sum(counts) * 100:.2f} %"
    if strength.pairs is not None:
        second += f", PairsRatio: {_ratio(sum(counts[middle + 1 :]), sum(counts[:middle]))}"
    return [first, second]


def _games_line(strength: Strength, rate: WinRate | None) -> str:
    score = strength.score or 0.0
    single = f", Wins: {rate.wins}, Losses: {rate.losses}, Draws: {rate.draws}" if rate is not None else ""
    points = f"{score * strength.games:.1f} ({score * 100:.2f} %, a draw is half)"
    return f"Games: {strength.games}{single}, Points: {points}"


def _ratio(above: int, below: int) -> str:
    return f"{above / below:.2f}" if below else "-"


def _decision_line(settings: SprtSettings, result: SprtStatus) -> str:
    match result.decision:
        case SprtDecision.H0:
            return f"H0 accepted: the difference is rather {settings.elo0:g} than {settings.elo1:g}"
        case SprtDecision.H1:
            return f"H1 accepted: the difference is rather {settings.elo1:g} than {settings.elo0:g}"
        case SprtDecision.CONTINUE:
            return "Undecided: play on"


def _as_json(
    settings: SprtSettings, result: SprtStatus, counts: list[int], strength: Strength,
    stopped: "SequentialElo | None", rate: WinRate | None, duel: "HeadToHead | None",
) -> dict[str, Any]:  # fmt: skip
    found: dict[str, Any] = {
        "llr": result.llr, "lower": result.lower, "upper": result.upper, "decision": result.decision.value,
        "elo": strength.elo, "elo_error": strength.elo_error, "nelo": strength.nelo,
        "nelo_error": strength.nelo_error, "los": strength.los, "score": strength.score, "games": strength.games,
        "pairs": strength.pairs, "counts": counts, "elo0": settings.elo0, "elo1": settings.elo1,
        "alpha": settings.alpha, "beta": settings.beta, "model": settings.model.value,
    }  # fmt: skip
    found["stopped"] = asdict(stopped) if stopped is not None else None
    if rate is not None:
        found |= {
            "wins": rate.wins, "losses": rate.losses, "draws": rate.draws, "win_rate": rate.rate,
            "win_rate_low": rate.low, "win_rate_high": rate.high,
        }  # fmt: skip
    if duel is not None:
        found |= {
            "players": [duel.first, duel.second], "failed_games": duel.failed,
            "unpaired_games": duel.single if duel.has_pairs else 0,
        }  # fmt: skip
    return found
