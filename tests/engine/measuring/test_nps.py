"""Comparing speeds over many positions: which searches count, statistics, ratios, and the drawing of positions."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from places import RECORDS

from fukayomi.engine.measuring.nps import (
    NODES,
    NetworkSubject,
    NpsComparison,
    Rate,
    UsiSubject,
    compare_nps,
    device_subjects,
    ratio_text,
    sample_records,
)
from fukayomi.shogi import Position
from fukayomi.shogi.formats import read_record
from fukayomi.usi.engine import UsiEngine

REMEMBERING = """
searches = 0
while (line := input()) != "quit":
    if line == "usi":
        print("usiok", flush=True)
    elif line == "isready":
        print("readyok", flush=True)
    elif line.startswith("go"):
        searches += 1
        print(f"info nodes {1000 * searches} score cp 0 pv 7g7f\\nbestmove 7g7f", flush=True)
"""
"""A USI engine that is faster from search to search, whatever `usinewgame` says."""


class Clockwork:
    """Counts what it is told to, in the seconds that it is told."""

    def __init__(self, name: str, searches: Sequence[tuple[float, int]]) -> None:
        self.name = name
        self._searches = iter(searches)

    def measure(self, position: Position, *, nodes: int | None, time_ms: int | None) -> tuple[float, dict[str, int]]:
        seconds, count = next(self._searches)
        return seconds, {NODES: count}


POSITIONS = [Position(), Position.from_usi("startpos moves 7g7f")]


def test_statistics_and_ratios() -> None:
    fast = Clockwork("fast", [(1.0, 1000), (2.0, 4000), (1.0, 6000), (1.0, 3000)])
    slow = Clockwork("slow", [(1.0, 100), (1.0, 300), (1.0, 500), (1.0, 700)])
    comparison = compare_nps([fast, slow], POSITIONS, repeats=2, seconds=1.0)
    first, second = comparison.rows()
    assert (first["mean"], first["median"], first["minimum"], first["maximum"]) == (3000, 2500, 1000, 6000)
    assert (second["mean"], second["searches"]) == (400, 4)
    (ratio,) = comparison.ratios()
    assert (ratio["name"], ratio["of"], ratio["mean"]) == ("slow", "fast", pytest.approx(400 / 3000))
    assert comparison.plot().axes[0].get_yticklabels()[-1].get_text() == "fast: nodes"


def test_ratios_are_written_as_percentage_and_fraction() -> None:
    written = {0.2394: "23.94 % (1/4.2)", 0.0032: "0.32 % (1/312)", 1.0: "100.00 %", 2.5: "250.00 %", 0.0: "0.00 %"}
    assert {ratio: ratio_text(ratio) for ratio in written} == written


def test_searches_that_end_early_do_not_count() -> None:
    subject = Clockwork("a", [(0.1, 5), (1.0, 1000)])
    comparison = compare_nps([subject], POSITIONS, seconds=1.0)
    assert (comparison.early, comparison.rates[0].values) == (1, (1000.0,))
    by_nodes = compare_nps([Clockwork("a", [(0.1, 99), (0.1, 20)])], POSITIONS, nodes=100)
    assert (by_nodes.early, by_nodes.rates[0].mean) == (1, pytest.approx(990))
    with pytest.raises(ValueError, match="a: no search lasted long enough"):
        compare_nps([Clockwork("a", [(0.1, 5), (0.1, 5)])], POSITIONS, seconds=1.0)


def test_a_network_has_three_rates() -> None:
    from fukayomi.engine import Network

    with Network("<hash>") as network:
        comparison = compare_nps([NetworkSubject("n", network)], POSITIONS, nodes=100)
    assert [rate.counted for rate in comparison.rates] == ["evaluations", "playouts", "visits"]
    assert comparison.ratios() == []


def test_devices_of_a_network_are_added_one_by_one() -> None:
    from fukayomi.engine import Network

    with Network(["<hash>", "<uniform>", "<hash>"], cache_mb=0) as network:
        subjects = device_subjects("stubs", network)
        assert [subject.name for subject in subjects] == ["stubs, 1 device", "stubs, 2 devices", "stubs, 3 devices"]
        comparison = compare_nps(subjects, POSITIONS, nodes=100)
        assert {rate.name for rate in comparison.rates} == {subject.name for subject in subjects}
        assert [(row["name"], row["of"]) for row in comparison.ratios(["stubs, 1 device"])] == [
            ("stubs, 2 devices", "stubs, 1 device"),
            ("stubs, 3 devices", "stubs, 1 device"),
        ]


def test_an_engine_does_not_profit_from_earlier_searches(tmp_path: Path) -> None:
    script = tmp_path / "engine.py"
    script.write_text(REMEMBERING)
    with UsiEngine([sys.executable, str(script)]) as engine:
        subject = UsiSubject("e", engine)
        counts = [subject.measure(Position(), nodes=1000, time_ms=None)[1] for _ in range(3)]
    assert counts == [{NODES: 1000}] * 3


def test_what_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="the same name"):
        compare_nps([Clockwork("a", []), Clockwork("a", [])], POSITIONS, seconds=1)
    with pytest.raises(ValueError, match="a comparison needs"):
        compare_nps([], POSITIONS, seconds=1)


def test_ratios_of_three() -> None:
    rates = tuple(Rate(name, NODES, (speed,)) for name, speed in (("a", 8.0), ("b", 4.0), ("c", 2.0)))
    pairs = [(row["name"], row["of"], row["median"]) for row in NpsComparison(rates, 1, 1, 0).ratios()]
    assert pairs == [("b", "a", 0.5), ("c", "a", 0.25), ("c", "b", 0.5)]


def test_positions_of_records_are_drawn_with_a_seed() -> None:
    records = [read_record(path) for path in sorted(RECORDS.glob("*.csa"))]
    plies = sum(len(record) for record in records)
    first = [position.sfen() for position in sample_records(records, 20, seed=1)]
    assert first == [position.sfen() for position in sample_records(records, 20, seed=1)]
    assert first != [position.sfen() for position in sample_records(records, 20, seed=2)]
    assert len(set(first)) > 15
    assert len(sample_records(records, plies + 10)) == plies
