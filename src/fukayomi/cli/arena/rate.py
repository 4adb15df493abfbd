"""``fukayomi rate``: how strong the players of a match, a league or a heap of records are."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.cli.common.errors import INTERRUPTED, fail, user_errors
from fukayomi.cli.common.options import AsJson
from fukayomi.cli.common.problems import print_problems
from fukayomi.cli.common.text import json_text

if TYPE_CHECKING:
    from fukayomi.arena.ratings.options import RatingOptions
    from fukayomi.arena.ratings.rating import PlayerRating, Ratings
    from fukayomi.arena.results.game_tally import GameTally

FARTHEST_ANCHOR = 100_000  # points from 0

Sources = Annotated[
    list[Path],
    typer.Argument(metavar="SOURCE...", help="A match's folder or match.db, PGN, records, folders, zip or tar."),
]
Average = Annotated[float | None, typer.Option(help="The players' average.", show_default="0")]
Anchor = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=R", help="Hold this player at R instead of an average. May be given several times."),
]
Hide = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Count this player's games, but do not list it. May be given several times."),
]
Pairs = Annotated[bool, typer.Option("--pairs", help="Rate each two players by their own games alone too.")]
FirstMover = Annotated[
    bool, typer.Option("--first-mover/--no-first-mover", help="Estimate what the first move is worth, or take 0.")
]
ByResults = Annotated[
    bool,
    typer.Option("--by-results", help="Make the wins, draws and losses the likeliest, not the points (Ordo's -M)."),
]
Bayes = Annotated[
    bool, typer.Option("--bayes", help="Show ratings by BayesElo's model, with its prior, beside the others.")
]
Scale = Annotated[float, typer.Option(help="How many points ahead promise a score of 76 %.")]
Confidence = Annotated[float, typer.Option(help="Of the errors, in percent.")]
Simulations = Annotated[
    int, typer.Option(min=0, max=1_000_000, help="Replays that give the errors and CFS; 0 for neither.")
]
Seed = Annotated[int, typer.Option(min=0, help="Of the simulations: equal seeds give equal errors.")]
Matrix = Annotated[
    Path | None, typer.Option(metavar="FILE.csv", help="Write how certain it is that each player beats each other.")
]


def rate(
    sources: Sources,
    average: Average = None,
    anchor: Anchor = None,
    hide: Hide = None,
    pairs: Pairs = False,
    first_mover: FirstMover = True,
    by_results: ByResults = False,
    bayes: Bayes = False,
    scale: Scale = 202.0,
    confidence: Confidence = 95.0,
    simulations: Simulations = 1000,
    seed: Seed = 0,
    matrix: Matrix = None,
    as_json: AsJson = False,
) -> None:
    """Rate players by their games, as Ordo does.

    fukayomi rate match/ · fukayomi rate games.pgn --anchor suisho5=4200 · fukayomi rate 2026.zip --pairs --hide book

    Ratings are those of maximum likelihood: with them, and with what the first move is worth, everybody is expected to
    score what he scored. A draw is half a point. ERROR and CFS (how certain a player is stronger than the next) come
    from playing the same schedule again, by chance; errors are relative to the average or, with anchors, to these.

    Choose --by-results where most games are drawn: it heeds what the model of draws (docs/ratings.md) tells of
    strength, for smaller errors if that model is right. By points no rating depends on it.

    A game that several sources hold counts as often, except that of a match's folder only the database is read, and
    of a.csa and a.kif the first.

    Games without a result, or broken off by a crash, stall or interruption, are left out and counted. A player who won
    (>) or lost (<) everything has no likeliest rating and is placed where that had an even chance. White is who moves
    first (先手), as in PGN. In --json all figures are those of the table, rates in percent.
    """
    from fukayomi.arena.ratings.options import RatingOptions

    if average is not None and anchor:
        raise typer.BadParameter("players that are anchored leave no average to choose", param_hint="--average")
    _check_numbers(scale, confidence)
    options = RatingOptions(
        average=average or 0.0,
        anchors=_parse_anchors(anchor or []),
        hidden=frozenset(hide or []),
        first_mover_advantage=None if first_mover else 0.0,
        scale=scale,
        by_results=by_results,
        confidence=confidence,
        bayes=bayes,
        simulations=simulations,
        seed=seed,
    )
    problems: list[str] = []
    try:
        with user_errors():
            _rate(sources, options, problems, pairs=pairs, matrix=matrix, as_json=as_json)
    except KeyboardInterrupt:
        fail("stopped", INTERRUPTED)


def _check_numbers(scale: float, confidence: float) -> None:
    if not 0 < scale < math.inf:
        raise typer.BadParameter(f"{scale} is no number above 0", param_hint="--scale")
    if not 0 < confidence < 100:
        raise typer.BadParameter(f"{confidence} is not between 0 and 100", param_hint="--confidence")


def _rate(
    sources: Sequence[Path],
    options: "RatingOptions",
    problems: list[str],
    *,
    pairs: bool,
    matrix: Path | None,
    as_json: bool,
) -> None:
    from fukayomi.arena.ratings.rating import rate as rate_players
    from fukayomi.arena.ratings.rating import rate_pairs
    from fukayomi.arena.ratings.table import write_table
    from fukayomi.arena.results.game_tally import tally_games
    from fukayomi.arena.results.sources import read_games
    from fukayomi.files.atomic import replace_file

    league = tally_games(read_games(sources, problems.append))
    ratings = rate_players(league.tally, options)
    pair_ratings = rate_pairs(league.tally, options) if pairs else []
    if matrix is not None:
        replace_file(matrix, _matrix(ratings).encode())
    if as_json:
        typer.echo(json_text(_as_json(ratings, pair_ratings if pairs else None, league, problems)))
        return
    print_problems(problems)
    typer.echo(write_table(ratings), nl=False)
    typer.echo(_account(league))
    if pair_ratings:
        typer.echo("\nEach two players alone:")
    for pair in pair_ratings:
        typer.echo("\n" + write_table(pair, explain=False), nl=False)


def _parse_anchors(texts: Sequence[str]) -> Mapping[str, float]:
    anchors: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            anchors[name] = float(value)
        except ValueError:
            anchors[name] = math.nan  # as whoever writes NAME=nan
        if not name or not abs(anchors[name]) <= FARTHEST_ANCHOR:
            raise typer.BadParameter(
                f"{text!r} is not NAME=RATING, or beyond {FARTHEST_ANCHOR:,}", param_hint="--anchor"
            )
    if len(anchors) < len(texts):
        raise typer.BadParameter("a player is anchored twice", param_hint="--anchor")
    return anchors


def _account(league: "GameTally") -> str:
    left_out = "".join(f"; {count:,} {reason} left out" for reason, count in league.left_out.items())
    return f"{league.games:,} {'game' if league.games == 1 else 'games'}{left_out}."


def _as_json(
    ratings: "Ratings", pairs: "list[Ratings] | None", league: "GameTally", problems: list[str]
) -> dict[str, Any]:
    found = _ratings_as_json(ratings) | {
        "games": league.games,
        "without_result": league.without_result,
        "without_names": league.without_names,
        "against_itself": league.against_itself,
        "problems": problems,
    }
    if pairs is not None:
        found["pairs"] = [_ratings_as_json(pair) for pair in pairs]
    return found


def _ratings_as_json(ratings: "Ratings") -> dict[str, Any]:
    return {
        "players": [_player_as_json(player) for player in ratings.players],
        "first_mover_advantage": ratings.first_mover_advantage,
        "draw_rate": ratings.draw_rate,
        "first_mover_deviation": ratings.first_mover_deviation,
        "draw_rate_deviation": ratings.draw_rate_deviation,
        "confidence": ratings.confidence,
        "simulations": ratings.simulations,
        "notes": ratings.notes,
    }


def _player_as_json(player: "PlayerRating") -> dict[str, Any]:
    found = asdict(player)
    if player.bayes is None:
        del found["bayes"]  # it was not asked for
    return found


def _matrix(ratings: "Ratings") -> str:
    """CSV: how certain it is, in percent, that the player of the row is stronger than that of the column."""
    names = [player.name for player in ratings.players]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["", *names])
    for name, row in zip(names, ratings.certainty.tolist(), strict=True):
        writer.writerow([name, *("" if math.isnan(value) else f"{value:.2f}" for value in row)])
    return text.getvalue()
