"""Progress of long work: pass a listener to hear of it, pass none and the work is silent."""

from collections.abc import Callable
from typing import Any, TypeVar, cast


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
