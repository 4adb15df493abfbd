"""Figures of the generations of a run, for pictures."""

from collections.abc import Mapping
from dataclasses import dataclass

from fukayomi.loop.journal import Journal, Trained

ACCURACIES = ("policy_accuracy", "value_accuracy")
ENDINGS = ("mates", "resignations", "repetitions", "declarations", "max_plies")

Line = tuple[tuple[int, float], ...]
"""Values by generation."""


@dataclass(frozen=True)
class GenerationSeries:
    """Lines over the generations; a line without points is left out."""

    fresh: Mapping[str, Line]
    """Accuracies on the new games, before the network was trained on them."""
    test: Mapping[str, Line]
    """Accuracies on the test files."""
    plies: Line
    """Plies a game."""
    endings: Mapping[str, Line]
    """Shares of the games by `ENDINGS`, and of the draws."""
    window: Mapping[str, Line]
    """Positions in all (`all`), and in the window (`window`)."""
    wrong: Line
    """Share of wrong resignations among those that were checked."""


def read_series(journal: Journal) -> GenerationSeries:
    """The series of a run, from its journal."""
    played = [entry for entry in journal.played if entry.games]
    trained = journal.all(Trained)

    def share(name: str) -> Line:
        return tuple((each.generation, each.results.get(name, 0) / each.games) for each in played)

    endings = {name: share(name) for name in ENDINGS if any(each.results.get(name, 0) for each in played)}
    return GenerationSeries(
        fresh=_metrics({each.generation: each.fresh for each in trained if each.fresh}),
        test=_metrics({each.generation: each.test for each in trained if each.test}),
        plies=tuple((each.generation, each.plies / each.games) for each in played),
        endings=endings | ({"draws": share("draws")} if played else {}),
        window={
            "all": tuple((each.generation, float(each.seen_positions)) for each in trained),
            "window": tuple((each.generation, float(each.window)) for each in trained),
        }
        if trained
        else {},
        wrong=tuple(
            (each.generation, each.wrong_resignations[1] / each.wrong_resignations[0])
            for each in played
            if each.wrong_resignations[0]
        ),
    )


def _metrics(by_generation: Mapping[int, Mapping[str, float]]) -> dict[str, Line]:
    lines = {
        name: tuple((generation, values[name]) for generation, values in by_generation.items() if name in values)
        for name in ACCURACIES
    }
    return {name: line for name, line in lines.items() if line}
