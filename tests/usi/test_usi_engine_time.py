"""The USI engine and the clock."""

import time

import pytest
from engine_talk import DECLARED, MATE_IN_ONE, MATED, ONE_MOVE, Start, moves_of, never_answers, next_line, strings
from patience import PATIENCE_S, one_of_several, seconds_of

from fukayomi.shogi import Position
from fukayomi.usi.client import EngineTimeoutError, UsiClient
from fukayomi.usi.text import Go

BATCH_S = str(2 * PATIENCE_S)
"""Seconds for a batch: whoever waits for it is late on any machine."""
LEAST_S = 0.5
"""The least of a second that is used whole: after late answers on a busy machine the margin grows, up to half."""


@pytest.mark.parametrize("sfen", [None, MATE_IN_ONE, MATED, ONE_MOVE, DECLARED])
@pytest.mark.parametrize("go", [Go(infinite=True), Go(ponder=True, btime_ms=10, wtime_ms=10, byoyomi_ms=10), Go()])
def test_infinite_and_ponder_wait_for_stop(start: Start, sfen: str | None, go: Go) -> None:
    client = start(PV_Interval="0", USI_Hash="16")
    client.position(sfen)
    client.start_go(go)
    never_answers(client, 0.1)
    client.stop()
    answer = client.wait_answer(PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.bestmove.move in moves_of(sfen) | {"resign", "win"}


def test_a_full_memory_does_not_end_infinite(start: Start) -> None:
    client = start(USI_Hash="16", PV_Interval="100")
    client.position()
    client.start_go(Go(infinite=True))
    never_answers(client, 1.5)
    client.stop()
    assert client.wait_answer(PATIENCE_S).bestmove is not None


def test_stop_does_not_wait_for_the_batch_in_flight(start: Start) -> None:
    client = start("slow", BATCH_S)
    client.position()

    def stopped() -> None:
        client.stop()
        client.wait_answer(PATIENCE_S)

    def seconds_of_a_stop() -> float:
        client.start_go(Go(infinite=True))
        time.sleep(0.1)
        return seconds_of(stopped)

    seconds = [seconds_of_a_stop() for _ in range(3)]
    assert max(seconds) < PATIENCE_S / 2
    assert one_of_several(seconds_of_a_stop, lambda seconds: seconds < 0.1) < 0.1
    assert client.close(PATIENCE_S / 2) == 0  # nor does quit


def test_the_clock_does_not_wait_for_the_batch_in_flight(start: Start) -> None:
    client = start("slow", BATCH_S)

    def answered() -> float:
        client.position()
        answer = client.go(Go(byoyomi_ms=1000, btime_ms=0, wtime_ms=0), PATIENCE_S)
        assert answer.bestmove is not None
        assert answer.bestmove.move in moves_of()
        return answer.seconds

    assert answered() < PATIENCE_S / 2
    assert one_of_several(answered, lambda seconds: seconds < 1.0) < 1.0


@pytest.mark.parametrize(
    ("go", "least", "most"),
    [
        (Go(btime_ms=0, wtime_ms=0, byoyomi_ms=1000), LEAST_S, 1.0),
        (Go(movetime_ms=1000), LEAST_S, 1.0),
        (Go(btime_ms=10_000, wtime_ms=0), 0.0, 1.0),
        (Go(btime_ms=2000, wtime_ms=0, binc_ms=100, winc_ms=0), 0.0, 0.5),
        (Go(btime_ms=300, wtime_ms=300, binc_ms=300, winc_ms=300), 0.0, 0.3),
        (Go(wtime_ms=60_000), 0.0, 0.3),  # only the opponent's clock
        (Go(byoyomi_ms=0), 0.0, 0.3),
        (Go(btime_ms=-50, wtime_ms=0, byoyomi_ms=1000), 0.0, 1.0),
        (Go(movetime_ms=0), 0.0, 0.2),
    ],
)
def test_keeps_time(start: Start, go: Go, least: float, most: float) -> None:
    client = start()

    def answered() -> float:
        client.position()
        seconds = client.go(go, PATIENCE_S).seconds
        assert seconds >= least
        return seconds

    assert one_of_several(answered, lambda seconds: seconds <= most) <= most


def test_the_margin_is_fitted_to_a_short_time(start: Start) -> None:
    client = start(DebugMessage="true")
    client.position()
    said = [info.string or "" for info in client.go(Go(movetime_ms=100), PATIENCE_S).infos]
    planned = [float(text.split()[1]) for text in said if "planned" in text]
    assert len(planned) == 1
    assert 0.1 * LEAST_S <= planned[0] <= 0.09


def test_ponderhit_starts_the_clock(start: Start) -> None:
    client = start()

    def hit() -> float:
        client.position(None, ("7g7f", "3c3d"))
        client.start_go(Go(ponder=True, btime_ms=0, wtime_ms=0, byoyomi_ms=1000))
        never_answers(client, 1.2)
        client.ponderhit()
        seconds = client.wait_answer(PATIENCE_S).seconds
        assert seconds >= LEAST_S
        return seconds

    assert one_of_several(hit, lambda seconds: seconds <= 1.0) <= 1.0


def test_ponderhit_with_times(start: Start) -> None:
    client = start()

    def hit() -> float:
        client.position(None, ("7g7f", "3c3d"))
        client.start_go(Go(ponder=True))
        never_answers(client, 0.3)
        client.ponderhit(Go(btime_ms=0, wtime_ms=0, byoyomi_ms=1000))
        seconds = client.wait_answer(PATIENCE_S).seconds
        assert seconds >= LEAST_S
        return seconds

    assert one_of_several(hit, lambda seconds: seconds <= 1.0) <= 1.0


def test_ponderhit_without_times_answers_at_once(start: Start) -> None:
    client = start()
    client.position()
    client.start_go(Go(ponder=True))
    client.ponderhit()
    assert client.wait_answer(PATIENCE_S).bestmove is not None
    client.send("ponderhit")
    assert len(strings(client)) == 1


def test_stochastic_ponder_keeps_the_tree_of_the_answer_and_names_no_move(start: Start) -> None:
    client = start(Stochastic_Ponder="true", USI_Ponder="true", fresh=True)
    client.position()
    answer = client.go(Go(btime_ms=0, wtime_ms=0, byoyomi_ms=300), PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.bestmove.ponder is None
    with pytest.raises(EngineTimeoutError):
        next_line(client, 0.3)  # it searches on silently
    reply = next(iter(Position.from_usi(f"startpos moves {answer.bestmove.move}").legal_moves)).usi()
    client.position(None, (answer.bestmove.move, reply))
    assert client.go(Go(nodes=100), PATIENCE_S).bestmove is not None
    assert client.close() == 0


def test_without_usi_ponder_the_opponents_time_is_his_own(start: Start) -> None:
    client = start(Stochastic_Ponder="true")
    client.position()
    answer = client.go(Go(nodes=50), PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.bestmove.ponder is not None


def end_of(client: UsiClient, go: Go) -> tuple[str, int]:
    """Why a search ended, and after how many nodes."""
    infos = client.go(go, 60).infos
    reasons = [info.string for info in infos if info.string and "search ended" in info.string]
    nodes = [info.nodes for info in infos if info.nodes is not None]
    return reasons[-1].partition(": ")[2], nodes[-1]


def test_a_search_by_the_clock_ends_when_it_learns_nothing_more(start: Start) -> None:
    client = start(DebugMessage="true", KLD_Min_Gain="1000000")
    client.position()
    why, _ = end_of(client, Go(btime_ms=2_000_000, wtime_ms=2_000_000))
    assert why in ("more visits change nothing", "no other move can catch up")
    why, nodes = end_of(start(DebugMessage="true", KLD_Min_Gain="1000000"), Go(nodes=500))
    assert (why, nodes) == ("limit reached", 500)  # not one by nodes


def test_nodes_are_saved_only_where_the_option_says_so(start: Start) -> None:
    forced = "8k/9/9/9/9/9/9/r8/K8 b - 1"  # two moves at most

    def nodes(**options: str) -> int:
        client = start(DebugMessage="true", **options)
        client.position(forced)
        return end_of(client, Go(nodes=3000))[1]

    assert nodes(Early_Stop_Nodes="true") < 3000
    assert nodes() == 3000
    assert nodes(Early_Stop_Nodes="true", MultiPV="2") == 3000
