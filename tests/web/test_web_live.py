"""The live analysis: reports, ends, sharing, and what is kept; a real server, sockets, a search without network."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import sparse_files
from patience import until
from web_client import open_socket, receive, send

from fukayomi.shogi import START_SFEN, Position
from fukayomi.shogi.formats.notation import japanese_moves
from fukayomi.web import WebServer
from fukayomi.web.hub import Outbox
from fukayomi.web.search.live import LiveAnalysis, Query
from fukayomi.web.search.network_loader import NetworkLoader
from fukayomi.web.settings import WebSettings

SMALL = {"nodes": 300}


def end(socket: Any) -> dict[str, Any]:
    return receive(socket, "end")


def reports_until_end(socket: Any, number: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while (message := receive(socket, "report", "end"))["type"] == "report":
        assert message["id"] == number
        found.append(message)
    assert message["id"] == number
    return found, message


def test_lines_are_black_s_and_have_their_names(server: WebServer) -> None:
    with open_socket(server) as socket:
        send(socket, type="analyse", id=7, moves=["7g7f"], multipv=3, limit=SMALL, unknown=1)
        reports, ended = reports_until_end(socket, 7)
    report = reports[-1]
    assert (ended["reason"], len(report["lines"])) == ("limit", 3)
    assert report["visits"] >= 300
    assert report["nodes"] >= 300
    assert {"nps", "time_ms", "hashfull", "depth"} <= report.keys()
    position = Position.from_usi("startpos moves 7g7f")
    visits = [line["visits"] for line in report["lines"]]
    assert visits == sorted(visits, reverse=True)
    for line in report["lines"]:
        assert line["move"] == line["pv"][0]
        assert 0 < line["prior"] < 1
        assert line["mate"] is None
        assert (line["win_rate"] > 0.5) == (line["cp"] > 0) or line["cp"] == 0
        assert line["japanese"] == japanese_moves(position.sfen(), line["pv"])
        assert len(line["english"]) == len(line["pv"])
        assert line["japanese"][0].startswith("☖")


def test_same_square_is_named_after_the_move_before(server: WebServer) -> None:
    moves = ["7g7f", "3c3d", "8h2b+"]
    with open_socket(server) as socket:
        send(socket, type="analyse", id=1, moves=moves, multipv=20, limit={"nodes": 2000})
        reports, _ = reports_until_end(socket, 1)
    names = {line["move"]: line["japanese"][0] for line in reports[-1]["lines"]}
    assert names["3a2b"] == "☖同銀"


def test_side_of_the_score_is_black_s_whoever_moves(server: WebServer) -> None:
    mate_for = {"b": "4k4/9/4P4/9/9/9/9/9/4K4 b G 1", "w": "4k4/9/9/9/9/9/4p4/9/4K4 w g 1"}
    with open_socket(server) as socket:
        for number, (winner, sfen) in enumerate(mate_for.items()):
            send(socket, type="analyse", id=number, sfen=sfen, limit=SMALL)
            reports, ended = reports_until_end(socket, number)
            line = reports[-1]["lines"][0]
            sign = 1 if winner == "b" else -1
            assert (line["mate"], line["cp"], line["win_rate"]) == (sign, sign * 30_000, float(winner == "b"))
            assert ended["reason"] == "limit"


def test_stop_ends_a_search_without_limit(server: WebServer) -> None:
    with open_socket(server) as socket:
        send(socket, type="analyse", id=1, moves=["2g2f"], limit=None)
        assert receive(socket, "report")["id"] == 1
        send(socket, type="stop", id=5)  # another number: nothing happens
        send(socket, type="stop", id=1)
        _, ended = reports_until_end(socket, 1)
        assert ended["reason"] == "stopped"
        send(socket, type="stop", id=1)  # it has ended: no second end
        send(socket, type="analyse", id=2, moves=["2g2f"], limit={"nodes": 1})
        assert reports_until_end(socket, 2)[1]["reason"] == "limit"


def test_newest_request_wins_and_every_id_ends_once(server: WebServer) -> None:
    lines = (["7g7f"], ["2g2f"], ["6g6f"], ["5g5f"], ["4g4f"])
    with open_socket(server) as socket:
        for number, moves in enumerate(lines):
            send(socket, type="analyse", id=number, moves=moves, limit=None)
        send(socket, type="analyse", id=99, moves=["1g1f"], limit=SMALL)
        ends = [end(socket) for _ in range(len(lines) + 1)]
    assert [(message["id"], message["reason"]) for message in ends] == [
        *((number, "stopped") for number in range(len(lines))),
        (99, "limit"),
    ]


def test_page_that_asks_last_takes_the_engine(server: WebServer) -> None:
    with open_socket(server) as first, open_socket(server) as second:
        send(first, type="analyse", id=1, moves=["7g7f"], limit=None)
        receive(first, "report")
        send(second, type="analyse", id=1, moves=["2g2f"], limit=None)
        assert end(first)["reason"] == "taken"
        assert receive(second, "report")["id"] == 1
        send(first, type="analyse", id=2, moves=["7g7f"], limit=None)  # taken back
        assert end(second)["reason"] == "taken"
        assert receive(first, "report")["id"] == 2


def test_equal_requests_share_a_search_that_ends_with_the_last(serve) -> None:
    server = serve()
    asked = {"type": "analyse", "moves": ["7g7f"], "multipv": 4, "limit": None}
    with open_socket(server) as first, open_socket(server) as second, open_socket(server) as third:
        send(first, id=1, **asked)
        receive(first, "report")
        send(second, id=5, **asked)
        assert receive(second, "report")["id"] == 5
        send(third, id=9, **asked)
        assert receive(third, "report")["id"] == 9
        send(first, type="stop", id=1)
        assert reports_until_end(first, 1)[1]["reason"] == "stopped"
        nodes = receive(second, "report")["nodes"]
        until(lambda: receive(second, "report")["nodes"] > nodes)  # it goes on for the others
    until(lambda: live_of(server)._running is None)  # all have left: it has stopped


def test_twenty_pages_watch_one_search(serve) -> None:
    server = serve()
    with ExitStack() as opened:
        sockets = [opened.enter_context(open_socket(server)) for _ in range(20)]
        for number, socket in enumerate(sockets):
            send(socket, type="analyse", id=number, moves=["7g7f"], limit=None)
        for number, socket in enumerate(sockets):
            assert receive(socket, "report", "end")["type"] == "report"
            send(socket, type="stop", id=number)
            assert reports_until_end(socket, number)[1]["reason"] == "stopped"
    assert live_of(server).searches == 1


def live_of(server: WebServer) -> LiveAnalysis:
    """The live analysis inside a server."""
    return server.state.live


def test_result_is_shown_at_once_on_return_and_not_searched_again(serve) -> None:
    server = serve()
    with open_socket(server) as socket:
        for number, moves in enumerate((["7g7f"], ["2g2f"])):
            send(socket, type="analyse", id=number, moves=moves, limit=SMALL)
            first, _ = reports_until_end(socket, number)
        searches = live_of(server).searches
        send(socket, type="analyse", id=5, moves=["7g7f"], limit=SMALL)
        reports, ended = reports_until_end(socket, 5)
        assert (len(reports), reports[0]["stored"], ended["reason"]) == (1, True, "limit")
        assert reports[0]["visits"] >= 300
        assert live_of(server).searches == searches
        send(socket, type="analyse", id=6, moves=["7g7f"], limit={"nodes": 1000})  # more than is known
        reports, _ = reports_until_end(socket, 6)
        assert reports[0]["stored"] is True
        assert reports[-1]["visits"] >= 1000
        assert [report["visits"] for report in reports] == sorted(report["visits"] for report in reports)
        assert live_of(server).searches == searches + 1
        assert first[-1]["lines"]


@pytest.mark.parametrize(
    "fields",
    [
        {"sfen": "x"}, {"moves": ["7g7e"]}, {"moves": ["7g7f"] * 3000}, {"multipv": 0}, {"multipv": 21},
        {"limit": {"nodes": 0}}, {"limit": {"time_ms": -1}}, {"limit": 5}, {"moves": 3},
        {"sfen": "4k4/9/4P4/9/9/9/9/9/9 b G 1"}, {"sfen": "x" * 201},
    ],
)  # fmt: skip
def test_what_cannot_be_searched_ends_with_an_error(server: WebServer, fields: dict[str, Any]) -> None:
    with open_socket(server) as socket:
        send(socket, type="analyse", id=3, **fields)
        ended = end(socket)
    assert (ended["id"], ended["reason"]) == (3, "error")
    assert ended["text"]


GARBAGE = ("", "{", "[]", "7", '{"type": "boom"}', '{"type": "analyse"}', '{"type": "stop", "id": -1}', '"\\ud800"')


@pytest.mark.parametrize("text", GARBAGE)
def test_garbage_on_a_socket_is_answered_and_the_socket_lives(server: WebServer, text: str) -> None:
    with open_socket(server) as socket:
        socket.send(text)
        assert receive(socket, "error")["text"]
        send(socket, type="analyse", id=1, limit={"nodes": 1})
        assert end(socket)["reason"] == "limit"


def test_mated_position_has_no_lines(server: WebServer) -> None:
    with open_socket(server) as socket:
        send(socket, type="analyse", id=1, sfen="4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1", limit=None)
        ended = end(socket)
    assert (ended["reason"], ended["text"]) == ("limit", "mate")


def test_a_sparse_network_is_loaded_and_searches(serve, tmp_path) -> None:
    model = sparse_files.write(tmp_path, sparse_files.SMALL).path
    server = serve(evaluator="", model=model, options=(("MultiPV", "2"),))
    with open_socket(server) as socket:
        until(lambda: receive(socket, "state")["state"]["network"]["state"] == "ready")
        send(socket, type="analyse", id=1, moves=["7g7f"], multipv=2, limit=SMALL)
        reports, ended = reports_until_end(socket, 1)
    assert ended["reason"] == "limit"
    assert reports[-1]["nodes"] >= 300
    assert server.state.network.wait().name == "network.sparse"


def test_network_that_cannot_be_loaded_is_told(serve, tmp_path) -> None:
    server = serve(evaluator="", model=tmp_path / "missing.onnx")
    with open_socket(server) as socket:
        until(lambda: receive(socket, "state")["state"]["network"]["state"] == "failed")
        send(socket, type="analyse", id=1, limit=SMALL)
        ended = end(socket)
    assert ended["reason"] == "error"
    assert "missing.onnx" in ended["text"]
    assert str(tmp_path) not in ended["text"]


class Gate(NetworkLoader):
    """A network that is loaded when the test says so."""

    def __init__(self) -> None:
        super().__init__(WebSettings(evaluator="<hash>"), lambda: None)
        self.opened = threading.Event()

    def wait(self) -> Any:
        self.opened.wait()
        return super().wait()


class Box(Outbox):
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any], kind: object = None) -> None:
        self.messages.append(message)

    def ends(self) -> list[tuple[int, str]]:
        return [(message["id"], message["reason"]) for message in self.messages if message["type"] == "end"]


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    gate.start()
    yield gate
    gate.opened.set()
    gate.close()


def test_requests_wait_for_the_network_and_only_the_newest_is_searched(gate: Gate) -> None:
    live = LiveAnalysis(gate)
    boxes = [Box() for _ in range(3)]
    for number, box in enumerate(boxes):
        live.analyse(box, number, Query(START_SFEN, ("7g7f", "3c3d")[:number], 5, 50, None))
    assert [box.ends() for box in boxes[:2]] == [[(0, "taken")], [(1, "taken")]]
    gate.opened.set()
    until(lambda: boxes[2].ends())
    live.close()
    assert boxes[2].ends() == [(2, "limit")]
    assert live.searches == 1


def test_reports_come_at_most_about_five_times_a_second(gate: Gate) -> None:
    gate.opened.set()
    live = LiveAnalysis(gate)
    box = Box()
    began = time.monotonic()
    live.analyse(box, 1, Query(START_SFEN, (), 5, None, 1000))
    until(box.ends)
    live.close()
    reports = [message for message in box.messages if message["type"] == "report"]
    assert 1 <= len(reports) <= 2 + (time.monotonic() - began) / 0.15  # the first after 0.1 s, and the last at the end


def test_searches_pause_while_a_game_is_answered(gate: Gate) -> None:
    gate.opened.set()
    live, box = LiveAnalysis(gate), Box()

    def nodes() -> int:
        return max((message["nodes"] for message in box.messages if message["type"] == "report"), default=0)

    live.analyse(box, 1, Query(START_SFEN, (), 5, None, None))
    until(nodes)
    job = threading.Event()
    with live.pausing(job.set) as pause, live.game_first():
        assert pause.is_asked
        assert job.is_set()
        until(lambda: not live._pauses - {pause})  # pyright: ignore[reportPrivateUsage]
        before, visits = nodes(), box.messages[-1]["visits"]
        time.sleep(0.5)  # reports would come five times a second
        assert nodes() == before
        assert box.ends() == []
    until(lambda: nodes() > before)
    assert box.messages[-1]["visits"] > visits  # it goes on with its tree
    assert live.searches == 1
    live.analyse(box, 2, Query(START_SFEN, ("7g7f",), 5, 400, None))
    with live.game_first():  # before it has begun, or after: it has its nodes in the end
        pass
    until(lambda: box.ends()[-1] == (2, "limit"))
    assert box.messages[-2]["nodes"] >= 400
    with live.game_first():
        live.analyse(box, 3, Query(START_SFEN, ("2g2f",), 5, None, None))
        live.stop(box, 3)  # also while it waits
    assert box.ends()[-1] == (3, "stopped")
    live.close()


def test_jobs_let_a_search_with_a_limit_go_first(gate: Gate) -> None:
    live, box, given_up, over = LiveAnalysis(gate), Box(), threading.Event(), threading.Event()
    live.analyse(box, 1, Query(START_SFEN, (), 5, 50, None))
    job = threading.Thread(target=lambda: (live.let_go_first(given_up), over.set()))
    job.start()
    assert not over.is_set()
    gate.opened.set()
    job.join()
    assert box.ends() == [(1, "limit")]
    live.analyse(box, 2, Query(START_SFEN, (), 5, None, None))  # without a limit: both go on
    live.let_go_first(given_up)
    live.close()
    assert box.ends()[-1] == (2, "stopped")
