"""The table of ratings as text, in the form that rating tools of chess and shogi print."""

import unicodedata

from fukayomi.arena.ratings.rating import PlayerRating, Ratings

_MINIMUM = (8, 7, 8, 8, 6, 8, 5, 5, 5, 6, 8)
_HEADINGS = ("RATING", "ERROR", "POINTS", "PLAYED", "(%)", "CFS(%)", "W", "D", "L", "D(%)", "BAYES")


def write_table(ratings: Ratings, *, explain: bool = True) -> str:
    """The players, a table for each pool, then the first move and the draws, then what to know of both.

    Args:
        ratings: What to write.
        explain: Whether to say what the columns mean; notes are written always.
    """
    pools = sorted({player.pool for player in ratings.players})
    parts: list[str] = []
    for pool in pools:
        title = [f"Pool {pool}:"] if len(pools) > 1 else []
        parts.append("\n".join(title + _write_rows([one for one in ratings.players if one.pool == pool])))
    deviation = _plus_minus(ratings.first_mover_deviation)
    parts.append(
        f"White advantage = {ratings.first_mover_advantage:.2f}{deviation}\n"
        f"Draw rate (equal opponents) = {ratings.draw_rate:.2f} %{_plus_minus(ratings.draw_rate_deviation)}"
    )
    notes = [*(_explain(ratings) if explain else []), *map(printable, ratings.notes)]
    if notes:
        parts.append("\n".join(notes))
    return "\n\n".join(parts) + "\n"


def _explain(ratings: Ratings) -> list[str]:
    notes = ["White is who moves first (先手). A draw is half a point."]
    if ratings.simulations:
        notes.append(
            f"ERROR: {ratings.confidence:g} % confidence, by {ratings.simulations:,} simulations; +/-: one standard "
            "deviation; CFS: certainty of being stronger than the next."
        )
    if any(player.bayes is not None for player in ratings.players):
        notes.append("BAYES: by BayesElo's model, with a prior of two draws.")
    return notes


def _write_rows(players: list[PlayerRating]) -> list[str]:
    has_bounds = any(player.bound for player in players)
    names = [printable(player.name) for player in players]
    width = max(map(display_width, ["PLAYER", *names]))
    cells = [_cells(player) for player in players]
    headings = _HEADINGS[: len(cells[0])]
    columns = list(zip(headings, *cells, strict=True))
    widths = [max(least, 2 + max(map(len, column))) for least, column in zip(_MINIMUM, columns, strict=False)]
    lines: list[str] = []
    for number, name, bound, row in zip(
        ["#", *map(str, range(1, len(players) + 1))],
        ["PLAYER", *names],
        ["", *(player.bound for player in players)],
        [headings, *cells],
        strict=True,
    ):
        padded = name + " " * (width - display_width(name))
        mark = f" {bound:1} :" if has_bounds else " :"
        values = "".join(cell.rjust(size) for cell, size in zip(row, widths, strict=True))
        lines.append(f"{number:>4} {padded}{mark}{values}")
    return lines


def _cells(player: PlayerRating) -> tuple[str, ...]:
    return (
        f"{player.rating:.1f}",
        "----" if player.error is None else f"{player.error:.1f}",
        f"{player.points:.1f}",
        str(player.played),
        f"{100 * player.points / player.played:.0f}",
        "---" if player.cfs is None else f"{player.cfs:.0f}",
        str(player.wins),
        str(player.draws),
        str(player.losses),
        f"{100 * player.draws / player.played:.0f}",
        *(() if player.bayes is None else (f"{player.bayes:.1f}",)),
    )


def _plus_minus(deviation: float | None) -> str:
    return "" if deviation is None else f" +/- {deviation:.2f}"


def printable(text: str) -> str:
    """The text without what could steer a terminal: names come out of files."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def display_width(text: str) -> int:
    """Columns that the text takes in a terminal: a kanji takes two, a combining mark none."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )
