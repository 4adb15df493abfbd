"""``fukayomi rate`` and ``fukayomi first-move``: ratings of players, and the win rate of the first move."""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.arena.ratings.options import RatingOptions
from fukayomi.cli.common.options import AsJson, given_options, options_of
from fukayomi.cli.common.progress import StageBars
from fukayomi.cli.common.text import json_text, print_problems, printable
from fukayomi.listener import Notes
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.arena.ratings.rating import PlayerRating, Ratings
    from fukayomi.arena.results.first_move import FirstMoveResults
    from fukayomi.arena.results.game import Game, MatchScore
    from fukayomi.arena.results.player_ratings import GameTally
    from fukayomi.listener import Listener


LARGEST_ANCHOR = 100_000  # rating points
FORFEITS_LISTED = 20
"""Players whose forfeits are printed."""


@options_of(RatingOptions, "average", "by_results", "bayes", "scale")
class RateOptions:
    """Options for the rating of players."""

    anchor: Annotated[list[str] | None, typer.Option(metavar="NAME=R")] = None
    """Fix the rating of a player at R. Repeat for more players."""
    hide: Annotated[list[str] | None, typer.Option(metavar="NAME")] = None
    """Count the games of a player but do not list it. Repeat for more players."""
    pairs: Annotated[bool, typer.Option("--pairs")] = False
    """Also rate every two players by their own games."""
    first_mover: Annotated[bool, typer.Option("--first-mover/--no-first-mover")] = True
    """Estimate the first-move advantage, or assume 0."""


@options_of(RatingOptions, "confidence", "simulations", "seed", panel="Errors")
class ErrorOptions:
    """Options for the computation of rating errors."""

    matrix: Annotated[Path | None, typer.Option(metavar="FILE.csv")] = None
    """Write a table of the certainty (%) that each player beats each other."""


def rate(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="SOURCE...", help="Match folders, match.db, PGN, records, folders, zip or tar."),
    ],
    ratings: RateOptions,
    errors: ErrorOptions,
    as_json: AsJson = False,
) -> None:
    """Rate players by their games, as Ordo does.

    \b
    fukayomi rate match/
    fukayomi rate games.pgn --anchor suisho5=4200
    fukayomi rate 2026.zip --pairs --hide book

    Ratings have maximum likelihood: every player's expected score equals its actual score, and so does that of the
    first move. A draw is half a point. ERROR and CFS (certainty of being stronger than the next player) come from
    simulating the same schedule. Errors are relative to the average, or to the anchors. With more than 80 players each
    simulation is one step from the ratings instead of a new fit, and their number is limited.

    Use --by-results if most games are drawn. It also uses what draws reveal about strength, and gives smaller errors if
    the draw model of docs/ratings.md is right. Ratings by points do not depend on that model.

    A player who won (>) or lost (<) every game has no maximum-likelihood rating. It is placed where that outcome had
    probability 1/2. "White" is the player who moves first (先手), as in PGN.

    Games without a result, or broken off by a crash, stall or interruption, are left out and counted. Records with the
    same players, start, moves and time of start (without a time of day also the same name, but for the suffix) are one
    game, which counts once. Of a match folder only the database is read.

    Forfeits (losses on time, by illegal moves and by failures) are listed by player, with the rating without them. A
    warning names the players with two or more that are a tenth of their losses or more.
    """
    given = given_options(ratings, "anchor", "hide", "pairs", "first_mover") | given_options(errors, "matrix")
    if "average" in given and ratings.anchor:
        raise typer.BadParameter("--average and --anchor exclude each other", param_hint="--average")
    options = RatingOptions(
        anchors=_parse_anchors(ratings.anchor or []), hidden=frozenset(ratings.hide or []),
        first_mover_advantage=None if ratings.first_mover else 0.0, **given,
    )  # fmt: skip
    _rate(sources, options, pairs=ratings.pairs, matrix=errors.matrix, as_json=as_json)


