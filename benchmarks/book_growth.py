"""Does a grown book win? A book grows for some hours; then an engine with it plays itself without it, and others.

    nohup nice -n 19 python benchmarks/book_growth.py DIR [--hours 2] [--games 400] [--nodes 50] > DIR.log &

The same command goes on where it was cut off, at any point. DIR gets the books (`grown`, as of `fukayomi book grow`)
and two matches from the same start: `direct`, the engine with its books against itself without; and `outsider`, an
engine that took no part against both. Moves outside the book are drawn by chance among good ones, so that games differ.
The last line is one JSON object: games, hours, and the scores with 95 % intervals.
"""

import argparse
import contextlib
import json
import shlex
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from fukayomi.arena.game.openings import Opening
from fukayomi.arena.game.player import Failure
from fukayomi.arena.game.rules import EngineSettings, Tournament
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.match.match import run_match
from fukayomi.arena.match.settings import MatchSettings, check_programs
from fukayomi.arena.match.state import MatchListener, MatchState
from fukayomi.arena.match.summary import summarize
from fukayomi.arena.results.game import Game
from fukayomi.book import merge_books, read_book, write_book
from fukayomi.book_growth import GrowSettings, Growth, GrowthListener, grow_book, read_growth
from fukayomi.book_growth.rounds import ask_engines
from fukayomi.engine.evaluators.backends.machine import usable_cpus
from fukayomi.files.atomic import replace_file
from fukayomi.settings import build

SEED_START = "lr5nl/3g1kg2/2n1ppsp1/p1pps1p1p/1p5P1/P1PPSPP1P/1PS1P1N2/2GK1G3/LN5RL w Bb 38"
CHANCE = {
    "Random_Ply": "100", "Random_Temperature": "1000", "Random_Temperature_Drop": "0", "Random_Cutoff": "50",
}  # fmt: skip
"""Moves up to 5 % below the best one are played, those with more visits more often."""
OUTSIDER = shutil.which("fairy-stockfish") or "/usr/games/fairy-stockfish"
PAIR = (
    "first", "second", "games", "wins", "losses", "draws", "pentanomial", "score", "score_low", "score_high", "elo",
    "elo_low", "elo_high",
)  # fmt: skip
"""What is said of a pair of players."""
SAID_EVERY_S = 60.0
BOTH = "both.db"
"""The books of both sides in one."""


class EnoughError(Exception):
    """The time is over."""


class Clock(GrowthListener):
    """Ends a growth after some hours of work, those of earlier runs included."""

    def __init__(self, file: Path, hours: float) -> None:
        self._file, self._hours = file, hours
        self._before_s = float(file.read_text(encoding="utf-8")) if file.is_file() else 0.0
        self._began_s = time.monotonic()

    @property
    def hours(self) -> float:
        """Hours of work."""
        return (self._before_s + time.monotonic() - self._began_s) / 3600

    def round_ended(self, growth: Growth) -> None:
        replace_file(self._file, f"{3600 * self.hours}".encode())
        last = growth.rounds[-1]
        books = ", ".join(f"{book.side} {book.entries} positions, {len(book.line)} plies" for book in last.books)
        print(f"{self.hours:.2f} hours: round {last.round}, {last.games} games; {books}", flush=True)
        if self.hours >= self._hours:
            raise EnoughError

    def note(self, text: str) -> None:
        print(text, flush=True)


class Said(MatchListener):
    """Says now and then how far a match is."""

    def __init__(self) -> None:
        self._said_s = 0.0

    def game_ended(self, state: MatchState, game: Game, failure: Failure | None) -> None:
        if time.monotonic() > self._said_s + SAID_EVERY_S:
            self._said_s = time.monotonic()
            players = state.standings.players.values()
            scores = "; ".join(f"{player.name} {player.total}" for player in players)
            print(f"{state.folder.name}: {state.played} games: {scores}", flush=True)


def grow(given: argparse.Namespace) -> tuple[Growth, float]:
    """Grow the books; gives them with the hours that it took."""
    settings = build(
        GrowSettings,
        {
            "engine": [{"name": "own", "command": command(given), "options": options(given)}],
            "clock": f"nodes={given.nodes}",
            "start": given.start,
            "spread": 0.5,
            "games": given.round,
            "games_from": given.games_from,
            "black": {"th": given.black_th},
            "white": {"th": given.white_th},
            "rules": {"resign": {"score_cp": 1500, "moves": 2, "both_sides": False}},
        },
    )
    folder = given.dir / "grown"
    clock = Clock(given.dir / "seconds", given.hours)
    if clock.hours < given.hours and not (given.dir / BOTH).is_file():  # the matches have begun with these books
        with contextlib.suppress(EnoughError):
            grow_book(settings, folder, listener=clock)
    return read_growth(folder), clock.hours


