"""Matches of search options against today's defaults: which options to turn on, and which values to give them.

A plan (TOML) has the limits and the candidates, each with USI options. Each candidate plays a match of its own against
the same engine without these options, in one process and on one core: both sides share the network. `--jobs` candidates
play at once. Every game is kept in OUT/NAME; run the same command again to resume, or with more candidates in the plan.

    .venv/bin/python studies/tune_search.py studies/search-options.toml --openings OPENINGS.sfen --out out/tuning

The table is for docs/measurements. `fukayomi rate` and `fukayomi sprt` read a match (OUT/NAME) that is still played.
A plan with a `clock` (studies/time-options.toml) needs an otherwise idle machine, unless time is counted in evaluations
of the network (`evaluations_per_s`).
"""

import argparse
import json
import sys
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, model_validator
from work_folder import start_pool

from fukayomi.arena import MatchListener, MatchResult, MatchState, play_match, win_rate
from fukayomi.arena.game.player import Failure, MovePlayer
from fukayomi.arena.game.rules import Rules
from fukayomi.arena.game.time_control import GameClock, TimeControl
from fukayomi.arena.results.game import Game
from fukayomi.arena.statistics.sprt import SprtDecision, SprtSettings
from fukayomi.engine import Engine, Network
from fukayomi.engine.settings import IGNORED_OPTIONS, MOST_DEVICES, UsiSettings, usi_options
from fukayomi.settings import Settings
from fukayomi.shogi import Position
from fukayomi.usi.client import SearchAnswer
from fukayomi.usi.options import OptionError
from fukayomi.usi.text import Go

VERDICTS = {SprtDecision.H1: "passed", SprtDecision.H0: "rejected", SprtDecision.CONTINUE: "inconclusive"}
MEMORY_MB = 64
"""Memory of a tree: far more than the nodes of a move need."""
NEVER_MS = 1_000_000_000
"""Margin of a clock that must not run out."""
REPORT_GAMES = 20
"""Games between two lines on stderr."""

_DEVICES = ("", *(str(number) for number in range(2, MOST_DEVICES + 1)))
NO_EFFECT = {
    name.lower(): reason
    for reason, names in {
        "the engine ignores it": IGNORED_OPTIONS,
        "both sides share one network; set --network and batch_size": (
            "DNN_Provider", "DNN_Precision", "DNN_Ensemble", "Threads", "Eval_Cache",
            *(f"{name}{n}" for name in ("DNN_Model", "UCT_Threads", "DNN_Batch_Size", "DNN_Weight") for n in _DEVICES),
        ),
        f"each tree has {MEMORY_MB} MiB": ("USI_Hash",),
        "nobody ponders here": ("USI_Ponder", "Stochastic_Ponder"),
        "it changes what the engine says, not what it plays": ("Engine_Name", "PV_Interval", "DebugMessage"),
    }.items()
    for name in names
}  # fmt: skip
"""Options that change nothing in these matches, in lower case, with the reason."""

OptionValues = dict[str, bool | int | str]


class CountingPlayer(MovePlayer):
    """An engine whose clock runs by its evaluations. The match's own clock must never run out."""

    def __init__(self, engine: Engine, clock: str) -> None:
        self._engine = engine
        self._control = TimeControl.from_text(clock)
        self._clock = GameClock(self._control)

    @property
    def identity(self) -> str:
        """See `MovePlayer`."""
        return f"{self._engine.identity}, counts evaluations"

    def new_game(self) -> None:
        """See `MovePlayer`."""
        self._clock = GameClock(self._control)
        self._engine.new_game()

    def choose(self, position: Position, go: Go) -> SearchAnswer:
        """See `MovePlayer`."""
        answer = self._engine.choose(position, self._clock.go(position.turn, self._clock))
        if not self._clock.spend(1000 * answer.seconds):
            raise TimeoutError(f"{answer.seconds:.3f} s: lost on time")
        return answer

    def stop(self) -> None:
        """See `MovePlayer`."""
        self._engine.stop()