def _rate(sources: Sequence[Path], options: RatingOptions, *, pairs: bool, matrix: Path | None, as_json: bool) -> None:
    from fukayomi.arena.ratings.rating import rate_pairs, rate_tally
    from fukayomi.arena.ratings.table import write_table
    from fukayomi.arena.results.player_ratings import tally_games
    from fukayomi.arena.results.sources import iterate_games
    from fukayomi.files.atomic import AtomicFile

    listener = Notes()
    with StageBars() as bars:
        found = tally_games(_counting(iterate_games(sources, listener=listener), bars))
        ratings = rate_tally(found.tally, options, listener=bars)
        pair_ratings = rate_pairs(found.tally, options, listener=bars) if pairs else []
    clean = _without_forfeits(found, options)
    if matrix is not None:
        with AtomicFile(matrix) as file:
            for line in _matrix(ratings):
                file.write(line.encode())
    if as_json:
        typer.echo(json_text(_as_json(ratings, pair_ratings if pairs else None, found, clean, listener.texts)))
        return
    print_problems(listener.texts)
    typer.echo(write_table(ratings), nl=False)
    typer.echo(_count(found))
    for line in _forfeit_lines(found, clean):
        typer.echo(line)
    if pair_ratings:
        typer.echo("\nEvery two players by their own games:")
    for pair in pair_ratings:
        typer.echo("\n" + write_table(pair, explain=False), nl=False)


def _without_forfeits(found: "GameTally", options: RatingOptions) -> Mapping[str, float]:
    """Ratings by player from the games that were not decided by a forfeit; empty if all were, or none was."""
    from fukayomi.arena.ratings.rating import rate_tally

    names = set(found.clean_tally.names)
    if not found.forfeits or not names:
        return {}
    anchors = {name: value for name, value in options.anchors.items() if name in names}
    more = options.changed(simulations=0, bayes=False, anchors=anchors, hidden=options.hidden & names)
    return {player.name: player.rating for player in rate_tally(found.clean_tally, more).players if not player.bound}


def _forfeit_lines(found: "GameTally", clean: Mapping[str, float]) -> list[str]:
    """Lines about losses on time, by illegal moves or by failures, and the ratings without these games."""
    from fukayomi.arena.results.game import forfeits_text

    notable = found.resting_on_forfeits
    others = sorted(found.forfeits.keys() - set(notable), key=lambda name: (-found.forfeits[name].total(), name))
    lines: list[str] = []
    for name in [*notable, *others][:FORFEITS_LISTED]:
        causes, losses = found.forfeits[name], found.losses[name]
        elo = f"; rating without forfeits: {clean[name]:z.1f}" if name in clean else ""
        warning = "warning: " if name in notable else ""
        lines.append(f"{warning}{printable(name)}: {forfeits_text(causes, losses)}{elo}")
    if len(found.forfeits) > FORFEITS_LISTED:
        lines.append(f"{counted(len(found.forfeits) - FORFEITS_LISTED, 'more player')} with forfeits; --json lists all")
    return lines


def _counting(games: "Iterable[Game]", listener: "Listener") -> "Iterator[Game]":
    """The same games; the listener hears how many were read."""
    for number, game in enumerate(games, 1):
        if number % 100 == 0:
            listener.progress("reading games", number, None)
        yield game


def _parse_anchors(texts: Sequence[str]) -> Mapping[str, float]:
    anchors: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            anchors[name] = float(value)
        except ValueError:
            anchors[name] = math.nan  # refused below, like NAME=nan
        if not name or not abs(anchors[name]) <= LARGEST_ANCHOR:
            raise typer.BadParameter(
                f"{text!r} is not NAME=RATING with a rating within ±{LARGEST_ANCHOR:,}", param_hint="--anchor"
            )
    if len(anchors) < len(texts):
        raise typer.BadParameter("a player is anchored twice", param_hint="--anchor")
    return anchors


def _count(found: "GameTally") -> str:
    left_out = "".join(f"; {count:,} {reason} left out" for reason, count in found.left_out.items())
    return f"{counted(found.games, 'game')}{left_out}."


def _as_json(
    ratings: "Ratings",
    pairs: "list[Ratings] | None",
    found: "GameTally",
    clean: Mapping[str, float],
    problems: list[str],
) -> dict[str, Any]:
    from fukayomi.arena.results.game import by_name

    notable = set(found.resting_on_forfeits)
    document = _ratings_as_json(ratings) | {
        "games": found.games,
        "without_result": found.without_result,
        "without_names": found.without_names,
        "against_itself": found.against_itself,
        "forfeits": [
            {
                "name": name,
                "losses": found.losses[name],
                **by_name(causes),
                "notable": name in notable,
                "rating_without_forfeits": clean.get(name),
            }
            for name, causes in sorted(found.forfeits.items())
        ],
        "problems": problems,
    }
    if pairs is not None:
        document["pairs"] = [_ratings_as_json(pair) for pair in pairs]
    return document


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
        del found["bayes"]  # not requested
    return found


