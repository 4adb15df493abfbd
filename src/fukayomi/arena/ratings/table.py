"""The table of ratings as text in the format of Ordo, character for character.

There are two differences: names are padded by their width on a terminal, where Ordo counts bytes, and control
characters in names are replaced.
"""

from collections.abc import Iterable
from itertools import groupby

from rich.cells import cell_len

from fukayomi.arena.ratings.bayes import PRIOR_DRAWS
from fukayomi.arena.ratings.rating import PlayerRating, Ratings
from fukayomi.tabular import counted, printable

NAME_WIDTH = 50
"""Limit of the name column; longer names overflow it."""

NAME_LIMIT = 200
"""Characters of a name that are printed."""

_LEAST_WIDTHS = {
    "RATING": 8, "ERROR": 7, "POINTS": 8, "PLAYED": 8, "(%)": 6, "CFS(%)": 8, "W": 5, "D": 5, "L": 5, "D(%)": 6,
    "BAYES": 8,
}  # fmt: skip


def write_table(ratings: Ratings, *, explain: bool = True) -> str:
    """A table of players for each pool, then the first-move advantage and the draw rate, then notes.

    Args:
        ratings: Ratings to write.
        explain: Whether to explain the columns; notes are always written.
    """
    pools = [(pool, list(players)) for pool, players in groupby(ratings.players, lambda player: player.pool)]
    parts: list[str] = []
    for pool, players in pools:
        title = [f"Pool {pool}:"] if len(pools) > 1 else []
        parts.append("\n".join(title + _write_rows(players, with_errors=ratings.simulations is not None)))
    deviation = _plus_minus(ratings.first_mover_deviation)
    parts.append(
        f"White advantage = {ratings.first_mover_advantage:z.2f}{deviation}\n"
        f"Draw rate (equal opponents) = {ratings.draw_rate:.2f} %{_plus_minus(ratings.draw_rate_deviation)}"
    )
    notes = [*(_explain(ratings) if explain else []), *map(printable, ratings.notes)]
    if notes:
        parts.append("\n".join(notes))
    return "\n\n".join(parts) + "\n"


def _explain(ratings: Ratings) -> list[str]:
    notes = ["White is the player who moves first (先手). A draw is half a point."]
    if ratings.simulations:
        simulations = counted(ratings.simulations, "simulation")
        if any(player.error is not None for player in ratings.players):
            notes.append(
                f"ERROR: {ratings.confidence:g} % confidence, from {simulations}; +/-: one standard deviation; CFS: "
                "certainty of being stronger than the next player."
            )
        else:
            notes.append(f"+/-: one standard deviation, from {simulations}.")
    if any(player.bayes is not None for player in ratings.players):
        notes.append(f"BAYES: BayesElo's model with a prior of {PRIOR_DRAWS:g} draws per player.")
    return notes


def _write_rows(players: list[PlayerRating], *, with_errors: bool) -> list[str]:
    names = [_shorten(printable(player.name)) for player in players]
    width = min(max(map(cell_len, ["PLAYER", *names])), NAME_WIDTH) + 1
    rows = [_cells(player, with_errors=with_errors) for player in players]
    headings = list(_LEAST_WIDTHS) if not rows else list(rows[0])
    widths = [max(_LEAST_WIDTHS[name], 2 + max((len(row[name]) for row in rows), default=0)) for name in headings]

    def line(number: str, name: str, bound: str, cells: Iterable[str]) -> str:
        padding = " " * (width - cell_len(name))
        return f"{number:>4} {name}{padding} {bound:1} :" + "".join(map(str.rjust, cells, widths))

    lines = [line("#", "PLAYER", "", headings)]
    for number, (name, player, row) in enumerate(zip(names, players, rows, strict=True), start=1):
        lines.append(line(str(number), name, player.bound, row.values()))
    return lines


def _shorten(name: str) -> str:
    return name if len(name) <= NAME_LIMIT else name[: NAME_LIMIT - 1] + "…"


def _cells(player: PlayerRating, *, with_errors: bool) -> dict[str, str]:
    """The cells of a row by heading."""
    cells = {
        "RATING": f"{player.rating:z.1f}",
        "ERROR": "----" if player.error is None else f"{player.error:.1f}",
        "POINTS": f"{player.points:.1f}",
        "PLAYED": str(player.played),
        "(%)": f"{100 * player.points / player.played:.0f}",
        "CFS(%)": "---" if player.cfs is None else f"{player.cfs:.0f}",
        "W": str(player.wins),
        "D": str(player.draws),
        "L": str(player.losses),
        "D(%)": f"{100 * player.draws / player.played:.0f}",
    }
    if not with_errors:
        del cells["ERROR"], cells["CFS(%)"]
    if player.bayes is not None:
        cells["BAYES"] = f"{player.bayes:z.1f}"
    return cells


def _plus_minus(deviation: float | None) -> str:
    return "" if deviation is None else f" +/- {deviation:.2f}"
