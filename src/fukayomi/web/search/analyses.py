"""Analyses of games (棋譜解析) on the page: jobs that make them, and documents that were made before.

An analysis goes to the page as the document that `fukayomi analyse --json` prints.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from fukayomi.shogi import Move, Position
from fukayomi.shogi.record import Record
from fukayomi.web.answers import LARGEST_UPLOAD, Question, Refused, json_answer, read_json
from fukayomi.web.positions import has_kings
from fukayomi.web.records import RecordTree
from fukayomi.web.state import State

if TYPE_CHECKING:
    from fukayomi.engine.analysis.game_analysis import GameAnalysis, PositionAnalysis, SearchLimits
    from fukayomi.engine.engine import Engine
    from fukayomi.engine.network import Network
    from fukayomi.engine.search import SearchResult

MOST_JOBS = 16
"""Jobs that wait or run; and as many finished ones are kept."""
JOB_MEMORY_MB = 256
"""Most memory for the tree of a job."""
MOST_JOB_NODES = 10_000_000
MOST_JOB_TIME_MS = 600_000
MOST_JOB_CANDIDATES = 20

JobState = Literal["waiting", "running", "done", "stopped", "failed"]


class JobLimits(Question):
    """Limits of the search of one position of a game; without any, those of `fukayomi analyse`."""

    nodes: Annotated[int, Field(ge=1, le=MOST_JOB_NODES)] | None = None
    time_ms: Annotated[int, Field(ge=1, le=MOST_JOB_TIME_MS)] | None = None
    multipv: Annotated[int, Field(ge=1, le=MOST_JOB_CANDIDATES)] | None = None

    def of(self, network: "Network") -> "SearchLimits":
        """The limits for the search by a network."""
        from fukayomi.engine.settings import ANALYSIS_CANDIDATES

        return network.analysis_limits(self.nodes, self.time_ms, self.multipv or ANALYSIS_CANDIDATES)


class JobQuestion(Question):
    """A game to be analysed, and how."""

    kind: Literal["analyse-game"]
    record: RecordTree
    limits: JobLimits = JobLimits()
    known: int | None = None
    """Number of an earlier job with the same game, to go on with what it has."""


class StoppedError(Exception):
    """A job was stopped."""


@dataclass(slots=True, eq=False)
class Job:
    """The analysis of a game."""

    number: int
    record: Record
    limits: JobLimits
    known: "GameAnalysis | None"
    total: int
    """Positions."""
    done: int = 0
    state: JobState = "waiting"
    text: str = ""
    """Reason of the failure."""
    engine: str = ""
    """Name and identity of the network, once it runs."""
    positions: "list[PositionAnalysis]" = field(default_factory=list["PositionAnalysis"])
    """Those that have been searched."""
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def result(self) -> "GameAnalysis | None":
        """Result so far."""
        from fukayomi.engine.analysis.analyser import assemble

        positions = tuple(self.positions)
        return assemble(self.record, positions, engine=self.engine, known=self.known) if positions else self.known

    def message(self) -> dict[str, Any]:
        """The message of a socket about it."""
        return {
            "type": "job", "id": self.number, "state": self.state, "done": self.done, "total": self.total,
            "text": self.text,
        }  # fmt: skip


class Jobs:
    """The jobs, one after the other in a thread; between two positions they let a live analysis with a limit go first.

    Args:
        state: Network, pages, and the live analysis.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._jobs: OrderedDict[int, Job] = OrderedDict()
        self._number = 0
        self._condition = threading.Condition()
        self._engine: Engine | None = None
        self._closed = False
        self._thread: threading.Thread | None = None
        state.add_closer(self.close)

    def add(self, question: JobQuestion) -> Job:
        """Begin a job, as soon as those before it are over.

        Raises:
            Refused: The record is damaged, no network can analyse it, or too many jobs wait.
        """
        record = question.record.record()
        if not has_kings(Position.from_sfen(record.initial_sfen, allow_missing_king=True)):
            raise Refused(400, "only games with both kings can be analysed")
        with self._condition:
            waiting = sum(job.state in ("waiting", "running") for job in self._jobs.values())
            if waiting >= MOST_JOBS:
                raise Refused(429, f"{waiting} analyses wait already")
            earlier = self._jobs.get(question.known) if question.known is not None else None
            known = earlier.result if earlier is not None else None
            if known is not None and not known.is_of_game(record):
                known = None
            self._number += 1
            job = Job(self._number, record, question.limits, known, len(record) + 1)
            self._jobs[job.number] = job
            over = [job for job in self._jobs.values() if job.state not in ("waiting", "running")]
            for old in over[:-MOST_JOBS]:
                del self._jobs[old.number]
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="fukayomi-web-jobs", daemon=True)
                self._thread.start()
            self._condition.notify_all()
        return job

    def get(self, number: int) -> Job:
        """A job.

        Raises:
            Refused: There is none with this number.
        """
        job = self._jobs.get(number)
        if job is None:
            raise Refused(404, f"no job {number}")
        return job

    def stop(self, number: int) -> None:
        """End a job; what it has found stays.

        Raises:
            Refused: There is none with this number.
        """
        job = self.get(number)
        with self._condition:
            job.stopped.set()
            if job.state == "waiting":
                job.state = "stopped"
            elif job.state == "running" and self._engine is not None:
                self._engine.stop()
            self._condition.notify_all()
        self._tell(job)

    def close(self) -> None:
        """End all jobs."""
        with self._condition:
            self._closed = True
            for job in self._jobs.values():
                job.stopped.set()
            if self._engine is not None:
                self._engine.stop()
            self._condition.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _tell(self, job: Job) -> None:
        self._state.hub.send_all(job.message(), ("job", job.number))

    def _run(self) -> None:
        from fukayomi.engine.engine import Engine
        from fukayomi.engine.evaluators import EvaluatorError

        while (job := self._next()) is not None:
            self._tell(job)
            try:
                network = self._state.network.wait()
                memory_mb = min(JOB_MEMORY_MB, self._state.network.usi.hash_mb)
                with Engine(network, memory_mb=memory_mb, settings=self._state.network.usi) as engine:
                    self._engine = engine
                    self._analyse(job, engine)
                job.state = "done"
            except StoppedError:
                job.state = "stopped"
            except EvaluatorError as error:
                job.state, job.text = "failed", str(error)
            except Exception as error:  # one job must not end all others
                job.state, job.text = "failed", f"internal error: {type(error).__name__}"
            finally:
                self._engine = None
            self._tell(job)

    def _next(self) -> Job | None:
        with self._condition:
            while True:
                if self._closed:
                    return None
                job = next((job for job in self._jobs.values() if job.state == "waiting"), None)
                if job is not None:
                    job.state = "running"
                    return job
                self._condition.wait()

    def _analyse(self, job: Job, engine: "Engine") -> None:
        from fukayomi.engine.analysis.analyser import analyse_positions

        job.engine = str(engine.network)
        if job.known is not None and job.known.engine != job.engine:
            job.known = None
        search = partial(self._search, job, engine)
        limits = job.limits.of(engine.network)
        for position in analyse_positions(job.record, search, limits=limits, known=job.known):
            job.positions.append(position)
            job.done = len(job.positions)
            self._tell(job)
            if job.stopped.is_set() and job.done < job.total:
                raise StoppedError

    def _search(
        self,
        job: Job,
        engine: "Engine",
        position: Position,
        *,
        nodes: int | None = None,
        time_ms: int | None = None,
        multipv: int = 1,
        compare: "Sequence[Move]" = (),
    ) -> "SearchResult":
        while True:
            self._state.live.let_go_first(job.stopped)
            if job.stopped.is_set():
                raise StoppedError
            with self._state.live.pausing(engine.stop) as pause:
                result = engine.search(position, nodes=nodes, time_ms=time_ms, multipv=multipv, compare=compare)
            if job.stopped.is_set():
                raise StoppedError
            if not pause.is_asked:
                return result


def routes(state: State) -> list[BaseRoute]:
    """Routes of this module."""
    jobs = Jobs(state)

    async def add(request: Request) -> Response:
        question = await read_json(request, JobQuestion)
        job = await run_in_threadpool(jobs.add, question)
        return json_answer({"id": job.number}, 202)

    async def get(request: Request) -> Response:
        job = jobs.get(request.path_params["number"])
        return json_answer(job.message() | {"result": await run_in_threadpool(_document, job)})

    async def stop(request: Request) -> Response:
        jobs.stop(request.path_params["number"])
        return json_answer({})

    return [
        Route("/api/jobs", add, methods=["POST"], max_body_size=LARGEST_UPLOAD),
        Route("/api/jobs/{number:int}", get),
        Route("/api/jobs/{number:int}", stop, methods=["DELETE"]),
    ]


def _document(job: Job) -> dict[str, Any] | None:
    result = job.result
    return None if result is None else result.to_dict()