def _matrix(ratings: "Ratings") -> "Iterator[str]":
    """Lines of CSV: the certainty in percent that the player of the row is stronger than that of the column."""
    names = [player.name for player in ratings.players]
    yield _csv_line(["", *names])
    for number, name in enumerate(names):
        row = ratings.comparison.row(number).tolist()
        yield _csv_line([name, *("" if math.isnan(value) else f"{value:.2f}" for value in row)])


def _csv_line(cells: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


@dataclass(frozen=True)
class FirstMoveOptions:
    """Options that select the games that count."""

    distinct: Annotated[bool, typer.Option("--distinct")] = False
    """Count repeated games once."""


def first_move(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="SOURCE...", help="Match folders, match.db, PGN, records, folders, zip or tar."),
    ],
    options: FirstMoveOptions,
    as_json: AsJson = False,
) -> None:
    """Count results of Black (先手) and White, for every two players: wins-losses-draws (rate).

    \b
    fukayomi first-move match/
    fukayomi first-move games.pgn --distinct

    A draw counts as half a win. Intervals take the games as independent. Games without a result, or broken off by a
    crash, stall or interruption, do not count.

    With --distinct, only the first of several games with the same players, colours, start position and moves counts.
    Use it for engines that do not vary: one game played many times is not evidence.

    A player with several opponents also gets its mean rates, each opponent counted once.
    """
    from fukayomi.arena.results.first_move import first_move

    listener = Notes()
    found = first_move(sources, distinct=options.distinct, listener=listener)
    for problem in listener.texts:
        typer.echo(f"skipped {printable(problem)}", err=True)
    if as_json:
        typer.echo(json_text(_first_move_json(found, listener.texts)))
        return
    for pairing in found.pairings:
        for line in pairing.lines():
            typer.echo(printable(line))
        typer.echo(f"{_interval(pairing.black)}\n")
    if len(found.pairings) > 1:
        for mean in found.means(as_printed=True):
            typer.echo(printable(str(mean)))
        typer.echo(f"All games, Black vs White: {found.black}")
        typer.echo(_interval(found.black))
    typer.echo(_first_moves(found))


def _interval(score: "MatchScore") -> str:
    low, high = score.interval
    return f"95 % interval of Black vs White: {low:.1%} to {high:.1%}"


def _first_moves(found: "FirstMoveResults") -> str:
    parts = [f"{counted(found.games, 'game')}, a draw is half a win"]
    if found.identical:
        kept = "left out" if found.distinct else "counted; --distinct leaves them out"
        parts.append(f"{counted(found.identical, 'repeats', 'repeat')} the moves of an earlier game ({kept})")
    if found.failed:
        parts.append(f"{found.failed:,} more not decided by play")
    if found.distinct and found.without_moves:
        parts.append(f"{found.without_moves:,} without moves, which cannot be compared")
    return "; ".join(parts)


def _first_move_json(found: "FirstMoveResults", problems: list[str]) -> dict[str, Any]:
    return {
        "games": found.games, "failed": found.failed, "identical": found.identical, "distinct": found.distinct,
        "without_moves": found.without_moves, "problems": problems, "black": _score(found.black),
        "pairings": [
            {
                "players": [pairing.first, pairing.second],
                "first": _score(pairing.total),
                "black": _score(pairing.black),
                "first_as_black": _score(pairing.as_black(pairing.first)),
                "first_as_white": _score(pairing.as_white(pairing.first)),
                "second_as_black": _score(pairing.as_black(pairing.second)),
                "second_as_white": _score(pairing.as_white(pairing.second)),
            }
            for pairing in found.pairings
        ],
        "means": [asdict(mean) for mean in found.means()],
    }  # fmt: skip


def _score(score: "MatchScore") -> dict[str, Any]:
    low, high = score.interval
    return {
        "wins": score.wins, "losses": score.losses, "draws": score.draws, "rate": score.rate, "low": low, "high": high,
    }  # fmt: skip
