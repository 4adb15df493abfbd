"""Whatever is asked, the server answers with a text and not with an error of its own."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from fukayomi.shogi import START_SFEN, Position
from fukayomi.web.answers import Refused, json_bytes
from fukayomi.web.hub import Outbox
from fukayomi.web.positions import PositionQuestion, describe
from fukayomi.web.records import SaveQuestion, read_games
from fukayomi.web.search.analyses import JobQuestion
from fukayomi.web.settings import WebSettings
from fukayomi.web.socket import receive
from fukayomi.web.state import State

TEXTS = st.one_of(st.text(max_size=20), st.sampled_from([START_SFEN, "7g7f", "3c3d", "G*5b", "analyse", "stop", "kif"]))
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-2, 5), st.integers(), st.floats(), TEXTS)
FIELDS = st.sampled_from(
    ["type", "id", "sfen", "moves", "multipv", "limit", "nodes", "time_ms", "record", "format", "kind", "names", "main",
     "parent", "usi", "start", "comment", "end", "winner", "header", "limits", "known", "positions", "engine"]
)  # fmt: skip
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS, inner, max_size=6))
OBJECTS = st.dictionaries(FIELDS, VALUES, max_size=8)
MOVES = st.sampled_from(["7g7f", "3c3d", "2g2f", "x"])
OF_NODES = {"parent": st.integers(0, 5) | st.none(), "usi": MOVES, "comment": TEXTS}
NODES = st.lists(st.fixed_dictionaries({"id": st.integers(0, 5)}, optional=OF_NODES), max_size=6)
OF_TREES = {"main": st.lists(st.integers(0, 5), max_size=4), "names": st.tuples(TEXTS, TEXTS)}
TREES = st.fixed_dictionaries({"nodes": NODES}, optional=OF_TREES)


class Box(Outbox):
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any], kind: object = None) -> None:
        self.messages.append(message)


@pytest.fixture(scope="module")
def state() -> State:
    """Never started: what is asked of it is judged, and not searched."""
    return State(WebSettings(evaluator="<hash>"))


@settings(max_examples=40)
@given(OBJECTS | VALUES)
def test_messages_are_answered(state: State, message: Any) -> None:
    box = Box()
    text = json.dumps(message)
    receive(state, box, text)
    state.live.stop(box)
    for answer in box.messages:
        assert answer["type"] in ("error", "end")
        json_bytes(answer)


@settings(max_examples=40)
@given(OBJECTS)
def test_positions_are_described_or_refused(question: Any) -> None:
    try:
        found = describe(PositionQuestion.model_validate_json(json.dumps(question)).position())
    except (ValidationError, Refused):
        return
    assert Position.from_sfen(found["sfen"], allow_missing_king=True).sfen() == found["sfen"]


@settings(max_examples=60)
@given(TREES, st.sampled_from(["kif", "csa", "jkf", "usi"]))
def test_trees_are_saved_or_refused(record: Any, kind: str) -> None:
    try:
        name, data = SaveQuestion.model_validate_json(json.dumps({"record": record, "format": kind})).file()
    except (ValidationError, Refused):
        return
    assert name.endswith(f".{kind}")
    assert not set(name) & set('/\\\r\n"')
    read_games(data, name)


@settings(max_examples=25)
@given(OBJECTS)
def test_jobs_are_understood_or_refused(question: Any) -> None:
    try:
        JobQuestion.model_validate_json(json.dumps(question)).record.record()
    except (ValidationError, Refused):
        return


@settings(max_examples=40)
@given(st.binary(max_size=200) | OBJECTS.map(lambda value: json.dumps(value).encode()))
def test_uploads_are_read_or_refused(data: bytes) -> None:
    try:
        found = read_games(data, "x")
    except Refused:
        return
    assert json.loads(json_bytes(found))["games"]


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"positions":[', '{"moves":[{"forks":[['])
def test_deep_nesting_is_refused(opening: str, state: State) -> None:
    text = opening * 50_000
    with pytest.raises(Refused):
        read_games(text.encode(), "deep")
    with pytest.raises(ValidationError):
        PositionQuestion.model_validate_json(text)
    box = Box()
    receive(state, box, text)
    assert box.messages[0]["type"] == "error"
