"""The documents of all runs and matches that a page may ask for."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fukayomi.errors import by_extra
from fukayomi.learning.curves.readers import CurveLog
from fukayomi.shogi.record import Record
from fukayomi.web.runs.folders import Folders, FoundFolder, Kind
from fukayomi.web.runs.keeping import Document, Keeper, Stamp
from fukayomi.web.runs.learning import LearningReader, learning_stamp
from fukayomi.web.runs.matches import games_page, league_document, match_document, match_stamp, read_game
from fukayomi.web.runs.selfplay import GameReader, SidecarReader, selfplay_document, selfplay_stamp
from fukayomi.web.runs.training import read_curves, training_document, training_stamp
from fukayomi.web.runs.wanted import CurveView, UnknownRunError

RUNS = (Kind.TRAINING, Kind.LEARNING, Kind.SELFPLAY)
MATCHES = (Kind.MATCH, Kind.LEAGUE)
WITH_GAMES = (Kind.MATCH, Kind.SELFPLAY)
MOST_CURVES = 30
"""Training runs whose curves are in memory."""


class RunReader:
    """Reads the runs and matches below some folders. Methods block, and may be called from any thread.

    A folder that is damaged has a document with the field error.

    Args:
        roots: Folders that the user named.
    """

    def __init__(self, roots: Iterable[Path]) -> None:
        self._folders = Folders(roots)
        self._documents = Keeper[Document]()
        self._curves = Keeper[CurveLog](MOST_CURVES)
        self._learning = LearningReader()
        self._sidecars = SidecarReader()
        self._games = GameReader()

    def listing(self) -> Document:
        """List of what there is: runs, a list of id, kind, name, parent."""
        found = self._folders.all()
        rows = [{"id": each.id, "kind": each.kind.value, "name": each.name, "parent": each.parent} for each in found]
        return Document.of({"runs": rows})

    def run(self, name: str, view: CurveView) -> Document:
        """A training run, a learning run or a folder of self-play.

        Raises:
            UnknownRunError: It is none of these.
        """
        found = self._find(name, RUNS)
        folder = found.path
        if found.kind is Kind.TRAINING:
            stamp = training_stamp(folder)

            def training() -> Any:
                log = self._curves.get(found.id, stamp, lambda: read_curves(folder))
                return training_document(folder, log, smooth=view.smooth, log_x=view.log_x)

            return self._document(found, (view, *stamp), training, view)
        if found.kind is Kind.LEARNING:
            return self._document(found, learning_stamp(folder), lambda: self._learning.document(folder))
        return self._document(
            found, selfplay_stamp(folder), lambda: selfplay_document(*self._sidecars.all(folder))
        )  # fmt: skip

    def match(self, name: str) -> Document:
        """A match, or several together.

        Raises:
            UnknownRunError: It is neither.
        """
        found = self._find(name, MATCHES)
        if found.kind is Kind.MATCH:
            return self._document(found, match_stamp(found.path), lambda: match_document(found.path))
        members = [each for each in self._folders.all() if each.path in found.parts and each.kind is Kind.MATCH]
        named = [{"id": each.id, "name": each.name} for each in members]
        stamp = tuple(match_stamp(each.path) for each in members)
        return self._document(
            found, stamp, lambda: league_document([each.path for each in members]) | {"members": named}
        )

    def games(self, name: str, before: int | None) -> Document:
        """Games of a match or of self-play; see `games_page`.

        Raises:
            UnknownRunError: It is neither.
        """
        found = self._find(name, WITH_GAMES)
        if found.kind is Kind.MATCH:
            return _guarded(found, lambda: games_page(found.path, before))
        return _guarded(found, lambda: self._games.page(self._sidecars.all(found.path)[0], before))

    def game(self, name: str, number: int) -> Record:
        """The record of a game.

        Raises:
            UnknownRunError: It is neither a match nor self-play, or has no such game.
            ValueError: It is damaged.
            OSError: It cannot be read.
        """
        found = self._find(name, WITH_GAMES)
        if found.kind is Kind.MATCH:
            record = read_game(found.path, number)
        else:
            record = self._games.record(self._sidecars.all(found.path)[0], number)
        if record is None:
            raise UnknownRunError(name)
        return record

    def _find(self, name: str, kinds: tuple[Kind, ...]) -> FoundFolder:
        found = self._folders.get(name)
        if found is None or found.kind not in kinds:
            raise UnknownRunError(name)
        return found

    def _document(self, found: FoundFolder, stamp: Stamp, make: Callable[[], Any], view: Any = None) -> Document:
        return self._documents.get((found.id, view), stamp, lambda: _guarded(found, make))


def _guarded(found: FoundFolder, make: Callable[[], Any]) -> Document:
    """The document with its head; what is wrong with the folder, in the words of the readers but without its path."""
    head = {"id": found.id, "kind": found.kind.value, "name": found.name}
    try:
        return Document.of(head | make())
    except ImportError as error:
        package = error.name or "a package"
        missing = f"{package} is not installed; the extra train has it: {by_extra('train')}"
        return Document.of(head | {"error": missing})
    except (ValueError, OSError) as error:
        return Document.of(head | {"error": _without_path(str(error), found)})


def _without_path(text: str, found: FoundFolder) -> str:
    for path in (found.path, found.path.resolve()):
        text = text.replace(str(path), found.name)
    return text
