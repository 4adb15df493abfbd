"""Extension of griffe: examples in docstrings become code blocks, indented or not."""

import re
from typing import Any

from griffe import Extension

EXAMPLE = re.compile(r"^>>> (?:.+\n?)+", re.MULTILINE)


class Examples(Extension):
    """Indents the examples that begin at the margin, which Markdown would read as quotations."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(
                lambda block: re.sub("^", "    ", block[0], flags=re.M), obj.docstring.value
            )
