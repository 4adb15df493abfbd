"""How long work reports its progress: pass a listener to hear of it, pass none and the work is silent."""


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


SILENT = Listener()
"""Reports nothing; the default."""
