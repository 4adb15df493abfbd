"""Records as the page has them: a tree of moves; read from any format, and written in four.

What records say is text of strangers: it loses control characters and those that turn the direction of writing.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any, Literal, cast
from urllib.parse import quote

from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from fukayomi.shogi import BLACK, START_SFEN, Move, Position, ShogiError
from fukayomi.shogi.formats import Format, scan_records
from fukayomi.shogi.formats.notation import english_move, foul_of, japanese_move, last_target
from fukayomi.shogi.formats.text import MOST_VARIATION_PLIES
from fukayomi.shogi.formats.writer import encode_record
from fukayomi.shogi.record import Record, RecordedMove, RecordError, Result, Termination, Variation
from fukayomi.web.answers import LARGEST_UPLOAD, Question, Refused, json_answer, read_json
from fukayomi.web.positions import LONGEST_SFEN, MOST_GAME_PLIES, Usi

MOST_GAMES = 200
"""Games that are shown of a file; the others are counted."""
MOST_NODES = 20_000
"""Moves of a record on the page, with those of all its variations."""
LONGEST_TEXT = 20_000
"""Characters of a comment."""
LONGEST_ILLEGAL_MOVE = 120
"""Characters of the illegal move that ended a game, which engines may fill with anything."""
LONGEST_NAME = 200
"""Characters of a name, and of a field of the header."""

_RESULTS = {Result.BLACK_WIN: "b", Result.WHITE_WIN: "w", Result.DRAW: "draw"}
_HEADER = ("event", "site", "start_time", "end_time", "time_limit", "opening")
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.()+=~-]+")


# ------------------------------------------------------------------------------------------ what the page gets


def clean(text: str, longest: int = LONGEST_NAME) -> str:
    """A text of a record in one line, without characters that control or turn round what is shown."""
    return _visible(text[:longest]).strip()


def clean_lines(text: str, longest: int = LONGEST_TEXT) -> str:
    """The same for a text with several lines."""
    return "\n".join(_visible(line) for line in text[:longest].splitlines()).strip("\n")


def record_tree(record: Record, problems: list[str] | None = None) -> dict[str, Any]:
    """A record as the page has it.

    Args:
        record: The record.
        problems: Gets a text for each comment and bookmark that is too long, and was cut.

    Returns:
        name; names (of Black and White); header (other fields by name); start (SFEN); comment (before the first move);
        end (a `Termination`, None if the record does not say); end_word (the record's own), end_comment, end_time_ms;
        illegal (the illegal move that ended the game: move, japanese, by ("b" or "w") and time_ms; None without one);
        winner ("b", "w", "draw" or None); main (numbers of the nodes of the game, from 0); and nodes. A node has id,
        parent (None for node 0, which is the first position), ply, usi, japanese, english, sfen (after the move),
        comment, bookmark (if it has one), time_ms, cp and mate (from Black's side, of the record), the last three None
        if the record does not say.

    Raises:
        RecordError: Its game has more than 2000 moves, or it has more than 20000 with its variations.
    """
    tree = _Tree(record)
    comment = tree.lines(record.comment, "before the first move: the comment")
    ending_comment = tree.lines(record.ending_comment, "at the end: the comment")
    if problems is not None:
        problems += [clean(f"{record.name}: {what} is cut to {LONGEST_TEXT} characters", 500) for what in tree.cut]
    return {
        "name": clean(record.name),
        "names": [clean(record.black_name), clean(record.white_name)],
        "header": _header(record),
        "start": record.initial_sfen,
        "comment": comment,
        "end": None if record.termination is Termination.NONE else record.termination.value,
        "end_word": clean(record.ending_word),
        "end_comment": ending_comment,
        "end_time_ms": record.ending_time_ms,
        "illegal": tree.illegal,
        "winner": _RESULTS.get(record.result),
        "main": tree.main,
        "nodes": tree.nodes,
    }


class _Tree:
    """The moves of a record as nodes."""

    def __init__(self, record: Record) -> None:
        self._name = record.name
        if len(record.moves) > MOST_GAME_PLIES:
            raise RecordError(self._name, None, f"a game has at most {MOST_GAME_PLIES} moves")
        position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
        self.nodes: list[dict[str, Any]] = [
            {
                "id": 0, "parent": None, "ply": position.ply - 1, "usi": None, "japanese": "", "english": "",
                "sfen": position.sfen(), "comment": "", "time_ms": None, "cp": None, "mate": None,
            }
        ]  # fmt: skip
        self.cut = dict[str, None]()
        """Comments and bookmarks that were cut: ``ply 3: the comment``."""
        self._add_bookmark(self.nodes[0], record.bookmark)
        self._ids: dict[tuple[int, Move], int] = {}
        self.main = [0, *self._add(0, position, record.moves)]
        self.illegal = _illegal(record, position)
        self._add_variations(record, position)

    def lines(self, text: str, what: str) -> str:
        """A text of the record with several lines."""
        return clean_lines(self._short(text, what))

    def _short(self, text: str, what: str) -> str:
        if len(text) > LONGEST_TEXT:
            self.cut[what] = None
        return text[:LONGEST_TEXT]

    def _add_comment(self, node: dict[str, Any], comment: str, *, is_first: bool = False) -> None:
        """Add a comment behind the node's, or before it."""
        what = f"ply {node['ply']}: the comment"
        texts = node["comment"], self.lines(comment, what)
        node["comment"] = self._short(_joined(*(reversed(texts) if is_first else texts)), what)

    def _add_variations(self, record: Record, position: Position) -> None:
        """Add all variations; the position is that after the last move of the game."""
        lines: dict[int | None, tuple[int, list[int]]] = {None: (0, self.main)}
        depth = len(record.moves)
        for index, variation in record.variation_order():
            for _ in range(depth - variation.ply + 1):
                position.pop()
            depth = variation.ply - 1 + len(variation.moves)
            first, nodes = lines[variation.parent]
            ids = self._add(nodes[variation.ply - 1 - first], position, variation.moves)
            lines[index] = variation.ply, ids
            if ids:
                node = self.nodes[ids[0]]
                self._add_comment(node, variation.comment, is_first=True)
                self._add_bookmark(node, variation.bookmark)

    def _add(self, parent: int, position: Position, moves: Iterable[RecordedMove]) -> list[int]:
        """Add a line; returns the numbers of its nodes. The position is left at its end."""
        ids: list[int] = []
        for played in moves:
            number = self._ids.get((parent, played.move))
            if number is None:
                number = self._ids[parent, played.move] = self._new(parent, position, played)
            else:
                self._add_comment(self.nodes[number], played.comment)
            self._add_bookmark(self.nodes[number], played.bookmark)
            position.push(played.move)
            self.nodes[number]["sfen"] = position.sfen()
            ids.append(number)
            parent = number
        return ids

    def _add_bookmark(self, node: dict[str, Any], bookmark: str) -> None:
        if bookmark:
            what = f"ply {node['ply']}: the bookmark"
            node["bookmark"] = self._short(_joined(node.get("bookmark", ""), self.lines(bookmark, what)), what)

    def _new(self, parent: int, position: Position, played: RecordedMove) -> int:
        if len(self.nodes) > MOST_NODES:
            raise RecordError(self._name, None, f"more than {MOST_NODES} moves with its variations")
        self.nodes.append(
            {
                "id": len(self.nodes),
                "parent": parent,
                "ply": position.ply,
                "usi": played.move.usi(),
                "japanese": japanese_move(position, played.move),
                "english": english_move(position, played.move),
                "comment": self.lines(played.comment, f"ply {position.ply}: the comment"),
                "time_ms": played.time_ms,
                "cp": played.score_cp,
                "mate": played.mate,
            }
        )
        return len(self.nodes) - 1


def _joined(text: str, other: str) -> str:
    """Two texts as lines; one that has the other is not doubled."""
    is_new = other not in text and text not in other
    return "\n".join(filter(None, (text, other))) if is_new else max(text, other, key=len)


def _illegal(record: Record, position: Position) -> dict[str, Any] | None:
    """The illegal move that ended the game; the position is that before it."""
    by = record.illegal_move_by
    if by is None:
        return None
    foul = foul_of(record.illegal_move, position, last_target(position))
    return {
        "move": clean(record.illegal_move, LONGEST_ILLEGAL_MOVE),
        "japanese": ("☗" if by == BLACK else "☖") + foul.kif(None).partition("(")[0] if foul else "",
        "by": "b" if by == BLACK else "w",
        "time_ms": record.illegal_move_time_ms,
    }


def games_of(found: Iterable[Record | RecordError]) -> dict[str, Any]:
    """The games of a file as the page gets them.

    Returns:
        games (see `record_tree`), problems (texts about games that cannot be read, and about what was cut), left_out
        (number of further games).

    Raises:
        Refused: No game can be read.
    """
    games: list[dict[str, Any]] = []
    problems: list[str] = []
    left_out = 0
    for record in found:
        if len(games) >= MOST_GAMES:
            left_out += 1
            continue
        try:
            if isinstance(record, RecordError):
                raise record
            games.append(record_tree(record, problems))
        except RecordError as error:
            problems.append(clean(str(error), 500))
    if not games:
        raise Refused(400, problems[0] if problems else "there is no game")
    return {"games": games, "problems": problems[:MOST_GAMES], "left_out": left_out}


def read_games(data: bytes, name: str) -> dict[str, Any]:
    """The games of a file that was sent, or the game and the document of an analysis; see `games_of`.

    Raises:
        Refused: It is no record, or damaged.
    """
    name = clean(name) or "record"
    if data[:200].lstrip()[:14].lower() in (b"<!doctype html", b"<html"):
        return read_page(data, name, LARGEST_UPLOAD)
    return read_document(data, name) or games_of(scan_records(data, name=name))


def read_document(data: bytes, name: str) -> dict[str, Any] | None:
    """The answer for a document of an analysis; None if the data is something else.

    Returns:
        As `games_of`, with the document as analysis.

    Raises:
        Refused: The document is damaged.
    """
    if data.lstrip()[:1] != b"{" or b'"positions"' not in data:
        return None
    from pydantic_core import from_json

    try:
        document: Any = from_json(data, allow_inf_nan=False)
    except ValueError:
        return None
    if not isinstance(document, dict):
        return None
    found = cast("dict[str, Any]", document)
    return answer_of(found, name) if {"record", "positions", "engine"} <= found.keys() else None


def read_page(data: bytes, name: str, largest: int) -> dict[str, Any]:
    """The answer for the page of an analysis, from the document in it; as `answer_of`.

    Args:
        data: The page.
        name: Its name.
        largest: Bytes of the largest document.

    Raises:
        Refused: There is none in it, or a damaged one.
    """
    from fukayomi.engine.report.document import AnalysisFileError, extract_document

    try:
        document = extract_document(data, largest)
    except AnalysisFileError as error:
        raise Refused(400, f"{name}: {clean(str(error), 300)}") from error
    return answer_of(document, name)


def answer_of(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A document as the page gets it, with its game.

    Raises:
        Refused: It is damaged.
    """
    from fukayomi.engine.report.document import AnalysisFileError, analysis_from_document

    try:
        analysis = analysis_from_document(document)
    except AnalysisFileError as error:
        raise Refused(400, f"{name} is a damaged analysis: {clean(str(error), 300)}") from error
    problems: list[str] = []
    game = record_tree(analysis.record, problems) | {"name": name}
    return {"games": [game], "problems": problems, "left_out": 0, "analysis": analysis.to_dict()}


# ------------------------------------------------------------------------------------------ what the page sends


TimeMs = Annotated[int, Field(ge=0, le=10**10)] | None
"""A time in milliseconds."""


class Node(Question):
    """A move of a record, and what is noted on it."""

    id: Annotated[int, Field(ge=0, le=1 << 31)]
    parent: int | None = None
    usi: Usi | None = None
    comment: Annotated[str, Field(max_length=LONGEST_TEXT)] = ""
    bookmark: Annotated[str, Field(max_length=LONGEST_TEXT)] = ""
    time_ms: TimeMs = None
    cp: Annotated[int, Field(ge=-(10**6), le=10**6)] | None = None
    mate: Annotated[int, Field(ge=-10000, le=10000)] | None = None

    def played(self) -> RecordedMove:
        """The move for a record.

        Raises:
            ShogiError: There is none, or it is not a move.
        """
        move = Move.from_usi(self.usi or "")
        notes = clean_lines(self.comment), self.time_ms, clean_lines(self.bookmark)
        return RecordedMove(move, self.cp, self.mate, "", *notes)


class IllegalMove(Question):
    """The illegal move that ended a game."""

    move: Annotated[str, Field(max_length=LONGEST_ILLEGAL_MOVE)] = ""
    time_ms: TimeMs = None


Name = Annotated[str, Field(max_length=LONGEST_NAME)]


class RecordTree(Question):
    """A record as the page has it; see `record_tree`."""

    name: Name = ""
    names: tuple[Name, Name] = ("", "")
    header: dict[Name, Name] = Field(default_factory=dict[Name, Name], max_length=100)
    start: Annotated[str, Field(max_length=LONGEST_SFEN)] = START_SFEN
    comment: Annotated[str, Field(max_length=LONGEST_TEXT)] = ""
    end: Termination | None = None
    end_word: Name = ""
    end_comment: Annotated[str, Field(max_length=LONGEST_TEXT)] = ""
    end_time_ms: TimeMs = None
    illegal: IllegalMove | None = None
    winner: Literal["b", "w", "draw"] | None = None
    main: Annotated[tuple[int, ...], Field(max_length=MOST_GAME_PLIES + 1)] = ()
    nodes: Annotated[tuple[Node, ...], Field(max_length=MOST_NODES + 1)] = ()

    def record(self) -> Record:
        """The record, every move checked.

        Raises:
            Refused: The tree is none, or a move is not legal.
        """
        lines = _Lines(self)
        results = {word: result for result, word in _RESULTS.items()}
        fields = {key: clean(text) for key, text in self.header.items()}
        record = Record(
            name=clean(self.name),
            initial_sfen=lines.start.sfen(),
            moves=lines.game,
            black_name=clean(self.names[0]),
            white_name=clean(self.names[1]),
            headers={clean(key): text for key, text in fields.items() if clean(key) and key not in _HEADER},
            comment=clean_lines(self.comment),
            termination=self.end or Termination.NONE,
            result=Result.UNKNOWN if self.winner is None else results[self.winner],
            variations=lines.variations,
            bookmark=clean_lines(lines.first.bookmark) if lines.first else "",
            ending_word=clean(self.end_word),
            ending_comment=clean_lines(self.end_comment),
            ending_time_ms=self.end_time_ms,
        )
        if self.illegal is not None:
            record.illegal_move = clean(self.illegal.move, LONGEST_ILLEGAL_MOVE)
            record.illegal_move_time_ms = self.illegal.time_ms
        for key in _HEADER:
            setattr(record, key, fields.get(key, ""))
        return record


class _Lines:
    """The game and the variations of a tree."""

    def __init__(self, tree: RecordTree) -> None:
        try:
            self.start = Position.from_sfen(tree.start, allow_missing_king=True)
        except ShogiError as error:
            raise Refused(400, f"start: {error}") from error
        self._nodes = {node.id: node for node in tree.nodes}
        self._children: dict[int, list[int]] = {}
        for node in tree.nodes:
            if node.parent is not None:
                self._children.setdefault(node.parent, []).append(node.id)
        if len(self._nodes) != len(tree.nodes) or any(parent not in self._nodes for parent in self._children):
            raise Refused(400, "nodes: a number is there twice, or a parent is missing")
        self.first = self._nodes.get(0)
        self._position = self.start.copy()
        self._depth = 0
        self._plies = 0
        main = self._main(tree.main)
        self.game = self._play(main[1:])
        self.variations: list[Variation] = []
        self._add_variations(main)

    def _main(self, given: Sequence[int]) -> list[int]:
        """The nodes of the game: those named, or the first child of each."""
        main = list(given) or [0]
        if main[0] != 0 or any(self._parent(node) != before for before, node in pairwise(main)):
            raise Refused(400, "main: it is not a line from node 0 on")
        while not given and len(main) <= MOST_GAME_PLIES and self._children.get(main[-1]):
            main.append(self._children[main[-1]][0])
        return main

    def _parent(self, node: int) -> int | None:
        return self._nodes[node].parent if node in self._nodes else None

    def _add_variations(self, main: list[int]) -> None:
        """Add the lines that leave the game and each other, those that leave last first."""
        waiting = self._branches(main, 0, None)
        while waiting:
            ply, node, parent = waiting.pop()
            line = [node]
            while children := self._children.get(line[-1]):
                line.append(children[0])
                if ply + len(line) > MOST_GAME_PLIES:
                    raise Refused(400, f"a game has at most {MOST_GAME_PLIES} moves")
            self._plies += len(line)
            if self._plies > MOST_VARIATION_PLIES:
                raise Refused(400, f"the variations have more than {MOST_VARIATION_PLIES} moves")
            for _ in range(self._depth - ply + 1):
                self._position.pop()
            self._depth = ply - 1
            self.variations.append(Variation(ply, self._play(line), parent=parent))
            waiting += self._branches(line, ply, len(self.variations) - 1)

    def _branches(self, line: list[int], ply: int, index: int | None) -> list[tuple[int, int, int | None]]:
        """Ply, first node and line left of the variations that leave a line, the one to be played first at the end."""
        found: list[tuple[int, int, int | None]] = []
        for before, (node, following) in enumerate(zip(line, [*line[1:], None], strict=True), ply):
            others = [child for child in self._children.get(node, ()) if child != following]
            found += [(before + 1, child, index) for child in reversed(others)]
        return found

    def _play(self, line: Sequence[int]) -> list[RecordedMove]:
        """Play the moves of nodes.

        Raises:
            Refused: A move is not legal.
        """
        moves: list[RecordedMove] = []
        for node in line:
            try:
                moves.append(self._nodes[node].played())
                self._position.push(moves[-1].move)
            except ShogiError as error:
                raise Refused(400, f"node {node}: {error}") from error
            self._depth += 1
        return moves


class SaveQuestion(Question):
    """A record, and how to write it."""

    record: RecordTree
    format: Literal["kif", "csa", "jkf", "usi"]
    encoding: Literal["utf-8", "shift_jis"] = "utf-8"
    analysis: dict[str, Any] | None = None
    """The document of an analysis of the record, which is written as comments and variations."""

    def file(self) -> tuple[str, bytes]:
        """Name and content of the file.

        Raises:
            Refused: The record cannot be written.
        """
        record = self.record.record()
        if self.analysis is not None:
            record = _annotated(record, self.analysis)
        kind = Format(self.format)
        encoding = self.encoding if kind is Format.KIF else "utf-8"
        try:
            data = encode_record(record, kind, encoding)
        except RecordError as error:
            raise Refused(400, error.reason) from error
        players = "-".join(filter(None, (record.black_name, record.white_name)))
        stem = _NOT_IN_FILE_NAMES.sub("-", players or record.name.rpartition("/")[2])[:80].strip("-. ")
        return f"{stem or 'game'}.{kind.value}", data


def _annotated(record: Record, document: Mapping[str, Any]) -> Record:
    """The record with an analysis in its comments, and with the better lines as variations.

    Raises:
        Refused: The analysis is damaged, or of another game.
    """
    from fukayomi.engine.report.document import AnalysisFileError, analysis_from_document
    from fukayomi.engine.report.files import annotated

    try:
        analysis = analysis_from_document(document)
    except AnalysisFileError as error:
        raise Refused(400, f"the analysis is damaged: {clean(str(error), 300)}") from error
    moves = analysis.record.usi_moves()
    if analysis.record.initial_sfen != record.initial_sfen or record.usi_moves()[: len(moves)] != moves:
        raise Refused(400, "the analysis is that of another game")
    return annotated(replace(analysis, record=record))


# ------------------------------------------------------------------------------------------ serving


def routes(_: object) -> list[BaseRoute]:
    """Routes of this module."""
    return [
        Route("/api/records", _records, methods=["POST"], max_body_size=LARGEST_UPLOAD),
        Route("/api/save", _save, methods=["POST"], max_body_size=LARGEST_UPLOAD),
    ]


async def _records(request: Request) -> Response:
    data = await request.body()
    name = request.query_params.get("name", "")
    return json_answer(await run_in_threadpool(read_games, data, name))


async def _save(request: Request) -> Response:
    question = await read_json(request, SaveQuestion)
    name, data = await run_in_threadpool(question.file)
    plain = name.encode("ascii", "ignore").decode().strip("-. ") or "game"
    disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name)}"
    return Response(data, media_type="text/plain; charset=utf-8", headers={"content-disposition": disposition})


def _header(record: Record) -> dict[str, str]:
    fields = {key: getattr(record, key) for key in _HEADER} | record.headers
    shown = ((clean(key), clean(text)) for key, text in list(fields.items())[:100])
    return {key: text for key, text in shown if key and text}


def _visible(text: str) -> str:
    return "".join(letter if letter.isprintable() or letter == "　" else " " for letter in text)
