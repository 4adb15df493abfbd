"""Records that cannot be read."""

from dataclasses import dataclass, field

NAMED = 100
"""Records whose problems are kept; the others are only counted."""


@dataclass(slots=True)
class Skipped:
    """Records that cannot be read and were skipped."""

    count: int = 0
    messages: list[str] = field(default_factory=list[str])
    """The problems of the first of them."""

    def add(self, message: str) -> None:
        """Count one."""
        self.count += 1
        if len(self.messages) < NAMED:
            self.messages.append(message)
