"""The journal of a learning run: the steps that are done, each a function of the settings and the steps before it.

A run is a fixed sequence: `start`, then for each generation `selfplay`, `ingest`, `reanalysis` (if the settings have a
table of that name), `train`, `gate` and `strength`. A step that a kill cut off is done again when the run goes on, and
every step can be repeated. The journal has no times, so that two runs with the same settings have the same journal.
"""

from itertools import chain
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from fukayomi.files.atomic import replace_file
from fukayomi.files.inputs import read_input
from fukayomi.loop.settings import LoopError
from fukayomi.settings.problems import first_problem

JOURNAL_NAME = "journal.jsonl"
LARGEST_JOURNAL = 1 << 28
"""Bytes."""
Step = Literal["start", "selfplay", "ingest", "reanalysis", "train", "gate", "strength"]

STEPS: tuple[Step, ...] = ("selfplay", "ingest", "reanalysis", "train", "gate", "strength")
"""The steps of a generation, in order."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class KeptNetwork(_Model):
    """A network of the run."""

    generation: int
    """The generation that trained it; 0: the first network."""
    file: str
    """Name of its ONNX file, in the folder `networks`."""
    sha256: str
    int8: str | None = None
    """SHA-256 of the int8 file beside it; None: it has none."""
    steps: int
    """Optimiser steps in it."""

    @property
    def name(self) -> str:
        """Name in tables: network-0003."""
        return network_name(self.generation)


class Started(_Model):
    """The run began with a network."""

    step: Literal["start"] = "start"
    generation: int = 0
    network: KeptNetwork


class Games(_Model):
    """Counts of the games of a generation."""

    games: int
    positions: int
    """Training positions."""
    plies: int
    results: dict[str, int]
    """Games by result and by reason."""
    wrong_resignations: tuple[int, int]
    """Games that were played out to check resignations, and those that would have been resigned wrongly."""


class Played(Games):
    """The games of a generation were played. The counts are those of the workers, before ingest."""

    step: Literal["selfplay"] = "selfplay"
    generation: int
    network: str
    """SHA-256 of the network that played."""
    chunks: tuple[str, ...]
    """Names of the chunks."""
    opponents: dict[str, tuple[int, int, int]] = {}
    """Wins, draws and losses against each opponent of the league, as the workers say."""


class Ingested(_Model):
    """New chunks were checked."""

    step: Literal["ingest"] = "ingest"
    generation: int
    chunks: int
    """Accepted chunks, of all generations."""
    positions: int
    """Their training positions."""
    quarantined: int
    """Chunks in quarantine."""
    played: Games
    """Counts of the accepted chunks of the generation."""
    opponents: dict[str, tuple[int, int, int]]
    """Wins, draws and losses against each opponent of the league in the accepted chunks of the generation."""
    flags: tuple[str, ...] = ()
    """Findings of the tripwires about workers whose games differ from those of the others."""


class Reanalyzed(_Model):
    """Stored positions were searched again."""

    step: Literal["reanalysis"] = "reanalysis"
    generation: int
    network: int
    """Generation of the network that searched."""
    chunks: tuple[str, ...]
    """Files whose layers are new, relative to the folder of the run."""
    positions: int
    """Their training positions."""
    changed: int
    """Positions with new targets."""
    moved: int
    """Those whose most visited move is another one than in the game."""


class Trained(_Model):
    """The learner took its steps."""

    step: Literal["train"] = "train"
    generation: int
    steps: int
    """Optimiser steps of the learner, this generation's included."""
    budget: float
    """Samples left over."""
    seen_positions: int
    """Positions of all chunks to learn from."""
    window: int
    """Positions in the window."""
    network: KeptNetwork | None
    """The new network; None: there were too few positions for a step."""
    fresh: dict[str, float] | None
    """Metrics of the network before it on the new games, which it had never seen."""
    test: dict[str, float] | None
    """Metrics of the new network on the test files."""
    losses: dict[str, float] | None
    """The last losses of the training."""
    paid: tuple[str, ...]
    """Names of the chunks whose positions paid for samples in this generation."""


class Gated(_Model):
    """The new network was tested."""

    step: Literal["gate"] = "gate"
    generation: int
    pairs: tuple[int, ...]
    """Pairs of games by the new network's points (0, 1/2, 1, 3/2, 2); empty without a match."""
    llr: float | None
    """Log-likelihood ratio of the test."""
    decision: str
    """H0, H1, continue, or none without a match."""
    passed: bool | None
    """True if the new network passed; None without a match."""
    kept: bool
    """True if the new network generates the next games."""
    rolled_back: bool = False
    """True if the learner went back to the network that generates games."""

    @property
    def games(self) -> int:
        """Games of the test; 0 without a match."""
        return 2 * sum(self.pairs)

    @property
    def score(self) -> float | None:
        """Points of the new network per game; None without a match."""
        return sum(points * count for points, count in enumerate(self.pairs)) / 2 / self.games if self.games else None


class Measured(_Model):
    """The network that generates games was measured."""

    step: Literal["strength"] = "strength"
    generation: int
    network: str
    """Its name."""
    games: int
    """Games played; 0 if there was nothing to measure."""
    opponents: tuple[str, ...]
    """Opponents that it played."""


Entry = Annotated[Started | Played | Ingested | Reanalyzed | Trained | Gated | Measured, Field(discriminator="step")]
_ENTRY: TypeAdapter[Entry] = TypeAdapter(Entry)
_Kind = TypeVar("_Kind", bound=_Model)


