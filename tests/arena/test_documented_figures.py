"""Figures in the documents agree with the counts beside them, and with the examples that they come from."""

import csv
import io
import re
from pathlib import Path

import pytest

from fukayomi.arena.ratings.options import RatingOptions
from fukayomi.arena.ratings.rating import rate_tally
from fukayomi.arena.ratings.table import write_table
from fukayomi.arena.ratings.tally import Tally
from fukayomi.arena.statistics.intervals import estimate_strength, win_rate

DOCS = Path(__file__).resolve().parents[2] / "docs"
LEAGUE = DOCS / "examples" / "league"


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8-sig")


def test_strengths_are_those_of_their_counts() -> None:
    opponents = read(DOCS / "strength.md").partition("\n## ")[0]
    rows = re.findall(r"\| (\d+) \| (\d+)-(\d+)-(\d+) \| (.*) \|", opponents)
    assert len(rows) == 5
    for games, *counts, figures in rows:
        won, lost, drawn = map(int, counts)
        assert int(games) == won + lost + drawn
        score = f"{100 * (won + drawn / 2) / int(games):.1f} %"
        rate = win_rate(won, losses=lost)
        decided = f"{100 * rate.rate:.1f} % ({100 * rate.low:.1f} to {100 * rate.high:.1f} %)"
        elo = estimate_strength((lost, drawn, won)).elo
        cells = figures.split(" | ")
        assert (cells[0], cells[2]) == (score, decided)
        assert cells[1].startswith(f"{elo:+.0f} ±")


def league() -> Tally:
    """The games of first-move.txt."""
    tally = Tally()
    for block in read(LEAGUE / "first-move.txt").split("\n\n"):
        met = re.match(r"(\S+) vs (\S+): \d+-", block)
        for name, *counts in re.findall(r"^(\S+) playing Black: (\d+)-(\d+)-(\d+)", block, re.M):
            other = met[2] if met[1] == name else met[1]
            for points, games in zip((1, 0, 0.5), map(int, counts), strict=True):
                tally.add(name, other, points, games)
    return tally


def test_the_league_s_ratings_are_those_of_its_games() -> None:
    played = league()
    assert int(played.pairings().games.sum()) == 400
    table = write_table(rate_tally(played, RatingOptions()))
    assert read(LEAGUE / "rate.txt") == table + "400 games.\n"


def test_the_league_s_standings_are_those_of_its_games() -> None:
    pairings = league().pairings()
    wins, losses = (
        pairings.of_player(pairings.wins, pairings.losses),
        pairings.of_player(pairings.losses, pairings.wins),
    )
    rows = re.findall(r"│ (\S+) +│ +(\d+)-(\d+)-0 │ +([\d.]+) % │ +([+-]\d+) ±", read(LEAGUE / "match.txt"))
    assert len(rows) == 5
    for name, won, lost, score, elo in rows:
        player = pairings.names.index(name)
        assert (int(won), int(lost)) == (wins[player], losses[player])
        strength = estimate_strength((int(lost), 0, int(won)))
        assert (score, elo) == (f"{100 * strength.score:.1f}", f"{strength.elo:+.0f}")


@pytest.mark.parametrize("path", sorted((DOCS / "examples").glob("*/*.csv")), ids=lambda path: path.stem)
def test_printed_rates_are_those_of_the_csv_beside_them(path: Path) -> None:
    printed = re.findall(r"^│ (\S.*?) +│ +([\d,]+) │ +([\d.]+)% │ +([\d.]+)% │", read(path.with_suffix(".txt")), re.M)
    rows = list(csv.DictReader(io.StringIO(read(path))))
    assert len(printed) == len(rows) > 0
    for (name, games, share, black), row in zip(printed, rows, strict=True):
        assert (name, int(games.replace(",", ""))) == (row["戦型"], int(row["回数"]))
        assert float(share) == pytest.approx(100 * float(row["出現率"]), abs=0.0551)
        assert float(black) == pytest.approx(100 * float(row["先手勝率"]), abs=0.0551)
