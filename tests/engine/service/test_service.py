"""Many positions at once: answers, priorities, memory, cancelling, several clients, and failures."""

import threading
import time
from collections.abc import Generator

import pytest
from patience import PATIENCE_S, until

from fukayomi.engine import AnalysisQuery, AnalysisService, Engine, EvaluatorError, Network, QueryError, TurnAnswer
from fukayomi.engine.evaluators.protocol import Slot, hash_evaluator
from fukayomi.engine.settings import UsiSettings
from fukayomi.shogi import Position

GAME = ("7g7f", "3c3d", "2g2f", "8c8d")
ENDLESS = 10**9
MATED = "8k/8G/8P/9/9/9/9/9/K8 w - 1"
MATE_IN_ONE = "7k1/9/7P1/9/9/9/9/9/K8 b G2r2b3g4s4n4l17p 1"
DECLARED = "K8/GGGGSSSS+N/N8/9/9/9/9/9/k8 b 2R2B11P 1"


class Gate:
    """The hash evaluator, which waits for permission, notes its batches, and fails on demand."""

    identity = "gate"
    batch_size = 16
    slots = 1

    def __init__(self) -> None:
        self._inner = hash_evaluator(16)
        self.permission = threading.Event()
        self.permission.set()
        self.error: Exception | None = None
        self.rows: list[int] = []

    def allocate(self, capacity: int) -> Slot:
        return self._inner.allocate(capacity)

    def run(self, slot: Slot, n: int) -> None:
        self.permission.wait(PATIENCE_S)
        self.rows.append(n)
        if self.error is not None:
            raise self.error
        self._inner.run(slot, n)

    def close(self) -> None:
        pass


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def service(gate: Gate) -> Generator[AnalysisService]:
    with Network(gate, cache_mb=0) as network, AnalysisService(network, memory_mb=64) as service:
        yield service
        gate.permission.set()


def test_turns_are_answered_from_blacks_side(service: AnalysisService) -> None:
    answers = service.submit(AnalysisQuery(moves=GAME, turns=(3, 0, 4), visits=50, multipv=5)).result(PATIENCE_S)
    assert [answer.turn for answer in answers] == [3, 0, 4]
    for answer in answers:
        assert (answer.visits, answer.is_during_search, len(answer.moves)) == (50, False, 5)
        assert (answer.win_rate, answer.score_cp) == (answer.moves[0].win_rate, answer.moves[0].score_cp)
        assert all(move.pv[0] == move.move for move in answer.moves)
        visits = [move.visits for move in answer.moves]
        assert visits == sorted(visits, reverse=True)


@pytest.mark.parametrize("turn", [3, 4])
def test_one_position_alone_is_searched_as_by_an_engine(service: AnalysisService, turn: int) -> None:
    (answer,) = service.submit(AnalysisQuery(moves=GAME, turns=[turn], visits=500)).result(PATIENCE_S)
    full = UsiSettings(batch_visits=0)  # as the service, whose batches are those of many trees
    with Network(hash_evaluator(16), cache_mb=0) as network, Engine(network, settings=full) as engine:
        result = engine.search(Position.from_usi(f"startpos moves {' '.join(GAME[:turn])}"), nodes=500, multipv=3)
    assert [(move.move, move.visits) for move in answer.moves] == [(x.move.usi(), x.visits) for x in result.lines]
    for move, line in zip(answer.moves, result.lines, strict=True):
        black, sign = (line.winrate, 1) if turn % 2 == 0 else (1 - line.winrate, -1)
        assert (move.win_rate, move.score_cp) == (pytest.approx(black, abs=1e-4), sign * line.cp)


@pytest.mark.parametrize(("sfen", "win_rate", "move"), [(MATED, 1.0, None), (DECLARED, 1.0, "win")])
def test_decided_positions_need_no_search(
    service: AnalysisService, gate: Gate, sfen: str, win_rate: float, move: str | None
) -> None:
    (answer,) = service.submit(AnalysisQuery(sfen=sfen, visits=50)).result(PATIENCE_S)
    assert (answer.visits, answer.win_rate, answer.score_cp) == (0, win_rate, 30_000)
    assert [each.move for each in answer.moves] == ([] if move is None else [move])
    assert gate.rows == []


