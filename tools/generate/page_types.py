"""Write the types of what the server and its page say to each other into tools/javascript/documents.d.ts.

    python tools/generate/page_types.py

Questions are the models that check them (`fukayomi.web`). Answers are described here: by dataclasses that the server
sends as they are, and by TypedDicts for the dictionaries that it makes; tests/web/test_page_types.py compares them with
what the server answers, and fails if the file is out of date.
"""

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)  # fmt: skip

from pydantic import BaseModel

from fukayomi.arena.ratings.rating import PlayerRating
from fukayomi.arena.statistics.move_times import Times
from fukayomi.arena.statistics.sequential_elo import SequentialElo
from fukayomi.arena.statistics.sprt import SprtDecision, SprtModel
from fukayomi.loop.report.status import GenerationRow, GenerationSeries, LeagueRow, Now, WorkerFlag
from fukayomi.shogi.record import Termination
from fukayomi.web.books import AddQuestion, TakeBackQuestion
from fukayomi.web.play.question import PlayQuestion
from fukayomi.web.play.routes import MoveQuestion
from fukayomi.web.play.strength import Measured
from fukayomi.web.positions import PositionQuestion, TriedQuestion
from fukayomi.web.records import SaveQuestion
from fukayomi.web.search.analyses import JobQuestion, JobState
from fukayomi.web.socket import Analyse, Stop
from fukayomi.web.worth import WorthQuestion

FILE = Path(__file__).resolve().parents[1] / "javascript" / "documents.d.ts"
Side = Literal["b", "w"]
ColorName = Literal["black", "white"]
QUESTIONS = (
    AddQuestion, Analyse, JobQuestion, MoveQuestion, PlayQuestion, PositionQuestion, SaveQuestion, Stop,
    TakeBackQuestion, TriedQuestion, WorthQuestion,
)  # fmt: skip


# ------------------------------------------------------------------------------------------ the page and its records


class NetworkState(TypedDict):
    state: Literal["loading", "ready", "failed"]
    name: str
    identity: str
    text: str


class ServedFile(TypedDict):
    id: int
    name: str
    kind: Literal["record", "analysis", "runs", "matches"]


class Handicap(TypedDict):
    name: str
    english: str
    sfen: str


class ServerState(TypedDict):
    version: str
    network: NetworkState
    files: list[ServedFile]
    book: str | None
    handicaps: list[Handicap]


class Facts(TypedDict):
    sfen: str
    turn: Side
    ply: int
    check: bool
    legal: list[str]
    last: str | None
    japanese: str | None
    english: str | None
    repetition: Literal["draw", "win", "lose"] | None
    occurrences: int
    declaration: bool
    end: Literal["mate", "repetition", "perpetual_check"] | None
    winner: Side | None
    board: list[str]
    hands: dict[Side, dict[str, int]]


class RecordNode(TypedDict):
    id: int
    parent: int | None
    ply: NotRequired[int]
    usi: str | None
    japanese: str
    english: str
    sfen: NotRequired[str]
    comment: str
    bookmark: NotRequired[str]
    time_ms: int | None
    cp: NotRequired[int | None]
    mate: NotRequired[int | None]


class IllegalEnd(TypedDict):
    move: str
    japanese: str
    by: Side
    time_ms: int | None


class GameRecord(TypedDict):
    name: str
    names: tuple[str, str]
    header: dict[str, str]
    start: str
    comment: str
    end: Termination | None
    end_word: str
    end_comment: str
    end_time_ms: int | None
    illegal: IllegalEnd | None
    winner: Literal["b", "w", "draw"] | None
    main: list[int]
    nodes: list[RecordNode]


# ------------------------------------------------------------------------------------------ the analysis of a game


class Score(TypedDict):
    win_rate: float
    cp: int
    mate: int | None


class AnalysedLine(Score):
    visits: int
    pv: list[str]
    japanese: list[str]


class AnalysedPosition(Score):
    ply: int
    sfen: str
    nodes: int
    limits: dict[str, int | None] | None
    lines: list[AnalysedLine]
    played: AnalysedLine | None
    certain: bool


class JudgedMove(Score):
    ply: int
    color: ColorName
    move: str
    japanese: str
    best: str | None
    best_japanese: str | None
    loss: float
    loss_cp: int
    mistake: Literal["inaccuracy", "dubious", "mistake", "blunder"] | None
    certain: bool
    missed_mate: bool
    allowed_mate: bool
    recorded_cp: int | None


class SideFigures(TypedDict):
    moves: int
    average_loss: float
    agreement: float
    mistakes: dict[str, int]


class AnalysedMove(TypedDict):
    move: str


class AnalysedRecord(TypedDict):
    moves: list[AnalysedMove]


