"""Tables on a terminal."""

from rich.table import Table


def number_table(*titles: str, title: str | None = None) -> Table:
    """An empty table: names in the first column, which are wrapped if they are long, and numbers in the others."""
    table = Table(*titles, title=title, title_justify="left")
    table.columns[0].overflow = "fold"
    for column in table.columns[1:]:
        column.justify = "right"
    return table
