"""``fukayomi data split``, ``sample``, ``shuffle`` and ``merge``: which items go where, and in which order."""

from pathlib import Path
from typing import Annotated

import typer

from fukayomi.cli.common.errors import user_errors
from fukayomi.cli.common.options import AsJson
from fukayomi.cli.data.work import InputFiles, Out, Seed, SourceFormat, inputs_of, run_verb, unit_of


def split(
    inputs: InputFiles,
    outs: Annotated[list[Path], typer.Option("--out", "-o", help="A file to write; give one for each part.")],
    shares: Annotated[
        str | None, typer.Option(help="What each part gets, in proportion: 90,10.", show_default="equal shares")
    ] = None,
    every: Annotated[
        int | None, typer.Option(min=2, help="Instead: the second of two parts gets the last of every so many.")
    ] = None,
    by: Annotated[
        str, typer.Option(help="game: games stay together. position: all rows of a position stay together.")
    ] = "game",
    run: Annotated[
        int, typer.Option(min=1, help="Of rows, so many in a row count as a game; 1 where they were shuffled.")
    ] = 1000,
    seed: Seed = 0,
    source: SourceFormat = None,
    as_json: AsJson = False,
) -> None:
    """Split files in parts, by game.

    \b
      fukayomi data split games.hcpe3 -o train.hcpe3 -o test.hcpe3 --shares 95,5
      fukayomi data split rows.psv -o a.psv -o b.psv --by position

    Chance deals, so the shares are met nearly. Games (hcpe3, records) are dealt by what was played: equal games go to
    the same part, whatever else is read. hcpe and psv do not say where a game ends: runs of 1000 rows are dealt, so
    that in a file that was not shuffled only the games at the ends of a run are cut. To keep what the parts have in
    common at nothing, split the games before they are converted, or deal by position.

    The same command goes on where a kill or Ctrl-C left it, and writes the same bytes as if nothing had been; until
    then the work lies beside the first part, in .NAME.work and .NAME.part.
    """
    from fukayomi.data.verbs import Deal, Unit
    from fukayomi.data.verbs import split as split_data

    if by not in list(Unit):
        raise typer.BadParameter(f"{by!r} is neither game nor position", param_hint="--by")
    if every is not None and shares is not None:
        raise typer.BadParameter("give shares, or one of every so many", param_hint="--every")
    deal = Deal(() if every else _shares(shares, len(outs)), every, Unit(by), run, seed)
    with user_errors():
        found = inputs_of(inputs, source)
    run_verb(lambda listener: split_data(found, outs, deal, listener), unit_of(found), as_json=as_json)


def _shares(text: str | None, parts: int) -> tuple[float, ...]:
    if text is None:
        return (1.0,) * parts
    try:
        found = tuple(float(share) for share in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no list of numbers like 90,10", param_hint="--shares") from None
    if len(found) != parts or not all(0 < share < float("inf") for share in found):
        raise typer.BadParameter(f"{text!r}: one number above 0 for each of {parts} parts", param_hint="--shares")
    return found


def sample(
    inputs: InputFiles,
    out: Out,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many to take.")],
    positions: Annotated[
        bool, typer.Option("--positions", help="Of hcpe3, take positions with candidates instead of games: hcpe.")
    ] = False,
    seed: Seed = 0,
    source: SourceFormat = None,
    as_json: AsJson = False,
) -> None:
    """Draw rows or games at random.

    \b
      fukayomi data sample rows.hcpe -o some.hcpe -n 100000
      fukayomi data sample games.hcpe3 -o some.hcpe -n 100000 --positions

    Exactly so many, each set of them as likely as any other, in the order of the input; all, if there are no more.
    Games are counted first, so they are read twice. The same command goes on where a kill or Ctrl-C left it, and writes
    the same bytes as if nothing had been.
    """
    from dataclasses import replace

    from fukayomi.data.verbs import sample as sample_data

    with user_errors():
        found = inputs_of(inputs, source)
    if positions:
        if found.kind != "hcpe3":
            raise typer.BadParameter(f"only of hcpe3, not of {found.kind}", param_hint="--positions")
        found = replace(found, as_rows=True)
    run_verb(lambda listener: sample_data(found, out, count, seed, listener), unit_of(found), as_json=as_json)


def shuffle(
    inputs: InputFiles,
    out: Out,
    seed: Seed = 0,
    memory: Annotated[float, typer.Option(min=0.001, help="GiB of memory to use, nearly.")] = 1.0,
    scratch: Annotated[
        Path | None,
        typer.Option(help="Folder for the work, as large as the input and a quarter.", show_default="beside --out"),
    ] = None,
    source: SourceFormat = None,
    as_json: AsJson = False,
) -> None:
    """Put rows or games in random order, at any size.

    \b
      fukayomi data shuffle 2024.hcpe 2025.hcpe -o shuffled.hcpe --memory 4

    Every order is as likely as any other. The bytes depend on the seed and the inputs in their order alone, not on the
    memory. Two passes: items are spread over bucket files, then one bucket after the other is sorted. The same command
    goes on where a kill or Ctrl-C left it, and writes the same bytes as if nothing had been.
    """
    from fukayomi.data.verbs import shuffle as shuffle_data

    with user_errors():
        found = inputs_of(inputs, source)
    size = int(memory * (1 << 30))
    run_verb(lambda listener: shuffle_data(found, out, seed, size, listener, scratch), unit_of(found), as_json=as_json)


def merge(
    inputs: InputFiles,
    out: Out,
    unique_games: Annotated[
        bool, typer.Option("--unique-games", help="Of games with the same start and moves, keep the first.")
    ] = False,
    source: SourceFormat = None,
    as_json: AsJson = False,
) -> None:
    """Join files of one format, one after the other.

    \b
      fukayomi data merge selfplay-*.hcpe3 -o selfplay.hcpe3 --unique-games

    Rows are checked for results and moves that cannot be, games are replayed. Duplicate rows are removed by fukayomi
    data uniq; duplicate games here, which takes some 100 bytes of memory a game. The same command goes on where a kill
    or Ctrl-C left it, and writes the same bytes as if nothing had been.
    """
    from fukayomi.data.verbs import merge as merge_data

    with user_errors():
        found = inputs_of(inputs, source)
    run_verb(
        lambda listener: merge_data(found, out, unique_games=unique_games, listener=listener), unit_of(found),
        as_json=as_json,
    )  # fmt: skip