def test_a_mate_is_proven(service: AnalysisService) -> None:
    (answer,) = service.submit(AnalysisQuery(sfen=MATE_IN_ONE, visits=50)).result(PATIENCE_S)
    assert (answer.moves[0].move, answer.moves[0].mate, answer.win_rate) == ("G*2b", 1, 1.0)


def test_only_the_given_moves(service: AnalysisService) -> None:
    (answer,) = service.submit(AnalysisQuery(visits=60, multipv=9, search_moves=("7g7f", "1g1f"))).result(PATIENCE_S)
    assert {move.move for move in answer.moves} == {"7g7f", "1g1f"}


def test_any_time_gives_a_result(service: AnalysisService) -> None:
    (answer,) = service.submit(AnalysisQuery(time_ms=1)).result(PATIENCE_S)
    assert answer.visits >= 1
    assert answer.moves


def test_reports_come_during_the_search_and_before_the_end(service: AnalysisService) -> None:
    seen: list[TurnAnswer] = []
    running = service.submit(AnalysisQuery(visits=ENDLESS, report_every_ms=10), seen.append)
    until(lambda: len(seen) >= 3)
    running.cancel()
    (final,) = running.result(PATIENCE_S)
    assert [answer.is_during_search for answer in seen] == [True] * (len(seen) - 1) + [False]
    assert seen[-1] is final
    visits = [answer.visits for answer in seen]
    assert visits == sorted(visits)


def test_many_positions_fill_batches(service: AnalysisService, gate: Gate) -> None:
    gate.permission.clear()
    running = [service.submit(AnalysisQuery(moves=GAME, turns=range_of(5), visits=100)) for _ in range(4)]
    gate.permission.set()
    for each in running:
        assert [answer.visits for answer in each.result(PATIENCE_S)] == [100] * 5
    assert sum(gate.rows) == 2000
    assert gate.rows.count(16) > 0.5 * len(gate.rows)
    assert len(gate.rows) < 20 * 8  # one after another each begins with a batch of 1, and has 7 more


def range_of(count: int) -> tuple[int, ...]:
    return tuple(range(count))


def test_higher_priorities_come_first(gate: Gate) -> None:
    order: list[str] = []
    with Network(gate, cache_mb=0) as network, AnalysisService(network, at_once=1) as service:
        gate.permission.clear()
        queries = [
            service.submit(AnalysisQuery(visits=3, priority=priority), lambda _, name=name: order.append(name))
            for name, priority in (("first", 0), ("low", -5), ("middle", 0), ("high", 5), ("high too", 5))
        ]
        until(lambda: service._threads and not service._idle)  # pyright: ignore[reportPrivateUsage]
        gate.permission.set()
        for each in queries:
            each.result(PATIENCE_S)
    assert order[1:] == ["high", "high too", "middle", "low"] or order == ["high", "high too", "first", "middle", "low"]


def test_cancelling_answers_what_runs_and_what_waits(gate: Gate) -> None:
    with Network(gate) as network, AnalysisService(network, at_once=2) as service:
        running = service.submit(AnalysisQuery(moves=GAME, turns=range_of(5), visits=ENDLESS, report_every_ms=10))
        other = service.submit(AnalysisQuery(visits=20, priority=-1))
        until(lambda: gate.rows)
        running.cancel()
        running.cancel()
        answers = running.result(PATIENCE_S)
        assert [answer.turn for answer in answers] == [0, 1, 2, 3, 4]
        assert [(answer.visits, answer.win_rate, answer.moves) for answer in answers[2:]] == [(0, None, ())] * 3
        assert not any(answer.is_during_search for answer in answers)
        assert other.result(PATIENCE_S)[0].visits == 20


