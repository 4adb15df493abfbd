"""Records that are passed over."""

from dataclasses import dataclass, field

from fukayomi.data.records.reading import Drop, Dropped

NAMED = 100
"""Records whose problems are kept; the others are only counted."""


@dataclass(slots=True)
class Skipped:
    """Records that cannot be read, and copies of games."""

    count: int = 0
    """Records that cannot be read."""
    messages: list[str] = field(default_factory=list[str])
    """The problems of the first of them."""
    copies: int = 0
    """Records of games that were given before."""

    def add(self, dropped: Dropped) -> None:
        """Count one."""
        if dropped.reason is Drop.COPY:
            self.copies += 1
        else:
            self.add_problem(dropped.message)

    def add_problem(self, message: str) -> None:
        """Count a record that cannot be read."""
        self.count += 1
        if len(self.messages) < NAMED:
            self.messages.append(message)