class AnalysisDocument(TypedDict):
    black: str
    white: str
    event: str
    date: str
    result: str
    engine: str
    limits: str
    total_moves: int
    is_complete: bool
    sides: dict[ColorName, SideFigures]
    mistakes: list[int]
    moves: list[JudgedMove]
    positions: list[AnalysedPosition]
    record: AnalysedRecord


class OpenedGames(TypedDict):
    games: list[GameRecord]
    problems: list[str]
    left_out: int
    analysis: NotRequired[AnalysisDocument]


class JobMessage(TypedDict):
    type: Literal["job"]
    id: int
    state: JobState
    done: int
    total: int
    text: str


class JobDocument(JobMessage):
    result: AnalysisDocument | None


# ------------------------------------------------------------------------------------------ live analysis


class LiveLine(TypedDict):
    move: str
    visits: int
    prior: float
    win_rate: float | None
    cp: int | None
    mate: int | None
    depth: int
    pv: list[str]
    japanese: list[str]
    english: list[str]


class ReportMessage(TypedDict):
    type: Literal["report"]
    id: int
    nodes: int
    nps: float
    time_ms: int
    hashfull: int
    visits: int
    depth: int
    decided: NotRequired[bool]
    stored: NotRequired[bool]
    lines: list[LiveLine]


class EndMessage(TypedDict):
    type: Literal["end"]
    id: int
    reason: Literal["limit", "stopped", "taken", "error"]
    text: str


class StateMessage(TypedDict):
    type: Literal["state"]
    state: ServerState


# ------------------------------------------------------------------------------------------ play, worth


class PlayedMove(TypedDict):
    usi: str
    japanese: str
    english: str
    time_ms: int | None
    cp: int | None
    mate: int | None


class ClockState(TypedDict):
    main_ms: float
    byoyomi_ms: int
    increment_ms: int


class PlayMessage(TypedDict):
    type: Literal["play"]
    id: str
    version: int
    color: ColorName
    phase: Literal["reader", "engine", "over"]
    turn: ColorName
    start: str
    first: int
    moves: list[PlayedMove]
    can_declare: bool
    can_take_back: bool
    end: Termination | None
    winner: Literal["black", "white", "draw"] | None
    names: tuple[str, str]
    clocks: dict[ColorName, ClockState | None]
    elapsed_ms: int
    error: str


class PlayHint(TypedDict):
    ply: int
    usi: str
    pv: list[str]
    japanese: list[str]
    english: list[str]
    win_rate: float
    cp: int
    nodes: int


class MateAnswer(TypedDict):
    reason: Literal["mate", "no_mate", "nodes", "time", "stopped"]
    nodes: int
    moves: list[str]
    japanese: list[str]
    english: list[str]


class PageBookMove(TypedDict):
    usi: str
    japanese: str
    english: str
    cp: int | None
    depth: int | None
    count: int
    reply: str | None
    reply_japanese: str | None
    reply_english: str | None


class BookAnswer(TypedDict):
    moves: list[PageBookMove]
    problem: str | None


class BookAdded(TypedDict):
    number: int
    count: int
    is_new: bool


class WorthPiece(TypedDict):
    place: str
    color: ColorName
    piece: str
    count: int
    japanese: str
    worth_cp: int | None
    worth_win_rate: float | None
    relative_cp: float | None
    change_cp: int | None


class WorthTogether(TypedDict):
    pieces: list[str]
    japanese: list[str]
    color: ColorName
    worth_cp: int | None
    worth_win_rate: float | None
    sum_cp: int | None
    extra_cp: int | None


class WorthPosition(TypedDict):
    sfen: str
    ply: int
    network: str
    win_rate: float
    cp: int
    pieces: list[WorthPiece]
    together: list[WorthTogether]


class WorthDifference(TypedDict):
    piece: str
    place: str
    first_cp: int | None
    second_cp: int | None
    difference_cp: int | None


class WorthAnswer(TypedDict):
    positions: list[WorthPosition]
    differences: list[WorthDifference]
    svg: str


# ------------------------------------------------------------------------------------------ runs and matches


class ListedRun(TypedDict):
    id: str
    kind: Literal["training", "learning", "selfplay", "match", "league"]
    name: str
    parent: str | None


class RunList(TypedDict):
    version: str
    runs: list[ListedRun]


class DamagedDocument(TypedDict):
    version: str
    id: str
    kind: Literal["training", "learning", "selfplay", "match", "league"]
    name: str
    error: str


class CurvePoints(TypedDict):
    step: list[float]
    value: list[float]


class CurveLine(CurvePoints):
    smooth: NotRequired[CurvePoints]


class MeasuredCurve(TypedDict):
    train: NotRequired[CurveLine]
    test: NotRequired[CurveLine]


