"""The USI session: a state machine between a GUI and the search.

There are three kinds of threads. One reads lines and notes the time of their arrival. The main loop handles them; it is
never busy for long, because loading a network and searching have threads of their own, which report to it
(`events`). All output goes through one lock.

Every ``go`` gets exactly one ``bestmove`` (``go mate``: one ``checkmate``): when the search ends, when
``stop`` arrives, or when the GUI sends another command without ``stop``, as some do at the end of a game. ``go
infinite`` and ``go ponder`` get none before that. ``quit`` and the end of the input end the engine after what was asked
before has been answered; `events` says how long that may take.

After a ``position`` that cannot be played (invalid, or without a king) every ``go`` is answered by ``bestmove resign``:
a move of an earlier position would be a move in another game.
"""

import contextlib
import math
import threading
import time
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, BinaryIO

from fukayomi.engine import network
from fukayomi.engine.answer.move_choice import Known, MoveChoice, has_limits, limits_of
from fukayomi.engine.answer.output import Output, info_lines
from fukayomi.engine.control import Budget, Control, Lateness, Limits
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.settings import UsiSettings, usi_options
from fukayomi.engine.usi.events import Busy, EndOfInput, Event, Events, Loaded, Searched, Solved
from fukayomi.engine.usi.job import Job, MateJob
from fukayomi.engine.usi_input import Line, read_lines
from fukayomi.shogi import BLACK, WHITE, Position, ShogiError
from fukayomi.tabular import printable
from fukayomi.usi.options import OptionError
from fukayomi.usi.text import (
    RESIGN,
    WIN,
    BestMove,
    Checkmate,
    Command,
    GameOver,
    Go,
    PonderHit,
    SetOption,
    SetPosition,
    SimpleCommand,
    UsiTextError,
    shorten,
)

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.protocol import Evaluator
    from fukayomi.engine.search import Searcher

LOADING_NOTICE_S = 5.0
"""While the network is loading, the GUI is told so at this interval."""
GONE_S = 1.0
"""After the end of the input it is found within this time that nobody reads the output either."""
UNTIL_STOPPED = Limits(until_stopped=True)
REFUSED = "the last position was refused"
LoadEvaluators = Callable[[UsiSettings], "Sequence[Evaluator]"]


class State(Enum):
    """State of the engine."""

    IDLE = auto()
    """No search is running; the network may not be loaded yet."""
    LOADING = auto()
    """The network is loading; all commands but `quit` wait."""
    THINKING = auto()
    """A search that ends by itself."""
    WAITING = auto()
    """A search that only `stop` ends: `go infinite`."""
    PONDERING = auto()
    """A search that `ponderhit` or `stop` ends: `go ponder`."""
    STOCHASTIC_PONDERING = auto()
    """A search in the opponent's time that the GUI did not ask for and is not told of (Stochastic_Ponder)."""
    ENDED = auto()