def test_two_clients_of_one_service(service: AnalysisService) -> None:
    found: dict[int, list[TurnAnswer]] = {}

    def client(number: int) -> None:
        found[number] = service.submit(AnalysisQuery(moves=GAME, turns=(0, number), visits=200)).result(PATIENCE_S)

    threads = [threading.Thread(target=client, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [[answer.turn for answer in found[number]] for number in (1, 2)] == [[0, 1], [0, 2]]


def test_a_failing_network_fails_positions_and_no_more(service: AnalysisService, gate: Gate) -> None:
    gate.error = EvaluatorError("out of memory")
    answers = service.submit(AnalysisQuery(moves=GAME, turns=(0, 1), visits=20)).result(PATIENCE_S)
    assert [answer.error for answer in answers] == ["out of memory"] * 2
    assert answers[0].to_fields() == {"turn": 0, "error": "out of memory"}
    gate.error = None
    assert service.submit(AnalysisQuery(visits=20)).result(PATIENCE_S)[0].visits == 20


def test_a_listener_that_raises_hurts_only_its_own_query(service: AnalysisService) -> None:
    def broken(answer: TurnAnswer) -> None:
        raise KeyError("listener")

    running = service.submit(AnalysisQuery(visits=20), broken)
    assert service.submit(AnalysisQuery(visits=20)).result(PATIENCE_S)[0].visits == 20
    with pytest.raises(KeyError, match="listener"):
        running.result(PATIENCE_S)


def test_trees_share_the_memory(gate: Gate) -> None:
    with Network(gate) as network, AnalysisService(network, memory_mb=6, at_once=3) as service:
        running = [service.submit(AnalysisQuery(visits=ENDLESS)) for _ in range(5)]
        time.sleep(0.05)
        assert service._free_mb >= 0  # pyright: ignore[reportPrivateUsage]
        for each in running:
            each.cancel()
        for each in running:
            each.result(PATIENCE_S)
        assert service._free_mb == 6  # pyright: ignore[reportPrivateUsage]


def test_little_memory_ends_no_search() -> None:
    is_long = threading.Event()

    def listen(answer: TurnAnswer) -> None:
        if answer.visits > 30_000:  # which have no room at once
            is_long.set()

    with Network("<uniform>") as network, AnalysisService(network, memory_mb=2) as service:
        running = service.submit(AnalysisQuery(visits=ENDLESS, report_every_ms=10), listen)
        assert is_long.wait(PATIENCE_S)
        running.cancel()
        assert running.result(PATIENCE_S)[0].visits > 30_000


def test_limits_of_the_service(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fukayomi.engine.service.service.MOST_WAITING", 12)
    with Network(gate) as network:
        with pytest.raises(ValueError, match="memory_mb"):
            AnalysisService(network, memory_mb=1)
        with pytest.raises(ValueError, match="at_once"):
            AnalysisService(network, at_once=0)
        with AnalysisService(network, at_once=1) as service:
            gate.permission.clear()
            query = AnalysisQuery(moves=GAME, turns=range_of(5), visits=2)
            running = [service.submit(query), service.submit(query)]
            with pytest.raises(QueryError, match="turns: more than 12 positions would wait"):
                service.submit(query)
            gate.permission.set()
            assert [len(each.result(PATIENCE_S)) for each in running] == [5, 5]
            service.submit(query).result(PATIENCE_S)


def test_closing_answers_everything_and_ends_the_threads(gate: Gate) -> None:
    with Network(gate) as network:
        service = AnalysisService(network)
        running = service.submit(AnalysisQuery(moves=GAME, turns=range_of(5), visits=ENDLESS))
        service.close()
        assert len(running.result(0)) == 5
        assert not [thread for thread in threading.enumerate() if thread.name == "fukayomi-service"]
        with pytest.raises(RuntimeError, match="closed"):
            service.submit(AnalysisQuery())


def test_moves_that_were_not_visited_have_no_score() -> None:
    with Network("<hash>") as network, AnalysisService(network) as service:
        answers = service.submit(AnalysisQuery(moves=("7g7f",), turns=(1,), visits=3, multipv=10)).result(PATIENCE_S)
    moves = answers[-1].moves
    assert {move.visits > 0 for move in moves} == {True, False}
    for move in moves:
        assert (move.win_rate is None) == (move.score_cp is None) == (move.visits == 0)
    assert answers[-1].win_rate is not None