class TrainingDocument(TypedDict):
    version: str
    id: str
    kind: Literal["training"]
    name: str
    last_step: int
    steps: int | None
    batch: int | None
    smooth: float
    seconds: CurvePoints
    curves: dict[str, MeasuredCurve]
    settings: dict[str, str]


class LearningDocument(TypedDict):
    version: str
    id: str
    kind: Literal["learning"]
    name: str
    is_running: bool
    generation: int
    generations: int
    now: Now | None
    network: str | None
    games: int
    positions: int
    quarantined: int
    games_an_hour: float | None
    samples_a_second: float | None
    ratings: list[PlayerRating]
    history: list[GenerationRow]
    league: list[LeagueRow]
    flags: list[WorkerFlag]
    series: GenerationSeries
    kept: list[int]
    anchors: list[PlayerRating]
    settings: dict[str, str]


class SelfplayTotals(TypedDict):
    games: int
    positions: int
    plies_a_game: float | None
    black_wins: int
    white_wins: int
    draws: int
    endings: dict[str, int]
    wrong_resignations: tuple[int, int]


class SelfplayPoint(SelfplayTotals):
    time: float
    games_before: int


class SelfplayOpponent(TypedDict):
    name: str
    wins: int
    draws: int
    losses: int
    win_rate: float | None
    low: float
    high: float


class SelfplayDocument(SelfplayTotals):
    version: str
    id: str
    kind: Literal["selfplay"]
    name: str
    chunks: int
    damaged: int
    opponents: list[SelfplayOpponent]
    workers: dict[str, int]
    networks: dict[str, int]
    points: list[SelfplayPoint]


class MatchScore(TypedDict):
    games: int
    wins: int
    losses: int
    draws: int
    score: float | None


class EloRange(TypedDict):
    elo: float | None
    elo_error: float | None
    elo_low: float | None
    elo_high: float | None
    score_low: float | None
    score_high: float | None


class WithoutForfeits(EloRange):
    games: int


class MatchPlayer(MatchScore, EloRange):
    name: str
    as_black: MatchScore
    as_white: MatchScore
    failures: int
    forfeits: dict[str, int]
    rests_on_forfeits: bool
    without_forfeits: WithoutForfeits
    time: Times | None
    overhead: Times | None


class MatchPair(MatchScore, EloRange):
    first: str
    second: str
    pentanomial: list[int]
    nelo: float | None
    nelo_error: float | None
    los: float | None
    without_forfeits: WithoutForfeits


class MatchTest(TypedDict):
    first: str
    second: str
    pairs: list[int]
    elo0: float
    elo1: float
    alpha: float
    beta: float
    model: SprtModel
    llr: float
    lower: float
    upper: float
    decision: SprtDecision
    elo: SequentialElo | None


class MatchRatings(TypedDict):
    players: list[PlayerRating]
    first_mover_advantage: float
    draw_rate: float
    notes: list[str]


class StrategyRow(TypedDict):
    name: str
    english: str
    games: int
    share: float
    black_rate: float | None
    black_low: float | None
    black_high: float | None
    white_rate: float | None
    draw_rate: float | None


class MatchStrategies(TypedDict):
    games: int
    combinations: int
    rows: list[StrategyRow]


class MatchFailure(TypedDict):
    game: int
    engine: str
    kind: str


class MatchMember(TypedDict):
    id: str
    name: str


class MatchDocument(TypedDict):
    version: str
    id: str
    kind: Literal["match", "league"]
    name: str
    playing: bool
    games: int
    scheduled: int
    players: list[MatchPlayer]
    pairs: list[MatchPair]
    first_mover: NotRequired[MatchScore]
    terminations: NotRequired[dict[str, int]]
    failures: NotRequired[list[MatchFailure]]
    warnings: NotRequired[list[str]]
    sprt: NotRequired[MatchTest | None]
    ratings: NotRequired[MatchRatings | None]
    strategies: NotRequired[MatchStrategies | None]
    settings: NotRequired[dict[str, str]]
    damaged: NotRequired[int]
    matches: NotRequired[int]
    members: NotRequired[list[MatchMember]]


class ListedGame(TypedDict):
    number: int
    black: str
    white: str
    result: int
    termination: str
    date: str | float
    plies: int


class GamePage(TypedDict):
    games: list[ListedGame]
    more: bool


ANSWERS = (
    ServerState, Facts, GameRecord, OpenedGames, Score, AnalysisDocument, JobMessage, JobDocument, ReportMessage,
    EndMessage, StateMessage, PlayMessage, PlayHint, Measured, MateAnswer, BookAnswer, BookAdded, WorthAnswer,
    RunList, DamagedDocument,
    TrainingDocument, LearningDocument, SelfplayDocument, EloRange, MatchDocument, GamePage,
)  # fmt: skip


# ------------------------------------------------------------------------------------------ TypeScript


