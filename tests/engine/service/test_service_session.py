"""The lines of an analysis service: queries in, answers out, hostile input, and clients that do not read."""

import io
import json
import os
import threading
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import PATIENCE_S
from service_schema import LINE, checked_answer

from fukayomi import __version__
from fukayomi.engine import AnalysisService, Network
from fukayomi.engine.service.session import ServiceSession
from fukayomi.engine.usi_input import LINE_BYTES

GAME = ["7g7f", "3c3d", "2g2f", "8c8d"]


@pytest.fixture(scope="module")
def service() -> Generator[AnalysisService]:
    with Network("<hash>") as network, AnalysisService(network, memory_mb=64) as service:
        yield service


def talk(service: AnalysisService, *lines: bytes | dict[str, Any]) -> list[dict[str, Any]]:
    """All answers to these lines; the input ends after them."""
    text = b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)
    out = io.StringIO()
    ServiceSession(service, io.BytesIO(text), out).run()
    return [checked_answer(line) for line in out.getvalue().splitlines()]


def test_each_turn_has_an_answer(service: AnalysisService) -> None:
    query = {"id": "g", "moves": GAME, "turns": [0, 2, 4], "visits": 30, "multipv": 2}
    assert LINE.is_valid(query)
    answers = talk(service, query, {"id": 7, "visits": 20.0})
    assert sorted((str(answer["id"]), answer["turn"], answer["visits"]) for answer in answers) == [
        ("7", 0, 20), ("g", 0, 30), ("g", 2, 30), ("g", 4, 30),
    ]  # fmt: skip
    assert {len(answer["moves"]) for answer in answers} == {2, 3}


def test_actions(service: AnalysisService) -> None:
    (version,) = talk(service, {"id": 1, "action": "version"})
    assert version == {"id": 1, "action": "version", "version": __version__, "network": "hash (hash-0)"}
    assert talk(service, {"id": "nobody", "action": "terminate"}) == [{"id": "nobody", "action": "terminate"}]
    endless = {"id": "long", "moves": GAME, "turns": [0, 1, 2, 3, 4], "visits": 10**9, "report_every_ms": 10}
    answers = talk(service, endless, {"id": "long", "action": "terminate"})
    final = [answer for answer in answers if answer.get("is_during_search") is False]
    assert sorted(answer["turn"] for answer in final) == [0, 1, 2, 3, 4]
    assert [answer for answer in answers if "action" in answer] == [{"id": "long", "action": "terminate"}]


def test_an_id_may_be_used_again_when_it_is_answered(service: AnalysisService) -> None:
    read, write = os.pipe()
    reads, writes = os.pipe()
    with os.fdopen(read, "rb") as lines, os.fdopen(write, "w", 1) as client, os.fdopen(writes, "w") as out:
        thread = threading.Thread(target=ServiceSession(service, lines, out).run)
        thread.start()
        with os.fdopen(reads) as answers:
            for _ in range(20):
                client.write('{"id": 1, "visits": 2}\n')
                assert "error" not in checked_answer(answers.readline())
            client.write('{"id": 1, "visits": 1000000000}\n{"id": 1}\n')
            assert checked_answer(answers.readline())["error"].startswith("id: another query with this id")
            client.write('{"id": 1, "action": "terminate"}\n')
            assert {checked_answer(answers.readline()).get("turn") for _ in range(2)} == {0, None}
            client.close()
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"hello", "not JSON: Expecting value"),
        (b"\xff\xfe{}", "not UTF-8: byte 1"),
        (b'{"id": "a\xff"}', "not UTF-8: byte 10"),
        (b"[1]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"{}", "id: must be text"),
        (b'{"id": true}', "id: must be text"),
        (b'{"id": null}', "id: must be text"),
        (b'{"id": ""}', "id: must be text"),
        (b'{"id": "%s"}' % (b"a" * 201), "id: must be text"),
        (b'{"id": 1, "id": 2}', "id: given twice"),
        (b'{"id": 1, "visits": NaN}', "not JSON: NaN"),
        (b'{"id": 1, "visits": -Infinity}', "not JSON: -Infinity"),
        (b'{"id": 1' + b"0" * 5000 + b"}", "id: must be text"),
        (b"[" * 100_000 + b"]" * 100_000, "not a query: nested too deeply"),
        (b'{"id": 1, "sfen": "' + b"x" * LINE_BYTES + b'"}', f"it has more than {LINE_BYTES} bytes"),
        (b'{"id": 1}\r{"id": 2}', "not JSON: Extra data"),
    ],
)
def test_lines_that_are_no_queries(service: AnalysisService, line: bytes, message: str) -> None:
    answers = talk(service, b"", line, {"id": "after", "visits": 1})
    assert answers[0]["id"] is None
    assert answers[0]["error"].startswith(f"line 2: {message}")
    assert answers[1]["id"] == "after"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"visits": 1e999}, "visits: must be"),
        ({"visits": 1.5}, "visits: must be"),
        ({"visits": "LONG"}, "visits: must be"),
        ({"moves": ["7g7e"]}, "moves[0]: illegal move"),
        ({"moves": {"0": "7g7f"}}, "moves: must be a list"),
        ({"sfen": "\ud800"}, "sfen: "),
        ({"\u202e": 1}, "\u202e: no such field"),
        ({"action": "stop"}, "action: must be one of terminate, version"),
        ({"action": ["version"]}, "action: must be"),
        ({"action": "version", "visits": 1}, "visits: no field of version"),
    ],
)
def test_queries_that_cannot_be_answered(service: AnalysisService, fields: dict[str, Any], message: str) -> None:
    line = json.dumps({"id": "q\ud800", **fields}).replace("Infinity", "1e999")
    line = line.replace('"LONG"', "-1" + "0" * 5000).encode()
    answers = talk(service, line, {"id": "after", "visits": 1})
    assert answers[0]["id"] == "q\ud800"
    assert answers[0]["error"].startswith(message)
    assert answers[1]["id"] == "after"


