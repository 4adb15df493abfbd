"""Progress of long work: pass a listener to hear of it, pass none and the work is silent."""

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO, TypeVar, cast


class Listener:
    """Follows long work. Every method does nothing: override those you need.

    Work with more to report (a match, a training run) has a subclass of its own. Methods are called from the
    thread that runs the work, and should return at once.

        >>> class Percent(Listener):
        ...     def progress(self, stage: str, done: int, total: int | None) -> None:
        ...         if total:
        ...             print(f"{stage}: {100 * done // total} %")
        >>> Percent().progress("reading", 1, 4)
        reading: 25 %
    """

    def progress(self, stage: str, done: int, total: int | None) -> None:
        """Called now and then while a stage of the work goes on.

        Args:
            stage: Name of the stage, such as "reading"; stages follow one another.
            done: Units of work finished in this stage.
            total: Units of the whole stage; None if it is not known.
        """

    def note(self, text: str) -> None:
        """Called with a line that the user should read: a warning, or something unexpected that was handled."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


SILENT = Listener()
"""Reports nothing; the default."""
_Listener = TypeVar("_Listener", bound=Listener)


class Forwarder(Listener):
    """Passes progress and notes on to a listener; subclasses change some of them, or hear of more."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def progress(self, stage: str, done: int, total: int | None) -> None:
        self._listener.progress(stage, done, total)

    def note(self, text: str) -> None:
        self._listener.note(text)


class Notes(Listener):
    """Keeps the notes of work."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, text: str) -> None:
        self.texts.append(text)


class ProgressPrinter(Listener):
    """Prints progress and notes: in terminals and notebooks a line that is rewritten, otherwise lines now and then.

        >>> import sys
        >>> printer = ProgressPrinter(sys.stdout)
        >>> printer.progress("reading", 5, 20)
        >>> printer.progress("reading", 20, 20)
        reading: 20 of 20 (100 %), 0:00
        >>> printer.note("a file was skipped")
        a file was skipped

    Args:
        file: Where it prints; None: standard error.
        interval_s: Seconds between two lines; None: 0.5 where the line is rewritten, 10 elsewhere. The end of a
            stage is always printed.
    """

    def __init__(self, file: TextIO | None = None, *, interval_s: float | None = None) -> None:
        self._file, self._interval_s = file, interval_s
        self._stage, self._began_s, self._printed_s, self._first = "", 0.0, 0.0, 0
        self._width = 0
        self._ended: tuple[str, int, int | None] | None = None

    def progress(self, stage: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if (stage, done, total) == self._ended:
            return
        if stage != self._stage or done < self._first:
            self._end_line()
            self._stage, self._began_s, self._printed_s, self._first = stage, now, now, done
        file, rewrites = self._target()
        is_end = done == total
        interval_s = (0.5 if rewrites else 10.0) if self._interval_s is None else self._interval_s
        if is_end or now - self._printed_s >= interval_s:
            self._printed_s = now
            line = _progress_line(stage, done, total, done - self._first, now - self._began_s)
            file.write(f"\r{line:{self._width}}" if rewrites else f"{line}\n")
            self._width = len(line) if rewrites else 0
            self._ended = (stage, done, total) if is_end else None
            if is_end:
                self._end_line()
                self._stage = ""
            file.flush()

    def note(self, text: str) -> None:
        self._end_line()
        file, _ = self._target()
        file.write(f"{text}\n")
        file.flush()

    def _target(self) -> tuple[TextIO, bool]:
        """Where it prints, and whether a line there can be rewritten."""
        file = self._file or sys.stderr
        return file, file.isatty() or type(file).__module__.startswith("ipykernel.")

    def _end_line(self) -> None:
        if self._width:
            self._target()[0].write("\n")
            self._width = 0


def _progress_line(stage: str, done: int, total: int | None, new: int, seconds: float) -> str:
    """A line such as ``training: 500 of 2,000 (25 %), 0:10, 0:30 left``; `new` units took the seconds."""
    if not total:
        return f"{stage}: {done:,}, {_minutes(seconds)}"
    left = f", {_minutes(seconds / new * (total - done))} left" if new > 0 and done < total else ""
    return f"{stage}: {done:,} of {total:,} ({100 * done // total} %), {_minutes(seconds)}{left}"


def _minutes(seconds: float) -> str:
    """Time as ``1:05`` or ``2:01:05``."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def of_kind(listener: Listener, kind: type[_Listener]) -> _Listener:
    """The listener as one of a kind: itself if it is one, otherwise one that passes progress and notes on to it.

    >>> class Steps(Listener):
    ...     def step(self) -> None: ...
    >>> notes = Notes()
    >>> steps = of_kind(notes, Steps)
    >>> steps.step()
    >>> steps.note("a file was skipped")
    >>> notes.texts
    ['a file was skipped']
    """
    if isinstance(listener, kind):
        return listener
    return cast("_Listener", type(kind.__name__, (Forwarder, kind), {})(listener))


def fan_out(*listeners: _Listener) -> _Listener:
    """A listener that passes every report to several ones, in order. It is of the kind that they have in common.

    >>> one, two = Notes(), Notes()
    >>> fan_out(one, two).note("a file was skipped")
    >>> one.texts, two.texts
    (['a file was skipped'], ['a file was skipped'])
    """

    def passing_on(name: str) -> Callable[..., None]:
        def pass_on(_: object, *values: Any) -> None:
            for listener in listeners:
                getattr(listener, name)(*values)

        return pass_on

    kind = next(each for each in type(listeners[0]).__mro__ if all(isinstance(other, each) for other in listeners))
    names = [name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))]
    made = type("FanOut", (kind,), {name: passing_on(name) for name in names})
    return cast("_Listener", object.__new__(made))


def counter(listener: Listener, stage: str, total: int | None) -> Callable[[int], None]:
    """A function that adds to the units done of a stage, and tells the listener.

    >>> class Print(Listener):
    ...     def progress(self, stage: str, done: int, total: int | None) -> None:
    ...         print(stage, done, total)
    >>> advance = counter(Print(), "reading", 10)
    >>> advance(3)
    reading 3 10
    >>> advance(4)
    reading 7 10
    """
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        listener.progress(stage, done, total)

    return advance
