"""Measuring networks, alone and in the search."""

import pytest
from listeners import Calling
from odd_evaluators import Failing

from fukayomi.engine import EvaluatorError, Network, measure_speed
from fukayomi.engine.evaluators.protocol import hash_evaluator
from fukayomi.shogi import Position

POSITIONS = {"start": Position(), "open": Position.from_usi("startpos moves 7g7f 3c3d")}


def test_each_position_is_searched() -> None:
    heard: list[tuple[str, int, int | None]] = []
    with Network(hash_evaluator(4)) as network:
        speed = measure_speed(
            network, POSITIONS, nodes=30, seconds=0.05, listener=Calling(lambda *step: heard.append(step))
        )
    assert (speed.network, speed.identity, speed.batch_size, speed.slots) == ("CoreStubEvaluator", "hash-0", 4, 1)
    assert [(search.position, search.nodes) for search in speed.searches] == [("start", 30), ("open", 30)]
    assert speed.to_polars().columns == ["position", "nodes", "evaluations", "seconds", "nodes_per_s"]
    assert speed.evaluations_per_s > 0
    assert heard == [("measuring", 0, 3), ("measuring", 1, 3), ("measuring", 2, 3)]


def test_without_nodes_the_time_ends_the_search() -> None:
    with Network(hash_evaluator(4)) as network:
        (search,) = measure_speed(network, {"start": Position()}, seconds=0.2).searches
    assert 0.15 < search.seconds < 30
    assert search.nodes > 1
    assert search.nodes_per_s == pytest.approx(search.nodes / search.seconds)


def test_what_cannot_be_measured_is_an_error() -> None:
    with Network("<hash>") as network, pytest.raises(ValueError, match="legal move"):
        measure_speed(network, {})
    for good_batches in (0, 5):
        with Network(Failing(good_batches)) as network, pytest.raises(EvaluatorError, match="caught fire"):
            measure_speed(network, POSITIONS, nodes=10, seconds=0.05)