class Candidate(Settings):
    """Options that play against the plan's."""

    name: Annotated[str, Field(pattern=r"^[\w.+-]+$")]
    """Name of the match's folder."""
    options: OptionValues


class MatchPlan(Settings):
    """How a match against the defaults is played."""

    options: OptionValues = Field(default_factory=dict)
    """Options of both sides."""
    nodes: Annotated[int, Field(ge=1)] = 100
    """Nodes per move."""
    clock: str | None = None
    """Time instead of nodes, such as "main=10s,increment=100ms": for options of the clock."""
    evaluations_per_s: Annotated[float, Field(gt=0)] | None = None
    """With `clock`: so many evaluations count as a second, whatever else the machine does."""
    batch_size: Annotated[int, Field(ge=1)] = 8
    games: Annotated[int, Field(ge=2)] = 1000
    """Games of each match, at most."""
    opening_plies: Annotated[int, Field(ge=0)] = 24
    seed: Annotated[int, Field(ge=0)] = 1
    """Order of the openings."""
    rules: Rules = Rules()

    @model_validator(mode="after")
    def _has_a_clock_that_counts(self) -> Self:
        if self.evaluations_per_s is not None and self.clock is None:
            raise ValueError("evaluations_per_s counts only with a clock")
        return self


class Plan(MatchPlan):
    """What is played."""

    candidates: Annotated[tuple[Candidate, ...], Field(min_length=1, alias="candidate")]
    sprt: SprtSettings | None = None
    """Test that ends a match before; None: all games are played."""


class Log(MatchListener):
    """A line on stderr every few games."""

    def __init__(self, name: str) -> None:
        self._name = name

    def game_ended(self, state: MatchState, game: Game, failure: Failure | None) -> None:
        """See `MatchListener`."""
        if state.played % REPORT_GAMES == 0 or failure is not None:
            first = next(iter(state.standings.players.values()))
            test = state.sprt()
            llr = "" if test is None else f", LLR {test.llr:+.2f} ({test.lower:.2f} to {test.upper:.2f})"
            pace = state.games_an_hour() or 0
            failed = "" if failure is None else f", {failure}"
            print(f"{self._name}: {first.total}{llr}, {pace:.0f} games/h{failed}", file=sys.stderr, flush=True)


def read_plan(path: Path) -> Plan:
    """Read a plan and check its options.

    Raises:
        ValueError: It is not a plan, or an option does not exist, has no effect or does not take its value.
        OSError: The file cannot be read.
    """
    plan = Plan.model_validate(tomllib.loads(path.read_text("utf-8")))
    names = [candidate.name for candidate in plan.candidates]
    if len(set(names)) < len(names):
        raise ValueError("two candidates have the same name")
    for candidate in plan.candidates:
        settings_of(plan.options, candidate.options)
    return plan


def settings_of(*options: OptionValues) -> UsiSettings:
    """The settings with these options; later ones take precedence.

    Raises:
        OptionError: An option does not exist, has no effect in a match, or does not take its value.
    """
    declared = usi_options()
    for name, value in ((name, value) for each in options for name, value in each.items()):
        if name.lower() in NO_EFFECT:
            raise OptionError(f"{name} has no effect in these matches: {NO_EFFECT[name.lower()]}")
        declared.set(name, str(value).lower() if isinstance(value, bool) else str(value))
    return declared.settings


def read_openings(path: Path, plies: int) -> list[str]:
    """The lines of a file of USI positions, cut after some plies, each once."""
    words = [line.partition("#")[0].split() for line in path.read_text("utf-8").splitlines()]
    return list(dict.fromkeys(" ".join(line[: 2 + plies]) for line in words if line))


