"""The analysis service on two streams: queries and answers are JSON objects, each on a line (docs/analysis-service.md).

One thread reads lines and hands the queries to the service. The service's threads put answers into a queue, and the
thread that runs the session writes them. The queue is short: a client that does not read is waited for, and only
answers during a search are left out then.
"""

import contextlib
import json
import queue
import threading
from collections.abc import Iterator
from typing import Any, BinaryIO, NoReturn, TextIO, cast

import fukayomi
from fukayomi.engine.service.query import AnalysisQuery, QueryError, TurnAnswer
from fukayomi.engine.service.service import AnalysisService, RunningQuery
from fukayomi.engine.usi_input import BOM, LINE_BYTES

ACTIONS = ("terminate", "version")
LONGEST_ID = 200
"""Characters."""
LARGEST_ID = 2**53
"""Beyond this some languages do not keep whole numbers."""
MOST_ANSWERS = 1_000
"""Answers that may wait for being written."""
CHECK_S = 0.1
"""Pause between looks whether the session is over."""

_Fields = dict[str, Any]


class ServiceSession:
    """Answers the queries of one client.

    Args:
        service: The service; it stays open.
        lines: What the client writes.
        answers: What it reads.
    """

    def __init__(self, service: AnalysisService, lines: BinaryIO, answers: TextIO) -> None:
        self._service = service
        self._lines = lines
        self._out = answers
        self._queue: queue.Queue[_Fields | None] = queue.Queue(MOST_ANSWERS)
        self._is_over = threading.Event()
        self._running: dict[str | int, RunningQuery] = {}
        self._unsaid = 0  # turns without a final answer in the queue
        self._changed = threading.Condition()  # guards the two above

    def run(self) -> None:
        """Answer until the lines end and all queries are answered."""
        threading.Thread(target=self._read, name="fukayomi-queries", daemon=True).start()
        try:
            while (answer := self._queue.get()) is not None:
                self._out.write(json.dumps(answer, allow_nan=False, separators=(",", ":")) + "\n")
                if self._queue.empty():
                    self._out.flush()
        finally:
            self._is_over.set()
            with self._changed:
                running = tuple(self._running.values())
            for each in running:
                each.cancel()

    # ------------------------------------------------------------------------------------------ the reading thread

    def _read(self) -> None:
        """Take queries until the lines end, then wait for their answers."""
        for number, line in enumerate(self._bounded_lines(), 1):
            query_id: str | int | None = None
            try:
                given = _parse(line.removeprefix(BOM.encode()) if number == 1 else line)
                if given is None:
                    continue
                query_id = _take_id(given)
                if "action" in given:
                    self._act(query_id, given)
                else:
                    self._submit(query_id, AnalysisQuery.from_fields(given))
            except QueryError as error:
                place = f"line {number}: " if query_id is None else ""
                self._say({"id": query_id, "error": f"{place}{error}"})
        with self._changed:
            self._changed.wait_for(lambda: self._unsaid == 0)
        self._say(None)

    def _bounded_lines(self) -> Iterator[bytes]:
        """The lines; of one that is too long the beginning, which is longer than a line may be."""
        while not self._is_over.is_set() and (line := self._lines.readline(LINE_BYTES + 1)):
            rest = line
            while len(rest) > LINE_BYTES and not rest.endswith(b"\n"):
                rest = self._lines.readline(LINE_BYTES + 1)
            yield line

    def _act(self, query_id: str | int, given: _Fields) -> None:
        action: object = given.pop("action")
        if action not in ACTIONS:
            raise QueryError(f"action: must be one of {', '.join(ACTIONS)}")
        for name in given:
            raise QueryError(f"{name[:LONGEST_ID]}: no field of {action}, which has id and action only")
        answer: _Fields = {"id": query_id, "action": action}
        if action == "version":
            answer |= {"version": fukayomi.__version__, "network": str(self._service.network)}
        else:
            with self._changed:
                running = self._running.get(query_id)
            if running is not None:  # or it has been answered by now
                running.cancel()
        self._say(answer)

    def _submit(self, query_id: str | int, query: AnalysisQuery) -> None:
        left = len(query.turns)

        def listen(answer: TurnAnswer) -> None:
            nonlocal left
            fields = {"id": query_id} | answer.to_fields()
            if answer.is_during_search:
                with contextlib.suppress(queue.Full):
                    self._queue.put_nowait(fields)
                return
            with self._changed:
                left -= 1
                if left == 0:  # first, so that the client may use the id again as soon as it reads this
                    del self._running[query_id]
            self._say(fields)
            with self._changed:
                self._unsaid -= 1
                self._changed.notify_all()

        with self._changed:
            if self._is_over.is_set():  # the last moment: what was running has been cancelled
                return
            if query_id in self._running:
                raise QueryError("id: another query with this id is not answered yet")
            self._running[query_id] = self._service.submit(query, listen)
            self._unsaid += left

    def _say(self, answer: _Fields | None) -> None:
        """Have a line written; None: there are no more."""
        while not self._is_over.is_set():
            with contextlib.suppress(queue.Full):
                self._queue.put(answer, timeout=CHECK_S)
                return


def _parse(line: bytes) -> _Fields | None:
    """The fields of a line; None if it is empty.

    Raises:
        QueryError: It is too long, or no JSON object.
    """
    if len(line) > LINE_BYTES:
        raise QueryError(f"it has more than {LINE_BYTES} bytes")
    try:
        text = line.decode("utf-8")
        if not text.strip():
            return None
        given: object = json.loads(
            text, parse_constant=_refuse, parse_float=_number, parse_int=_integer, object_pairs_hook=_unique
        )
    except QueryError:
        raise
    except json.JSONDecodeError as error:
        raise QueryError(f"not JSON: {error.msg}, column {error.colno}") from error
    except UnicodeDecodeError as error:
        raise QueryError(f"not UTF-8: byte {error.start + 1}") from error
    except RecursionError as error:
        raise QueryError("not a query: nested too deeply") from error
    if not isinstance(given, dict):
        raise QueryError("not a JSON object")
    return cast(_Fields, given)


def _refuse(name: str) -> NoReturn:
    raise QueryError(f"not JSON: {name} is no number of JSON")


def _number(text: str) -> float:
    """A number with a point or an exponent: 400.0 is the whole number 400, as some programs write it."""
    value = float(text)
    return int(value) if value.is_integer() else value


def _integer(text: str) -> int | float:
    """A whole number; infinity if it has more digits than Python reads, which no field takes."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def _unique(pairs: list[tuple[str, Any]]) -> _Fields:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise QueryError(f"{double[:LONGEST_ID]}: given twice")
    return found


def _take_id(given: _Fields) -> str | int:
    """Remove the id, and return it.

    Raises:
        QueryError: There is none, or it cannot be used.
    """
    query_id: object = given.pop("id", None)
    if type(query_id) is int and abs(query_id) <= LARGEST_ID:
        return query_id
    if isinstance(query_id, str) and 1 <= len(query_id) <= LONGEST_ID:
        return query_id
    raise QueryError(f"id: must be text of 1 to {LONGEST_ID} characters, or a whole number")