def command(given: argparse.Namespace) -> tuple[str, ...]:
    """The engine."""
    return tuple(shlex.split(given.engine)) if given.engine else (sys.executable, "-m", "fukayomi", "usi")


def options(given: argparse.Namespace) -> dict[str, str]:
    """Its options, without a book."""
    return {} if given.engine else {**CHANCE, "DNN_Model": given.network}


def matches(given: argparse.Namespace, of_book: dict[str, str]) -> dict[str, MatchSettings]:
    """The matches by name, with the options of the engine that plays from the book."""
    engines = [
        EngineSettings(name="with", command=command(given), options=options(given) | of_book),
        EngineSettings(name="without", command=command(given), options=options(given)),
    ]
    outsider = EngineSettings(
        name="outsider",
        command=tuple(shlex.split(given.outsider)),
        options={"UCI_Variant": "shogi"} if "fairy-stockfish" in given.outsider else {},
        clock=TimeControl(nodes=tuple(given.outsider_nodes + 7 * step for step in range(20))),
    )
    return {
        name: MatchSettings(
            engines=tuple(players),
            games=games,
            clock=TimeControl(nodes=(given.nodes,)),
            tournament=Tournament.GAUNTLET,
            concurrency=usable_cpus(),
        )
        for name, players, games in (
            ("direct", engines, given.games),
            ("outsider", [outsider, *engines], 2 * given.games),
        )
    }


def contest(given: argparse.Namespace, growth: Growth) -> dict[str, Any]:
    """Play the matches; gives the scores of each pair."""
    book = given.dir.absolute() / BOTH
    if not book.is_file():
        paths = [path for side in growth.settings.colors if (path := growth.book(side)).is_file()]
        if not paths:
            sys.exit(f"{given.dir}: there is no book yet: give more --hours, or lower --black-th and --white-th")
        write_book(merge_books([read_book(path) for path in paths]), book)
    asked = ask_engines(growth.settings)["own"]
    of_book = {name: text.format(folder=book.parent, name=book.name) for name, text in asked.items()}
    start = Opening(initial_sfen=given.start, name="start")
    found: dict[str, Any] = {}
    for name, settings in matches(given, of_book).items():
        result = run_match(settings, given.dir / name, openings=[start], listener=Said())
        if not result.is_complete:
            sys.exit(f"{given.dir / name}: games are left out because an engine failed: run the same command again")
        whole = summarize(result)
        pairs = [{each: pair[each] for each in PAIR} for pair in whole["pairs"]]
        found[name] = {"pairs": pairs, "distinct_games": whole["diversity"]["distinct_games"]}
    return found


def main() -> None:
    """Grow, play, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=Path, metavar="DIR")
    parser.add_argument("--hours", type=float, default=2.0, help="time to grow")
    parser.add_argument("--games", type=int, default=400, help="games of each pair")
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--network", default="<sparse>")
    parser.add_argument("--engine", default="", help="another engine's command")
    parser.add_argument("--outsider", default=OUTSIDER, help="command of an engine that takes no part")
    parser.add_argument("--outsider-nodes", type=int, default=2000)
    parser.add_argument("--start", default=SEED_START)
    parser.add_argument("--round", type=int, default=20, help="games of a round for each side")
    parser.add_argument("--games-from", default="trunk", choices=("trunk", "frontier"))
    parser.add_argument("--black-th", type=int, default=100)
    parser.add_argument("--white-th", type=int, default=50)
    given = parser.parse_args()
    given.dir.mkdir(parents=True, exist_ok=True)
    for settings in matches(given, {}).values():
        check_programs(settings)  # before hours of work
    growth, hours = grow(given)
    last = growth.rounds[-1]
    document = {"hours": round(hours, 2), "rounds": last.round, "games": last.games, "repeated": last.repeated}
    document |= {"books": [book.model_dump(mode="json") for book in last.books], **contest(given, growth)}
    print(json.dumps(document))


if __name__ == "__main__":
    main()