def play(plan: Plan, candidate: Candidate, network: Path | None, openings: list[str], folder: Path) -> dict[str, Any]:
    """Play or resume the match of a candidate, in this process. Returns its row of the table."""
    with Network(network, threads=1, batch_size=plan.batch_size) as shared:
        sides = [settings_of(plan.options, candidate.options), settings_of(plan.options)]
        engines = [
            Engine(shared, memory_mb=MEMORY_MB, settings=settings, evaluations_per_s=plan.evaluations_per_s)
            for settings in sides
        ]
        players: Sequence[MovePlayer] = engines
        rules = plan.rules
        if plan.clock is not None and plan.evaluations_per_s is not None:
            players = [CountingPlayer(engine, plan.clock) for engine in engines]
            rules = rules.model_copy(update={"margin_ms": NEVER_MS})
        result = play_match(
            {candidate.name: players[0], "default": players[1]},
            games=plan.games,
            clock=plan.clock or f"nodes={plan.nodes}",
            openings=openings,
            folder=folder,
            sprt=plan.sprt,
            seed=plan.seed,
            rules=rules,
            listener=Log(candidate.name),
        )
        for engine in engines:
            engine.close()
    return row_of(candidate, result)


def row_of(candidate: Candidate, result: MatchResult) -> dict[str, Any]:
    """The row of a match in the table; intervals are those of 95 %."""
    first, _ = result.rows()
    shown = win_rate(first["wins"], losses=first["losses"], draws=first["draws"])
    return {
        "candidate": candidate.name,
        "options": " ".join(f"{name}={value}" for name, value in candidate.options.items()),
        **{name: first[name] for name in ("games", "wins", "losses", "draws", "score", "elo", "elo_low", "elo_high")},
        "win_rate": shown.rate, "win_rate_low": shown.low, "win_rate_high": shown.high,
        "llr": None if result.sprt is None else result.sprt.llr,
        "verdict": "" if result.sprt is None else VERDICTS[result.sprt.decision],
        "failures": first["failures"],
        "is_complete": result.is_complete,
    }  # fmt: skip


def markdown(rows: Iterable[dict[str, Any]]) -> str:
    """The table as docs/measurements has it."""
    lines = [
        "| options | games | won-lost-drawn | score | win rate (95 %, draws left out) | Elo | LLR | verdict |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        rate = "-" if row["win_rate"] is None else f"{row['win_rate']:.1%}"
        ends = row["elo_low"], row["elo_high"]
        elo = "-" if row["elo"] is None or None in ends else f"{row['elo']:+.0f} ±{(ends[1] - ends[0]) / 2:.0f}"
        cells = (
            f"`{row['options']}`",
            f"{row['games']}{'' if row['is_complete'] else ' so far'}",
            f"{row['wins']}-{row['losses']}-{row['draws']}",
            "-" if row["score"] is None else f"{row['score']:.1%}",
            f"{rate} ({row['win_rate_low']:.1%} to {row['win_rate_high']:.1%})",
            elo,
            "" if row["llr"] is None else f"{row['llr']:+.2f}",
            row["verdict"],
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Play all matches of a plan, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", type=Path, help="TOML file of the candidates")
    parser.add_argument("--openings", type=Path, required=True, help="a file of 'startpos moves ...' lines")
    parser.add_argument("--out", type=Path, required=True, help="folder of the matches")
    parser.add_argument("--network", type=Path, help="ONNX file; the embedded network without it")
    parser.add_argument("--jobs", type=int, default=1, help="candidates that play at once, each on one core")
    parser.add_argument("--only", nargs="+", help="names of the candidates to play")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    try:
        plan = read_plan(arguments.plan)
        openings = read_openings(arguments.openings, plan.opening_plies)
    except (ValidationError, OptionError, ValueError, OSError) as error:
        parser.error(f"{arguments.plan}: {error}")
    chosen = [each for each in plan.candidates if arguments.only is None or each.name in arguments.only]
    rows: dict[str, dict[str, Any]] = {}
    with start_pool(arguments.jobs) as pool:
        games = {
            pool.submit(play, plan, each, arguments.network, openings, arguments.out / each.name): each.name
            for each in chosen
        }
        try:
            for game in as_completed(games):
                rows[games[game]] = game.result()
                print(markdown([rows[games[game]]]).splitlines()[-1], file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            pool.shutdown(wait=True, cancel_futures=True)
            sys.exit("interrupted; run the same command again to resume")
    ordered = [rows[each.name] for each in chosen]
    print(json.dumps(ordered) if arguments.json else markdown(ordered))


if __name__ == "__main__":
    main()