class Journal:
    """The steps of a run that are done.

    Args:
        folder: Folder of the run.
        reanalyzes: Whether the generations of the run have the step `reanalysis`, if no line of the file says so.

    Raises:
        LoopError: The journal is damaged.
    """

    def __init__(self, folder: Path, *, reanalyzes: bool = False) -> None:
        self.path = folder / JOURNAL_NAME
        """Its file."""
        self.reanalyzes = reanalyzes
        """True if generations have the step `reanalysis`."""
        self.entries: list[Entry] = []
        """The steps, in order."""
        if not self.path.is_file():
            return
        for number, line in enumerate(read_input(self.path, LARGEST_JOURNAL).splitlines(), 1):
            try:
                entry = _ENTRY.validate_json(line)
            except ValidationError as error:
                raise LoopError(f"{self.path}, line {number}: not a step: {first_problem(error)}") from error
            if isinstance(entry, Reanalyzed) and not self.all(Trained):
                self.reanalyzes = True
            if (entry.generation, entry.step) != self.next_step:
                generation, step = self.next_step
                raise LoopError(
                    f"{self.path}, line {number}: {entry.step} of generation {entry.generation} instead of {step} of "
                    f"generation {generation}"
                )
            self.entries.append(entry)

    @property
    def next_step(self) -> tuple[int, Step]:
        """Generation and name of the step that comes next."""
        if not self.entries:
            return 0, "start"
        last = self.entries[-1]
        if last.step in ("start", STEPS[-1]):
            return last.generation + 1, STEPS[0]
        step = STEPS[STEPS.index(last.step) + 1]
        return last.generation, "train" if step == "reanalysis" and not self.reanalyzes else step

    @property
    def generations(self) -> int:
        """Generations that are complete."""
        return len(self.all(Measured))

    def record(self, entry: Entry) -> None:
        """Add a step, in memory and on the disk.

        Raises:
            DiskError: The disk is full.
            OSError: The file cannot be written.
        """
        assert (entry.generation, entry.step) == self.next_step
        lines = [each.model_dump_json() + "\n" for each in (*self.entries, entry)]
        replace_file(self.path, "".join(lines).encode())
        self.entries.append(entry)

    def all(self, kind: type[_Kind]) -> list[_Kind]:
        """The steps of a kind, in order."""
        return [entry for entry in self.entries if isinstance(entry, kind)]

    def last(self, kind: type[_Kind]) -> _Kind | None:
        """The last step of a kind; None if there is none."""
        return next((entry for entry in reversed(self.entries) if isinstance(entry, kind)), None)

    @property
    def start(self) -> Started:
        """The first step."""
        return self.all(Started)[0]

    @property
    def networks(self) -> list[KeptNetwork]:
        """The networks that generated games, in order; the last one does now."""
        kept: list[KeptNetwork] = []
        trained: KeptNetwork | None = None
        for entry in self.entries:
            if isinstance(entry, Started):
                kept.append(entry.network)
            elif isinstance(entry, Trained):
                trained = entry.network
            elif isinstance(entry, Gated) and entry.kept and trained is not None:
                kept.append(trained)
        return kept

    @property
    def played(self) -> list[Played]:
        """The games of each generation: of accepted chunks alone, after ingest."""
        accepted = {entry.generation: entry.played for entry in self.all(Ingested)}
        return [entry.model_copy(update=dict(accepted.get(entry.generation, ()))) for entry in self.all(Played)]

    @property
    def league(self) -> dict[int, dict[str, tuple[int, int, int]]]:
        """Wins, draws and losses against each opponent of the league by generation: of accepted games, after ingest."""
        return {entry.generation: entry.opponents for kind in (Played, Ingested) for entry in self.all(kind)}

    def results_against(self, opponent: str) -> tuple[int, int, int]:
        """Wins, draws and losses of all games of the league against an opponent."""
        results = [of.get(opponent, (0, 0, 0)) for of in self.league.values()]
        wins, draws, losses = (sum(each[which] for each in results) for which in range(3))
        return wins, draws, losses

    @property
    def learner_steps(self) -> int:
        """Optimiser steps of the learner before the next training."""
        trained = self.last(Trained)
        if trained is None:
            return 0
        return self.networks[-1].steps if self.has_rolled_back else trained.steps

    def steps_of(self, generation: int) -> int:
        """Optimiser steps that the learner took in a generation; 0 if it has not trained."""
        steps = kept = trained = 0  # of the learner, the network that generates games, the newest network
        for entry in self.entries:
            if isinstance(entry, Trained):
                if entry.generation == generation:
                    return entry.steps - steps
                steps = trained = entry.steps
            elif isinstance(entry, Gated):
                kept = trained if entry.kept else kept
                steps = kept if entry.rolled_back else steps
        return 0

    @property
    def has_rolled_back(self) -> bool:
        """True if the learner went back to the network that generates games after the last test."""
        gated = self.last(Gated)
        return gated is not None and gated.rolled_back

    @property
    def chunks(self) -> list[str]:
        """Names of all chunks that were played, in order."""
        return list(chain.from_iterable(entry.chunks for entry in self.all(Played)))

    @property
    def paid(self) -> set[str]:
        """Names of the chunks whose positions have paid for samples."""
        return set(chain.from_iterable(entry.paid for entry in self.all(Trained)))


def network_name(generation: int) -> str:
    """Name of a network: ``network-0003``."""
    return f"network-{generation:04}"
