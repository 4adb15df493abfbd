"""Files of the command line: records, analyses, and folders of runs and matches. The page knows them by number."""

from itertools import islice
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from fukayomi.web.answers import Refused, json_answer
from fukayomi.web.records import MOST_GAMES, answer_of, clean, games_of, read_page
from fukayomi.web.state import File, State

MOST_SCANNED = 100 * MOST_GAMES
"""Games that are counted of a folder or an archive."""


def file_of(state: State, number: int) -> File:
    """A file.

    Raises:
        Refused: There is none with this number.
    """
    if not 1 <= number <= len(state.files):
        raise Refused(404, f"no file {number}")
    return state.files[number - 1]


def games_in(file: File) -> dict[str, Any]:
    """The games of a record, of an archive or a folder, or the game and document of an analysis; see `games_of`.

    Raises:
        Refused: It cannot be read.
    """
    name = file.described()["name"]
    if file.kind in ("runs", "matches"):
        raise Refused(400, f"{name} is no record: its runs and matches are at /api/runs")
    try:
        if file.kind == "analysis":
            return _analysis(file.path, name)
        return _records(file.path)
    except OSError as error:
        raise Refused(500, f"cannot read {name}: {error.strerror or type(error).__name__}") from error


def routes(state: State) -> list[BaseRoute]:
    """Routes of this module."""

    async def get(request: Request) -> Response:
        file = file_of(state, request.path_params["number"])
        return json_answer(await run_in_threadpool(games_in, file))

    return [Route("/api/files/{number:int}", get)]


def _analysis(path: Path, name: str) -> dict[str, Any]:
    from fukayomi.engine.report.document import DOCUMENT, LARGEST, AnalysisFileError, read_analysis
    from fukayomi.files.inputs import read_input

    folder = path if path.is_dir() else path.parent
    if not (folder / DOCUMENT).is_file():
        return read_page(read_input(path, LARGEST), name, LARGEST)
    try:
        analysis = read_analysis(folder)
    except AnalysisFileError as error:
        raise Refused(400, clean(str(error).replace(str(path), name), 300)) from error
    return answer_of(analysis.to_dict(), name)


def _records(path: Path) -> dict[str, Any]:
    from fukayomi.data.records.copies import SeenGames
    from fukayomi.data.records.reading import Drop, Dropped, iter_records
    from fukayomi.data.records.sources import SourceError, find_files, iter_sources
    from fukayomi.shogi.record import Record, RecordError

    folder = str(path.parent if path.is_file() else path)

    def found(game: Record | Dropped) -> Record | RecordError:
        name = clean(game.name.removeprefix(folder).lstrip("/\\"))
        if isinstance(game, Record):
            game.name = name
            return game
        return RecordError(name, game.line, game.detail or game.message.replace(folder, ""))

    try:
        games = islice(iter_records(iter_sources(find_files([path])), SeenGames()), MOST_SCANNED)
        return games_of(found(game) for game in games if isinstance(game, Record) or game.reason is not Drop.COPY)
    except SourceError as error:
        raise Refused(400, clean(str(error).replace(folder, ""), 300)) from error
