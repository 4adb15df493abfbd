"""Results that are tables: they print as text, show as HTML in a notebook, and become DataFrames."""

import html
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas  # pyright: ignore[reportMissingTypeStubs]
    import polars

WIDE_SPACE = "\u3000"
"""The space of Japanese text: harmless, though `str.isprintable` says no."""


MOST_ROWS = 40
"""Rows that are shown; of more, the first and the last."""
WIDEST_ROW = 120
"""A table of one row that takes more columns of text is shown as a list of its cells."""
WIDEST_CELL = 60
"""Characters of a cell that are shown."""


class Tabular:
    """Base class of results with one row for each line, player, game and so on. Subclasses define `rows`.

    Printed, and in a notebook, a table fits a screen: of more than 40 rows the middle is left out.

    >>> class Primes(Tabular):
    ...     def rows(self):
    ...         return [{"n": 1, "prime": 2, "share": 0.5}, {"n": 2, "prime": 3, "share": None}]
    >>> print(Primes())
    n  prime  share
    1      2    0.5
    2      3
    """

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One mapping per row, all with the same keys in the same order; numbers are unrounded, None is unknown."""
        raise NotImplementedError

    def shown(self) -> Sequence[Mapping[str, Any]]:
        """The rows as they are printed; subclasses with many columns have fewer here."""
        return self.rows()

    def to_pandas(self) -> "pandas.DataFrame":
        """The table as a pandas DataFrame. Needs ``pip install pandas``."""
        import pandas  # pyright: ignore[reportMissingTypeStubs]

        return pandas.DataFrame(list(self.rows()))

    def to_polars(self) -> "polars.DataFrame":
        """The table as a polars DataFrame. Needs ``pip install polars``."""
        import polars

        return polars.DataFrame(list(self.rows()), infer_schema_length=None)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {counted(len(self.rows()), 'row')}>"

    def __str__(self) -> str:
        """The table as text, numbers rounded for reading."""
        rows = self.shown()
        if not rows:
            return "(no rows)"
        first, left_out, last = _cut(rows)
        lines = _lines([*first, *last])
        if len(rows) == 1 and len(lines[0]) > WIDEST_ROW:
            width = max(map(len, rows[0]))
            return "\n".join(f"{name:{width}}  {_cell(value)}".rstrip() for name, value in rows[0].items())
        if left_out:
            lines.insert(1 + len(first), f"... {counted(left_out, 'more row')}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = self.shown()
        first, left_out, last = _cut(rows)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in (rows[0] if rows else ()))
        middle = f'<tr><td colspan="{len(rows[0])}">… {counted(left_out, "more row")}</td></tr>' if left_out else ""
        body = "".join(map(_html_row, first)) + middle + "".join(map(_html_row, last))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cut(rows: Sequence[Mapping[str, Any]]) -> tuple[Sequence[Mapping[str, Any]], int, Sequence[Mapping[str, Any]]]:
    """The first rows that are shown, the number of those that are not, and the last ones."""
    if len(rows) <= MOST_ROWS:
        return rows, 0, ()
    half = MOST_ROWS // 2
    return rows[:half], len(rows) - 2 * half, rows[-half:]


def _html_row(row: Mapping[str, Any]) -> str:
    return "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row.values()) + "</tr>"


def _lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines of text: the names of the columns, and one for each row; what lines up in a terminal."""
    from rich.box import Box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Two spaces between columns, no lines.
    table = Table(box=Box("    \n" * 8), show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="")
    for name in rows[0]:
        is_text = any(isinstance(row[name], str) for row in rows)
        table.add_column(Text(name), justify="left" if is_text else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    text = io.StringIO()
    Console(file=text, width=10_000, color_system=None, legacy_windows=False).print(table)
    return [line for each in text.getvalue().splitlines() if (line := each.rstrip())]


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, for example ``1 game`` or ``1,234 games``.

    Args:
        number: How many.
        noun: The noun for one.
        plural: The noun for other numbers; by default with an s.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def printable(text: str) -> str:
    """Replace characters that could control a terminal or change the writing direction with ``?``."""
    return "".join(letter if letter.isprintable() or letter == WIDE_SPACE else "?" for letter in text)


def _cell(value: Any) -> str:
    """A value for reading."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.1f}"
    text = printable(str(value))
    return text if len(text) <= WIDEST_CELL else f"{text[: WIDEST_CELL - 1]}…"