@given(st.lists(st.binary(max_size=60) | st.text(max_size=60).map(str.encode), max_size=5))
def test_any_bytes_are_answered(service: AnalysisService, lines: list[bytes]) -> None:
    answers = talk(service, *lines, {"id": "after", "visits": 1})
    assert answers[-1]["id"] == "after"
    assert all("error" in answer for answer in answers[:-1])


def test_a_client_that_does_not_read_is_waited_for(service: AnalysisService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fukayomi.engine.service.session.MOST_ANSWERS", 2)

    class Slow(io.StringIO):
        def write(self, text: str, /) -> int:
            reads.wait(PATIENCE_S)
            return super().write(text)

    reads = threading.Event()
    query = {"id": "a", "moves": GAME, "turns": [0, 1, 2, 3, 4], "visits": 3}
    out = Slow()
    session = ServiceSession(service, io.BytesIO(json.dumps(query).encode()), out)
    thread = threading.Thread(target=session.run)
    thread.start()
    reads.set()
    thread.join(PATIENCE_S)
    assert sorted(checked_answer(line)["turn"] for line in out.getvalue().splitlines()) == [0, 1, 2, 3, 4]


def test_a_query_that_comes_after_the_end_is_not_searched(service: AnalysisService) -> None:
    is_over = threading.Event()

    class Broken(io.StringIO):
        def write(self, text: str, /) -> int:
            raise BrokenPipeError

    class Late(io.BytesIO):
        """Its second line comes when nobody listens any more."""

        def readline(self, size: int | None = -1, /) -> bytes:
            line = super().readline(size)
            if b"endless" in line:
                is_over.wait(PATIENCE_S)
            return line

    others = set(threading.enumerate())
    lines = Late(b'{"id": 1, "visits": 1}\n{"id": "endless", "visits": 1000000000}\n')
    with pytest.raises(BrokenPipeError):
        ServiceSession(service, lines, Broken()).run()
    is_over.set()
    (reader,) = (each for each in {*threading.enumerate()} - others if each.name == "fukayomi-queries")
    reader.join(PATIENCE_S)
    assert not reader.is_alive()
    service.finish()


def test_an_output_that_fails_ends_the_searches(service: AnalysisService) -> None:
    class Broken(io.StringIO):
        def write(self, text: str, /) -> int:
            raise BrokenPipeError

    read, write = os.pipe()
    with os.fdopen(read, "rb") as lines, os.fdopen(write, "w", 1) as client:
        client.write('{"id": 1, "visits": 1000000000}\n{"id": 2, "visits": 1}\n')
        with pytest.raises(BrokenPipeError):
            ServiceSession(service, lines, Broken()).run()
        service.finish()
