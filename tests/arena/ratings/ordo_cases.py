"""Ordo 1.2.6 as a reference: its commands as options of fukayomi, its tables as numbers, and the differences.

    python tests/arena/ratings/ordo_cases.py ../shared/data/ratings/ordo

prints one line a command of Ordo with the largest differences among its players.
"""

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from fukayomi.arena.ratings.options import RatingOptions
from fukayomi.arena.ratings.rating import Ratings, rate_tally
from fukayomi.arena.ratings.tally import Tally
from fukayomi.arena.results.player_ratings import tally_games
from fukayomi.arena.results.sources import read_games
from fukayomi.shogi.record import Result

NOT_COMPARED = {
    "07_no_draws/table": "-T prints a table of expectations, and no ratings",
    "08_disconnected/groups": "-g prints the pools, and no ratings",
}
"""By case."""

SIMULATIONS = 4000  # four times Ordo's: the noise of a bootstrap is then mostly Ordo's, 2-3 %

_ROW = re.compile(r"\s*\d+ (?P<name>.+?)\s*(?P<bound>[<>])? : (?P<cells>.*)")
_FIRST_MOVER = re.compile(r"White advantage = (-?[\d.]+)(?: \+/- ([\d.]+))?")
_DRAW_RATE = re.compile(r"Draw rate \(equal opponents\) = ([\d.]+) %(?: \+/- ([\d.]+))?")


@dataclass(frozen=True)
class OrdoRow:
    """A player in Ordo's table."""

    rating: float
    bound: str
    points: float
    played: int
    error: float | None
    cfs: float | None


@dataclass(frozen=True)
class OrdoCase:
    """A command of Ordo and what it printed."""

    name: str
    arguments: tuple[str, ...]
    games: Path
    players: dict[str, OrdoRow]
    first_mover_advantage: float
    first_mover_deviation: float | None
    draw_rate: float
    draw_rate_deviation: float | None

    @property
    def balanced(self) -> bool:
        """Whether Ordo solves it to the last digit.

        By points it does not where colours are uneven and the first move is estimated; with -M it does.
        """
        return "-W" not in self.arguments or "-M" in self.arguments or not self.name.startswith(("03_", "10_"))

    def value(self, option: str, default: float) -> float:
        """The number after an option."""
        return float(self.arguments[self.arguments.index(option) + 1]) if option in self.arguments else default

    def options(self, simulations: int = 0) -> RatingOptions:
        """Ours, for the same thing. -V (errors from the average) has no counterpart: it is an average with a shift."""
        average = self.value("-a", 2300)
        anchors: dict[str, float] = {}
        if "-A" in self.arguments and "-V" not in self.arguments:
            anchors[self.arguments[self.arguments.index("-A") + 1]] = average
        return RatingOptions(
            average=average,
            anchors=anchors,
            first_mover_advantage=None if "-W" in self.arguments else self.value("-w", 0),
            draw_rate=None if "-D" in self.arguments else self.value("-d", 50),
            scale=self.value("-z", 202),
            confidence=self.value("-F", 95),
            simulations=simulations,
            by_results="-M" in self.arguments,
            seed=1,
        )

    def tally(self) -> Tally:
        """The games; without the draws for -X."""
        games = read_games([self.games])
        return tally_games(game for game in games if "-X" not in self.arguments or game.result != Result.DRAW).tally


def read_case(command: Path) -> OrdoCase:
    """A case of the folder of Ordo's outputs."""
    text = command.with_suffix(".out").read_text(encoding="utf-8")
    players: dict[str, OrdoRow] = {}
    columns: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("# PLAYER"):
            columns = line.partition(":")[2].split()
        elif match := _ROW.fullmatch(line):
            cells = dict(zip(columns, match["cells"].split(), strict=True))
            players[match["name"]] = OrdoRow(
                rating=float(cells["RATING"]),
                bound=match["bound"] or "",
                points=float(cells["POINTS"]),
                played=int(cells["PLAYED"]),
                error=_number(cells.get("ERROR")),
                cfs=_number(cells.get("CFS(%)")),
            )
    first_mover, draws = _FIRST_MOVER.search(text), _DRAW_RATE.search(text)
    return OrdoCase(
        name=f"{command.parent.name}/{command.stem}",
        arguments=tuple(shlex.split(command.read_text(encoding="utf-8"))),
        games=command.parent / "games.pgn",
        players=players,
        first_mover_advantage=float(first_mover[1]) if first_mover else 0.0,
        first_mover_deviation=_number(first_mover[2]) if first_mover else None,
        draw_rate=float(draws[1]) if draws else 0.0,
        draw_rate_deviation=_number(draws[2]) if draws else None,
    )


