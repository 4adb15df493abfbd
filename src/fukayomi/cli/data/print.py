"""``fukayomi data print``: the content of a file as text."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fukayomi.cli.common.errors import INTERRUPTED, fail
from fukayomi.cli.common.options import AsJson
from fukayomi.cli.common.text import json_text, print_problems, printable
from fukayomi.cli.data.formats import SourceFormat

_SHOWN = 10


def print_file(
    file: Annotated[Path, typer.Argument(help="hcp, hcpe, hcpe2, hcpe3, psv, avg, a cache, a book, or records.")],
    start: Annotated[int, typer.Option(min=0, help="First row, game or entry, from 0.")] = 0,
    end: Annotated[
        int | None, typer.Option(min=0, help="End of the range, not printed.", show_default="10 after --start")
    ] = None,
    source: SourceFormat = None,
    as_json: AsJson = False,
) -> None:
    """Print rows, games, records, averaged positions or a book: a line each, and a line for each move of a game.

    \b
    fukayomi data print rows.hcpe --start 1000 --end 1020
    fukayomi data print games.hcpe3 --end 1000000000 --json | jq .result

    Evaluations are in centipawns from the side to move; candidates are shown with their visits. Averaged positions show
    the mean value and result (0 to 1, for the side to move) and the shares of their moves; a book has keys instead of
    positions. With --json, one object per line; records have their times, the illegal move or the word that ended the
    game, and their variations, too.
    """
    from fukayomi.data.printing import describe
    from fukayomi.data.records.reading import Skipped

    skipped = Skipped()
    try:
        for item in describe(file, start, start + _SHOWN if end is None else end, source, skipped):
            typer.echo(json_text(item) if as_json else as_text(item))
    except KeyboardInterrupt:
        fail("stopped", INTERRUPTED)
    print_problems(skipped.messages, skipped.count)


def as_text(item: dict[str, Any]) -> str:
    """Format a row as a line; a game as a line and one for each move."""
    head = [f"{item['index']}"]
    if "key" in item:
        return "  ".join([*head, *(f"{name} {item[name]}" for name in ("key", "move", "count", "score"))])
    if "shares" in item:
        head += [f"{name} {item[name]}" for name in ("sfen", "count", "eval", "value", "result") if name in item]
        return "  ".join([*head, *(f"{move} {share:.1%}" for move, share in item["shares"].items())])
    if "name" in item:
        ratings = [f" ({rating:.0f})" if rating is not None else "" for rating in item["ratings"]]
        head.append(f"{item['name']}: {item['black']}{ratings[0]} - {item['white']}{ratings[1]}")
    head.append(f"sfen {item['sfen']}")
    if "moves" not in item and "move" in item:
        move = "no move" if item["move"] is None else f"move {item['move']}"
        head.append(f"{move}  eval {item['eval']}")
    if "result" in item:
        head.append(f"result {item['result']}" + "".join(f" {flag}" for flag in item.get("flags", ())))
    head += [f"{name} {item[name]}" for name in ("end", "end_word", "illegal_move", "ply") if item.get(name, "") != ""]
    if item.get("opponent"):
        head.append(f"opponent {item['opponent']}")
    lines = [printable("  ".join(head))]
    for move in item.get("moves", ()):
        evaluation = "" if move["eval"] is None else f"{move['eval']:+}"
        visits = "  ".join(f"{name} {count}" for name, count in move.get("visits", {}).items())
        time_ms = move.get("time_ms")
        time = "" if time_ms is None else f"  {time_ms / 1000:g} s"
        lines.append(f"{move['ply']:5} {move['move']:6}{evaluation:>7}{time}  {visits}".rstrip())
    for variation in item.get("variations", ()):
        lines.append(f"      variation from ply {variation['ply']}: {' '.join(variation['moves'])}")
    return "\n".join(lines)
