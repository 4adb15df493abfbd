"""Search options tuned by Optuna: each trial is a short match of proposed values against the defaults.

A plan (TOML) has the integer USI options with their ranges. A trial plays a fixed number of games, each opening with
both colours, in one process and on one core; `--jobs` trials play at once. CMA-ES, which bears noisy scores, begins in
the middle of the ranges: put the defaults there.
After each trial OUT/report.md has the trials so far, and OUT/candidate.toml the values to confirm. Run the same
command again to resume, or with more trials in the plan.

    .venv/bin/python studies/optimise_search.py studies/search-space.toml --openings OPENINGS.sfen --out out/space
    .venv/bin/python studies/tune_search.py out/space/candidate.toml --openings OPENINGS.sfen --out out/confirm

The best of many short matches was lucky above all, so the candidate is the mean of the best quarter, in which luck is
averaged. The second command plays it anew.
"""

import argparse
import hashlib
import itertools
import math
import statistics
import sys
import tomllib
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
import optuna
import tomli_w
from optuna.distributions import BaseDistribution, IntDistribution
from optuna.trial import TrialState
from pydantic import Field, ValidationError, model_validator
from tune_search import Candidate, MatchPlan, OptionValues, Plan, markdown, play, read_openings, settings_of
from work_folder import start_pool

from fukayomi.arena.game.rules import StrictModel
from fukayomi.arena.statistics.sprt import SprtSettings
from fukayomi.engine.settings import usi_options
from fukayomi.files.atomic import AtomicFile
from fukayomi.files.lock import FolderLock
from fukayomi.usi.options import Kind

CONFIRMING_GAMES = 1000
CONFIRMING_SPRT = SprtSettings(elo0=0, elo1=20, alpha=0.1, beta=0.1)
"""The test of the candidate that comes out."""

Row = dict[str, Any]


class Range(StrictModel):
    """The values of an option that are tried."""

    low: int
    high: int
    log: bool = False
    """Whether ratios count, not differences."""

    @model_validator(mode="after")
    def _has_values(self) -> Self:
        if not (1 if self.log else -math.inf) <= self.low < self.high:
            raise ValueError(f"{self.low} to {self.high} is not a range{' of positive numbers' if self.log else ''}")
        return self

    def mean(self, values: Sequence[int]) -> int:
        """The mean of some values, rounded."""
        return round(statistics.geometric_mean(values) if self.log else statistics.fmean(values))


class SearchSpace(MatchPlan):
    """What is tried."""

    space: Annotated[dict[str, Range], Field(min_length=2)]
    """Range of each option; CMA-ES needs two or more."""
    games: Annotated[int, Field(ge=2, multiple_of=2)] = 80
    """Games of a trial."""
    trials: Annotated[int, Field(ge=1)] = 40

    @model_validator(mode="after")
    def _options_exist(self) -> Self:
        integers = {option.name for option in usi_options().declared if option.kind is Kind.SPIN}
        for name, values in self.space.items():
            if name not in integers:
                raise ValueError(f"there is no option {name} with integer values")
            for value in (values.low, values.high):
                settings_of(self.options, {name: value})
        return self

    def distributions(self) -> dict[str, BaseDistribution]:
        """The ranges for Optuna."""
        return {name: IntDistribution(each.low, each.high, log=each.log) for name, each in self.space.items()}

    def match(self, candidates: Sequence[Candidate], **changes: Any) -> Plan:
        """The matches of some candidates, played as the trials are."""
        same = {name: getattr(self, name) for name in MatchPlan.model_fields}
        return Plan(candidates=tuple(candidates), **same | changes)


def read_space(path: Path) -> SearchSpace:
    """Read a plan and check its options.

    Raises:
        ValueError: It is not a plan, or an option does not exist or does not take its values.
        OSError: The file cannot be read.
    """
    return SearchSpace.model_validate(tomllib.loads(path.read_text("utf-8")))


def open_study(space: SearchSpace, network: Path | None, folder: Path) -> optuna.Study:
    """The study in a folder, new or as an earlier run left it.

    Raises:
        ValueError: The folder has the study of another plan or network.
    """
    study = optuna.create_study(
        study_name="search",
        storage=f"sqlite:///{folder.absolute() / 'study.db'}",
        direction="maximize",
        load_if_exists=True,
    )
    played = {
        "plan": space.model_dump(mode="json", exclude={"trials"}),
        "network": "embedded" if network is None else hashlib.sha256(network.read_bytes()).hexdigest(),
    }
    if study.user_attrs.get("played", played) != played:
        raise ValueError(f"{folder} has trials of another plan or network; give another --out")
    study.set_user_attr("played", played)
    for trial in study.get_trials(states=(TrialState.RUNNING,)):
        if trial.params.keys() != space.space.keys():  # killed while the values were chosen
            study.tell(trial.number, state=TrialState.FAIL)
    return study