class UsiSession:
    """Serves a GUI on a pair of streams, from `usi` to `quit`.

    Args:
        stdin: Lines from the GUI.
        stdout: Lines to the GUI.
        load_evaluators: Loads the evaluators that the settings name.
    """

    def __init__(
        self, stdin: BinaryIO, stdout: BinaryIO, load_evaluators: LoadEvaluators = network.load_evaluators
    ) -> None:
        self._stdin = stdin
        self._output = Output(stdout)
        self._load_evaluators = load_evaluators
        self._events = Events()
        self._state = State.IDLE
        self.failure: str | None = None
        """Reason for an exit code other than 0."""
        self._options = usi_options()
        self._position = Position()
        self._refusal: str | None = None  # why the position cannot be searched
        self._searcher: Searcher | None = None
        self._evaluator_key: tuple[object, ...] | None = None  # of the networks that are loaded
        self._tree_key: tuple[object, ...] | None = None  # of the searcher's tree
        self._job: Job | None = None
        self._mate: MateJob | None = None
        self._choice = MoveChoice()
        self._lateness = Lateness()
        self._is_readyok_due = False

    def run(self) -> int:
        """Serve the GUI until `quit`; return the exit code. Other threads may still be running."""
        threading.Thread(target=self._read, name="fukayomi-stdin", daemon=True).start()
        while self._state is not State.ENDED:
            self._handle(self._events.next(self._patience_s()))
            if self._output.problem is not None and self.failure is None:
                self.failure = f"cannot write the output: {self._output.problem}"
                self._quit()
            elif self._events.has_ended and self._output.is_broken:  # nobody waits for the answer
                self._quit()
        return 0 if self.failure is None else 1

    # ------------------------------------------------------------------------------------------ events

    def _read(self) -> None:
        for line in read_lines(self._stdin):
            self._events.put(line)
        self._events.put(EndOfInput())

    def _patience_s(self) -> float:
        """Time to wait for an event before a look at what else there is to do."""
        if self._state is State.LOADING:
            return LOADING_NOTICE_S
        return GONE_S if self._events.has_ended else math.inf

    def _handle(self, event: Event | None) -> None:
        match event:
            case Line():
                self._on_line(event)
            case Loaded():
                self._on_loaded(event)
            case Searched():
                self._on_searched(event.job)
            case Solved():
                self._on_solved(event.job)
            case EndOfInput():
                self._quit()
            case None if self._state is State.LOADING:
                self._output.say("still loading the network")
            case None:
                pass

    def _on_line(self, line: Line) -> None:
        try:
            command = line.command()
        except UsiTextError as error:
            self._output.say(str(error))
            if line.name() == "position":
                self._refusal = REFUSED
            return
        if command is not None:
            self._on_command(command, line)

    def _on_command(self, command: Command, line: Line) -> None:
        match command:
            case SimpleCommand("usi"):
                self._introduce()
            case SimpleCommand("isready"):
                self._finish_search()
                self._is_readyok_due = True
                self._load_if_needed(line)
            case SimpleCommand("usinewgame"):
                self._finish_search()
                if self._searcher is not None:
                    self._searcher.clear()
                    if self._choice.book.is_replaced():
                        self._start_loading(self._options.settings, line, has_network=True)
            case SimpleCommand("stop") | GameOver():
                self._finish_search()
            case SimpleCommand("quit"):
                self._quit()
            case SetOption():
                self._set_option(command)
            case SetPosition():
                self._set_position(command)
            case Go():
                self._go(command, line)
            case PonderHit():
                self._ponderhit(command, line)
            case SimpleCommand():
                raise AssertionError(command)  # the parser returns no other

    def _introduce(self) -> None:
        options = [option.text() for option in self._options.declared]
        name = self._options.settings.engine_name
        self._output.write(f"id name {printable(shorten(name))}", "id author the fukayomi authors", *options, "usiok")

    def _set_option(self, command: SetOption) -> None:
        try:
            self._options.set(command.name, command.value)
        except OptionError as error:
            self._output.say(str(error))

    def _set_position(self, command: SetPosition) -> None:
        try:
            position = Position()
            if command.sfen is not None:
                position = Position.from_sfen(command.sfen, allow_missing_king=True)
            for move in command.moves:
                position.push_usi(move)
        except ShogiError as error:
            self._output.say(f"position refused: {error}")
            self._refusal = REFUSED
        else:
            self._position = position
            self._refusal = _missing_king(position)

    def _quit(self) -> None:
        self._finish_search()
        self._state = State.ENDED

    # ------------------------------------------------------------------------------------------ loading

    def _load_if_needed(self, line: Line) -> None:
        """Load the network for a command unless it is loaded already; continues in `_on_loaded`."""
        with contextlib.suppress(EvaluatorError):  # loading will report it
            for problem in network.take_suggestions(self._options):
                self._output.say(problem)
        settings = self._options.settings
        has_network = self._evaluator_key == settings.evaluator_key()
        if has_network and not self._choice.book.needs_opening(settings):
            self._ready()
            return
        self._start_loading(settings, line, has_network=has_network)

    def _start_loading(self, settings: UsiSettings, line: Line, *, has_network: bool) -> None:
        """Load the book, and the network unless it is loaded, in a thread; continues in `_on_loaded`."""
        self._state = State.LOADING
        self._events.begin(Busy.LOADING, line.time_s)
        threading.Thread(target=self._load, args=(settings, has_network), name="fukayomi-loader", daemon=True).start()

    def _load(self, settings: UsiSettings, has_network: bool) -> None:
        """Open the book and load the network; runs in a thread of its own, while nothing else uses them."""
        descriptions: tuple[str, ...] = ()
        try:
            if self._choice.book.needs_opening(settings):
                problem = self._choice.book.open(settings)
                if problem is not None:
                    self._output.say(problem)
            if not has_network:
                old, self._searcher, self._evaluator_key = self._searcher, None, None
                if old is not None:
                    old.close()
                self._searcher, descriptions = self._new_searcher(settings)
                self._evaluator_key, self._tree_key = settings.evaluator_key(), settings.tree_key()
        except Exception as error:  # whatever it is, the GUI must be told
            self._events.put(Loaded(error=error))
        else:
            self._events.put(Loaded(descriptions))

    def _new_searcher(self, settings: UsiSettings) -> tuple["Searcher", tuple[str, ...]]:
        """A searcher with the networks that the settings name, and what these are."""
        from fukayomi.engine.search import Searcher

        evaluators = self._load_evaluators(settings)
        describes = (getattr(evaluator, "describe", None) for evaluator in evaluators)
        searcher = Searcher(
            evaluators,
            settings.search_params(),
            memory_mb=settings.hash_mb,
            node_limit=settings.node_limit,
            reuse=settings.reuse_subtree,
            batch_visits=settings.batch_visits,
            cache_mb=settings.cache_mb,
        )
        return searcher, tuple(str(describe()) for describe in describes if describe is not None)

    def _on_loaded(self, event: Loaded) -> None:
        if event.error is not None:
            # USI has no answer for "not ready". To play with another network would mislead the user, and silence would
            # leave the GUI waiting. Every GUI shows an engine that exits.
            self.failure = f"cannot load the network: {event.error}"
            self._output.say(f"Error: {self.failure}")
            self._state = State.ENDED
            return
        self._lateness.note(time.monotonic() - event.time_s)  # the first sign of a busy machine
        for description in event.descriptions:
            self._output.say(description)
        self._state = State.IDLE
        self._events.end()
        self._ready()

    def _ready(self) -> None:
        if self._is_readyok_due:
            self._is_readyok_due = False
            self._output.write("readyok")

    # ------------------------------------------------------------------------------------------ searching

    def _go(self, go: Go, line: Line) -> None:
        self._finish_search()
        if go.ignored:
            self._output.say(f"go: ignored {shorten(' '.join(go.ignored))}")
        if go.mate:
            self._solve_mate(go, line.time_s)
            return
        if self._searcher is None:  # the GUI has not sent isready
            self._events.put_back(line)
            self._load_if_needed(line)
            return
        self._configure(self._searcher)
        if go.ponder:
            self._start_search(go, State.PONDERING, line.time_s)
        else:
            ends = has_limits(go, self._options.settings)
            self._start_search(go, State.THINKING if ends else State.WAITING, line.time_s)

    def _solve_mate(self, go: Go, started_s: float) -> None:
        """Answer `go mate`, or start the search that does."""
        problem = self._refusal if self._refusal == REFUSED else None
        if problem is None and self._position.king_square(self._position.turn.opponent) is None:
            problem = "there is no king to mate"
        if problem is not None:
            self._output.say(problem)
            self._output.write(Checkmate(verdict="notimplemented").text())
            return
        deadline_s = None if go.mate_ms is None else started_s + go.mate_ms / 1000
        job = self._mate = MateJob(self._position.copy(), self._options.settings.mate_hash_mb, go.nodes, deadline_s)
        is_limited = go.nodes is not None or deadline_s is not None
        self._events.begin(Busy.LIMITED if is_limited else Busy.UNLIMITED, started_s)
        job.start(lambda: self._events.put(Solved(job)))

    def _on_solved(self, job: MateJob) -> None:
        """A mate search ended by itself: answer it if it has not been answered."""
        if job is self._mate:
            self._mate = None
            self._events.end()
            if job.error is not None:
                self._output.say(f"Error: {job.error!r}")
            self._output.write(job.answer().text())

    def _configure(self, searcher: "Searcher") -> None:
        """Give the searcher the options set since the last search; the tree is lost only if they concern it."""
        settings = self._options.settings
        if settings.tree_key() != self._tree_key:
            searcher.configure(
                settings.search_params(),
                memory_mb=settings.hash_mb,
                node_limit=settings.node_limit,
                reuse=settings.reuse_subtree,
                batch_visits=settings.batch_visits,
            )
            self._tree_key = settings.tree_key()

    def _start_search(self, go: Go, state: State, started_s: float) -> None:
        assert self._job is None  # one search at a time
        position = self._position.copy()
        settings = self._options.settings
        limits = self._limits(go, position) if state is State.THINKING else UNTIL_STOPPED
        job = self._job = Job(go, position, Control(limits, started_s), self._refusal)
        self._state = state
        if state is State.THINKING:
            self._events.begin(Busy.LIMITED, started_s)
        if state is not State.STOCHASTIC_PONDERING:
            job.known = self._known(job)
        if state is State.THINKING and job.known.answer is not None:
            self._on_searched(job)
            return
        assert self._searcher is not None
        searcher, output = self._searcher, None if state is State.STOCHASTIC_PONDERING else self._output
        multipv = self._choice.lines_needed(position, settings)

        def search() -> None:
            job.search(searcher, settings, multipv, output)
            self._events.put(Searched(job))

        job.start(search)

    def _known(self, job: Job) -> Known:
        """Results that are known without a search. The book is asked for a move of the game alone."""
        settings = self._options.settings
        if job.refusal is not None or job.go.searchmoves:
            return Known()
        if self._state is not State.THINKING:
            return self._choice.declaration(job.position, settings)
        known = self._choice.known(job.position, settings)
        if known.answer is None:
            self._output.write(*info_lines(known.infos))
        return known

    def _limits(self, go: Go, position: Position) -> Limits:
        settings = self._options.settings
        limits = limits_of(go, position, settings, self._lateness.ms)
        if settings.debug and limits.budget is not None:
            self._output.say(_describe_budget(limits.budget))
        return limits

    def _ponderhit(self, command: PonderHit, line: Line) -> None:
        if self._state is not State.PONDERING or self._job is None:
            self._output.say("ponderhit without go ponder")
            return
        job = self._job
        go = command.go if command.go.has_limits() else job.go
        self._state = State.THINKING
        self._events.begin(Busy.LIMITED, line.time_s)
        job.known = self._known(job)
        if job.known.answer is not None or not has_limits(go, self._options.settings):
            self._finish_search()  # there is nothing to search, or no time was given
        else:
            job.control.change(self._limits(go, job.position), line.time_s)

    def _finish_search(self) -> None:
        """Stop the search if one is running, wait for its result (which comes at once), and answer."""
        if self._mate is not None:
            self._mate.stop()
            self._mate.join()
            self._on_solved(self._mate)
        if self._job is not None:
            job = self._job
            job.control.stop()
            assert job.thread is not None
            job.thread.join()
            self._answer_job(job)

    def _on_searched(self, job: Job) -> None:
        """A search ended by itself: answer it if it has not been answered, then ponder if Stochastic_Ponder is set."""
        if job is self._job and (answer := self._answer_job(job)) is not None and answer.move not in (RESIGN, WIN):
            self._start_stochastic_ponder(job, answer)

    def _answer_job(self, job: Job) -> BestMove | None:
        """Answer the current search. Returns the answer if Stochastic_Ponder wants to continue from it."""
        state, self._job, self._state = self._state, None, State.IDLE
        self._events.end()
        if state is State.STOCHASTIC_PONDERING:
            return None
        settings = self._options.settings
        answer = job.answer(self._choice, settings, is_game=state is State.THINKING)
        if job.result is not None and job.result.error is not None:
            self._evaluator_key = None  # a device may be lost: the next isready loads the network anew
        self._output.write(*job.infos(settings), answer.text())
        if state is State.THINKING and job.control.due_s is not None:
            self._lateness.note(time.monotonic() - job.control.due_s)
        return answer if settings.ponders_stochastically and state is State.THINKING else None

    def _start_stochastic_ponder(self, job: Job, answer: BestMove) -> None:
        """Search the opponent's position until the GUI sends the next command."""
        position = self._position
        self._position = job.position.copy()
        self._position.push_usi(answer.move)
        self._start_search(Go(), State.STOCHASTIC_PONDERING, time.monotonic())
        self._position = position


def _missing_king(position: Position) -> str | None:
    """Reason why a mate problem (詰将棋) cannot be searched; None if both sides have a king."""
    for name, color in (("Black", BLACK), ("White", WHITE)):
        if position.king_square(color) is None:
            return f"{name} has no king; only go mate takes such a position"
    return None


def _describe_budget(b: Budget) -> str:
    return (
        f"time: {b.planned_s:.3f} s planned, not before {b.earliest_s:.3f} s, "
        f"{b.extended_s:.3f} s if unclear, never after {b.hard_s:.3f} s"
    )