def fields_of(kind: type) -> dict[str, tuple[Any, bool]]:
    """The fields of a class with their types, and whether each must be there."""
    hints = get_type_hints(kind, include_extras=True)
    if issubclass(kind, BaseModel):
        return {name: (hints[name], field.is_required()) for name, field in kind.model_fields.items()}
    if dataclasses.is_dataclass(kind):
        return {field.name: (hints[field.name], True) for field in dataclasses.fields(kind)}
    required: frozenset[str] = kind.__required_keys__  # pyright: ignore[reportAttributeAccessIssue]
    return {name: (get_args(hint)[0] if get_origin(hint) is NotRequired else hint, name in required)
            for name, hint in hints.items()}  # fmt: skip


def is_object(hint: Any) -> bool:
    """Whether a type is a class with fields."""
    return (
        is_typeddict(hint) or dataclasses.is_dataclass(hint) or (isinstance(hint, type) and issubclass(hint, BaseModel))
    )


class Types:
    """The types as TypeScript: each class with fields is an interface."""

    def __init__(self) -> None:
        self.interfaces: dict[str, str] = {}

    def add(self, kind: type) -> str:
        """The name of a class, after its interface was written."""
        name = kind.__name__
        if name not in self.interfaces:
            self.interfaces[name] = ""
            lines = [
                f"  {field}{'' if must else '?'}: {self.text(hint)};" for field, (hint, must) in fields_of(kind).items()
            ]
            self.interfaces[name] = f"export interface {name} {{\n" + "\n".join(lines) + "\n}\n"
        return name

    def text(self, hint: Any) -> str:
        """A type as TypeScript."""
        origin, given = get_origin(hint), get_args(hint)
        if origin is Annotated:
            return self.text(given[0])
        if origin in (Union, UnionType):
            return " | ".join(dict.fromkeys(map(self.text, given)))
        if origin is Literal:
            return " | ".join(json.dumps(each) for each in given)
        if origin is tuple and given[-1] is not Ellipsis:
            return f"[{', '.join(map(self.text, given))}]"
        if origin in (list, tuple, Sequence):
            text = self.text(given[0])
            return f"({text})[]" if " " in text else f"{text}[]"
        if origin in (dict, Mapping):
            return f"Record<{self.text(given[0])}, {self.text(given[1])}>"
        if is_object(hint):
            return self.add(hint)
        if issubclass(hint, Enum):
            return " | ".join(json.dumps(each.value) for each in hint)
        return {str: "string", bool: "boolean", int: "number", float: "number", NoneType: "null", Any: "unknown"}[hint]


def declarations() -> str:
    """The text of the file."""
    types = Types()
    for kind in (*ANSWERS, *QUESTIONS):
        types.add(kind)
    head = "// What the server and its page say to each other. Written by tools/generate/page_types.py.\n\n"
    return head + "\n".join(types.interfaces.values())


def faults(value: Any, hint: Any, place: str = "") -> Iterator[str]:
    """Where a value of JSON is not of a type, as ``.curves.policy_loss.train``."""
    origin, given = get_origin(hint), get_args(hint)
    if origin is Annotated:
        yield from faults(value, given[0], place)
    elif origin in (Union, UnionType):
        found = [list(faults(value, each, place)) for each in given]
        if all(found):
            yield from min(found, key=len) if value is not None else [f"{place} is null"]
    elif origin is Literal:
        if value not in given:
            yield f"{place} is {value!r}"
    elif origin in (list, tuple, Sequence):
        if not isinstance(value, list) or (origin is tuple and given[-1] is not Ellipsis and len(value) != len(given)):
            yield f"{place} is {type(value).__name__}"
        else:
            for index, each in enumerate(value):
                kind = given[index] if origin is tuple and given[-1] is not Ellipsis else given[0]
                yield from faults(each, kind, f"{place}[{index}]")
    elif origin in (dict, Mapping):
        if not isinstance(value, dict):
            yield f"{place} is {type(value).__name__}"
        else:
            for name, each in value.items():
                yield from faults(name, given[0], f"{place}.{name}")
                yield from faults(each, given[1], f"{place}.{name}")
    elif is_object(hint):
        known = fields_of(hint)
        if not isinstance(value, dict):
            yield f"{place} is {type(value).__name__}"
            return
        yield from (f"{place}.{name} is missing" for name, (_, must) in known.items() if must and name not in value)
        for name, each in value.items():
            if name in known:
                yield from faults(each, known[name][0], f"{place}.{name}")
    else:
        kinds: tuple[type, ...] = (
            (int, float) if hint in (int, float) else (str,) if issubclass(hint, Enum) else (hint,)
        )
        if not isinstance(value, kinds) or (isinstance(value, bool) and hint is not bool):
            yield f"{place} is {value!r}"


if __name__ == "__main__":
    FILE.write_text(declarations(), encoding="utf-8")