def propose(study: optuna.Study, space: SearchSpace) -> int:
    """A new trial. With one job its values depend on the scores so far alone, however often the run was interrupted."""
    seed = int(np.random.SeedSequence([space.seed, len(study.trials)]).generate_state(1)[0])
    study.sampler = optuna.samplers.CmaEsSampler(seed=seed)
    return study.ask(space.distributions()).number


def run_trials(
    study: optuna.Study, space: SearchSpace, network: Path | None, openings: list[str], folder: Path, jobs: int
) -> None:
    """Play the trials that are missing, those first that an earlier run began.

    Raises:
        RuntimeError: A player failed, or Ctrl-C ended a match.
    """
    begun = [trial.number for trial in study.get_trials(states=(TrialState.RUNNING,))]
    new = space.trials - len(study.get_trials(states=(TrialState.COMPLETE,))) - len(begun)
    numbers = itertools.chain(begun, (propose(study, space) for _ in range(new)))
    with start_pool(jobs) as pool:

        def start(number: int) -> tuple[Future[Row], int]:
            candidate = Candidate(name=f"trial-{number:04}", options=study.trials[number].params)
            plan = space.match([candidate], seed=space.seed + number)
            return pool.submit(play, plan, candidate, network, openings, folder / candidate.name), number

        playing = dict(map(start, itertools.islice(numbers, jobs)))
        while playing:
            for future in wait(playing, return_when=FIRST_COMPLETED).done:
                finish(study, playing.pop(future), future.result())
                write_results(study, space, folder)
                playing.update(map(start, itertools.islice(numbers, 1)))


def finish(study: optuna.Study, number: int, row: Row) -> None:
    """Note the result of a trial.

    Raises:
        RuntimeError: The match was not played to its end.
    """
    if row["failures"] or not row["is_complete"]:
        raise RuntimeError(f"{row['candidate']} was not played to its end, with {row['failures']} failures")
    study.set_user_attr(row["candidate"], row)
    study.tell(number, row["score"])
    print(f"{row['candidate']}: {row['score']:.1%} with {row['options']}", file=sys.stderr, flush=True)


def results(study: optuna.Study) -> list[tuple[OptionValues, Row]]:
    """Values and result of each finished trial, the best first."""
    finished = study.get_trials(states=(TrialState.COMPLETE,))
    rows = [(trial.params, study.user_attrs[f"trial-{trial.number:04}"]) for trial in finished]
    return sorted(rows, key=lambda each: -each[1]["score"])


def confirming_plan(space: SearchSpace, ranked: Sequence[OptionValues]) -> Plan:
    """What to play anew: the mean of the best quarter of the trials."""
    best = ranked[: max(1, len(ranked) // 4)]
    mean: OptionValues = {name: each.mean([int(values[name]) for values in best]) for name, each in space.space.items()}
    return space.match(
        [Candidate(name="best-quarter", options=mean)],
        games=CONFIRMING_GAMES,
        sprt=CONFIRMING_SPRT,
        seed=space.seed + space.trials,
    )


def write_results(study: optuna.Study, space: SearchSpace, folder: Path) -> None:
    """Write the report and the candidate anew."""
    found = results(study)
    plan = confirming_plan(space, [values for values, _ in found])
    heading = f"{len(found)} of {space.trials} trials, the best first:\n\n"
    document = plan.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    with AtomicFile(folder / "report.md") as file:
        file.write((heading + markdown(row for _, row in found) + "\n").encode())
    with AtomicFile(folder / "candidate.toml") as file:
        file.write(tomli_w.dumps(document).encode())


def main() -> None:
    """Play all trials of a plan; print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", type=Path, help="TOML file of the ranges")
    parser.add_argument("--openings", type=Path, required=True, help="a file of 'startpos moves ...' lines")
    parser.add_argument("--out", type=Path, required=True, help="folder of the trials")
    parser.add_argument("--network", type=Path, help="ONNX file; the embedded network without it")
    parser.add_argument("--jobs", type=int, default=1, help="trials that play at once, each on one core")
    arguments = parser.parse_args()
    out: Path = arguments.out
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        space = read_space(arguments.plan)
        openings = read_openings(arguments.openings, space.opening_plies)
    except (ValidationError, ValueError, OSError) as error:
        parser.error(f"{arguments.plan}: {error}")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with FolderLock(out):
            study = open_study(space, arguments.network, out)
            run_trials(study, space, arguments.network, openings, out, arguments.jobs)
            write_results(study, space, out)
    except (ValueError, OSError, RuntimeError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("interrupted; run the same command again to resume")
    print((out / "report.md").read_text("utf-8"), end="")
    print(f"\nto confirm: studies/tune_search.py {out / 'candidate.toml'}")


if __name__ == "__main__":
    main()
