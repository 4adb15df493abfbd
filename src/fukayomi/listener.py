"""How long work reports its progress: pass a listener to hear of it, pass none and the work is silent."""

from collections.abc import Callable


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