def read_cases(folder: Path) -> list[OrdoCase]:
    """All cases whose command finished, by name."""
    commands = sorted(folder.glob("*/*.cmd"))
    return [read_case(command) for command in commands if not command.with_suffix(".err").exists()]


def _number(text: str | None) -> float | None:
    return float(text) if text and text.strip("-") else None


@dataclass(frozen=True)
class Differences:
    """The largest ones of a case, ours from Ordo's; what Ordo did not print is None."""

    rating: float
    """Beyond what Ordo's rounding explains."""
    first_mover_advantage: float
    draw_rate: float
    error: float | None
    """Of the players' errors and of the two deviations below the table, relative."""
    cfs: float | None


def rate_case(case: OrdoCase, simulations: int = 0) -> tuple[Ratings, float]:
    """Ratings, and what is to be added to them: with -V an anchor shifts everybody and changes nothing else."""
    ratings = rate_tally(case.tally(), case.options(simulations))
    if "-V" not in case.arguments:
        return ratings, 0.0
    anchor = case.arguments[case.arguments.index("-A") + 1]
    return ratings, case.value("-a", 0) - next(one.rating for one in ratings.players if one.name == anchor)


def compare(case: OrdoCase) -> Differences:
    """Our ratings of a case's games beside Ordo's."""
    has_errors = "-s" in case.arguments
    ratings, shift = rate_case(case, SIMULATIONS if has_errors else 0)
    ours = {player.name: player for player in ratings.players}
    rounding = 0.5 * 10 ** -case.value("-N", 1)
    pairs = [(ours[name], theirs) for name, theirs in case.players.items()]
    errors = [(one.error, other.error) for one, other in pairs]
    errors.append((ratings.first_mover_deviation, case.first_mover_deviation))
    errors.append((ratings.draw_rate_deviation, case.draw_rate_deviation))
    cfs = [(one.cfs, other.cfs) for one, other in pairs]
    return Differences(
        rating=max(max(0.0, abs(one.rating + shift - other.rating) - rounding) for one, other in pairs),
        first_mover_advantage=abs(ratings.first_mover_advantage - case.first_mover_advantage),
        draw_rate=abs(ratings.draw_rate - case.draw_rate),
        error=max(abs((one or 0.0) / other - 1) for one, other in errors if other) if has_errors else None,
        cfs=max(abs((one or 0.0) - other) for one, other in cfs if other is not None) if has_errors else None,
    )


def main() -> None:
    print(f"{'case':34}{'rating':>9}{'White':>9}{'draws %':>9}{'errors':>9}{'CFS %':>7}")
    folder = Path(sys.argv[1])
    for case in read_cases(folder):
        if case.name in NOT_COMPARED:
            print(f"{case.name:34}  not compared: {NOT_COMPARED[case.name]}")
            continue
        found = compare(case)
        error = "-" if found.error is None else f"{found.error:.1%}"
        cfs = "-" if found.cfs is None else f"{found.cfs:.1f}"
        remark = "" if case.balanced else "  unbalanced"
        print(
            f"{case.name:34}{found.rating:9.4f}{found.first_mover_advantage:9.4f}{found.draw_rate:9.4f}{error:>9}{cfs:>7}"
            + remark
        )
    for path in sorted(folder.glob("*/*.err")):
        print(f"{path.parent.name + '/' + path.stem:34}  Ordo refused, or did not end")


if __name__ == "__main__":
    main()
