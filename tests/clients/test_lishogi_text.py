"""The messages of lishogi's API: those of its documentation, and any others, which are refused and break nothing."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fukayomi import BLACK, WHITE, ShogiError
from fukayomi.clients.lishogi.decisions import is_level, is_lost, own_scores
from fukayomi.clients.lishogi.settings import BotSettings
from fukayomi.clients.lishogi.text import (
    Account,
    Challenge,
    GameFull,
    GameInfo,
    GameState,
    LishogiProtocolError,
    read_line,
    read_message,
    read_sfen,
)
from fukayomi.shogi import Move, Position
from fukayomi.shogi.record import RecordedMove

USER = {"id": "lovlas", "name": "Lovlas", "title": "LM", "rating": 2506, "patron": True, "online": True, "lag": 24}
STATE = {
    "type": "gameState", "moves": "7g7f 3c3d", "btime": 8395220, "wtime": 7598040, "binc": 10000, "winc": 10000,
    "byo": 0, "status": "started",
}  # fmt: skip
FULL: dict[str, Any] = {
    "type": "gameFull", "id": "5IrD6Gzz", "rated": True, "speed": "realTime", "perf": {"name": "Shogi"},
    "variant": {"key": "standard", "name": "Standard", "short": "Std"}, "createdAt": 1523825103562,
    "clock": {"initial": 1200000, "increment": 10000, "byoyomi": 0, "periods": 1}, "sente": USER,
    "gote": {"aiLevel": 3}, "initialSfen": "startpos", "state": STATE,
}  # fmt: skip
CHALLENGE: dict[str, Any] = {
    "id": "7pGLxJ4F", "url": "https://lishogi.org/7pGLxJ4F", "status": "created", "challenger": USER, "destUser": None,
    "variant": {"key": "standard", "name": "Standard", "short": "Std"}, "rated": True, "speed": "realTime",
    "timeControl": {"type": "clock", "limit": 300, "increment": 25, "byoyomi": 10, "periods": 1, "show": "5+25"},
    "color": "random", "perf": {"icon": "#", "name": "Shogi"},
}  # fmt: skip
MESSAGES: list[tuple[Any, dict[str, Any]]] = [
    (GameFull, FULL),
    (GameState, STATE),
    (Challenge, CHALLENGE),
    (GameInfo, {"gameId": "rCRw1AuO", "fullId": "rCRw1AuOvonq", "compat": {"bot": True, "board": True}}),
    (Account, {"id": "thibot", "username": "thibot", "title": "BOT", "count": {"all": 9265}}),
]
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def test_the_messages_of_the_documentation() -> None:
    kind, message = read_line(json.dumps(FULL))
    game = read_message(GameFull, message)
    assert (kind, game.id, game.sfen().split()[1]) == ("gameFull", "5IrD6Gzz", "b")
    assert (game.player(BLACK).shown, game.player(WHITE).shown) == ("Lovlas", "AI level 3")
    assert (game.state.left_ms(WHITE), game.state.increment_ms(BLACK)) == (7598040, 10000)
    assert read_message(Challenge, CHALLENGE).text() == (
        "challenge 7pGLxJ4F of Lovlas (2506): standard, 300 s + 25 s increment + 10 s byoyomi, rated"
    )
    assert read_message(GameInfo, {"id": "rCRw1AuO"}).id == "rCRw1AuO"
    assert read_message(Account, MESSAGES[4][1]).games == 9265


def test_both_names_of_gote_in_the_documentation() -> None:
    for letter in "wq":
        state = {"moves": "", "status": "started", f"{letter}time": 5000, f"{letter}takeback": True}
        read = read_message(GameState, state)
        assert (read.left_ms(WHITE), read.wants_takeback(WHITE), read.wants_takeback(BLACK)) == (5000, True, False)


def test_first_positions() -> None:
    assert read_sfen("startpos") == Position().sfen()
    assert read_sfen(Position().sfen().removesuffix(" 1")) == Position().sfen()
    with pytest.raises(ShogiError):
        read_sfen("nonsense")


@given(st.text(max_size=60) | ANY_JSON.map(json.dumps))
def test_any_line_is_a_message_or_refused(line: str) -> None:
    try:
        kind, message = read_line(line)
    except LishogiProtocolError:
        return
    assert message["type"] == kind


@given(st.sampled_from(MESSAGES), st.data())
def test_any_value_in_any_field_is_read_or_refused(known: tuple[Any, dict[str, Any]], data: st.DataObject) -> None:
    model, message = known
    changed = json.loads(json.dumps(message))
    place = changed
    while True:
        key = data.draw(st.sampled_from(sorted(place)))
        if not isinstance(place[key], dict) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(ANY_JSON)
    try:
        read = read_message(model, changed)
    except LishogiProtocolError:
        return
    if isinstance(read, Challenge):
        assert read.text().isprintable()
    if isinstance(read, GameFull):
        assert read.sente.shown.isprintable()
        read.state.ending()


def moves(*scores: int | None) -> list[RecordedMove]:
    return [RecordedMove(Move.from_usi("7g7f"), score) for score in scores]


def test_scores_are_seen_from_our_side() -> None:
    played = moves(10, None, -30, 40, None)
    assert own_scores(played, BLACK, BLACK) == [10, -30, None]
    assert own_scores(played, BLACK, WHITE) == [None, -40]
    assert own_scores(played, WHITE, WHITE) == [-10, 30, None]


def test_when_a_bot_resigns_and_takes_a_draw() -> None:
    never, rules = BotSettings(), BotSettings(resign_cp=500, resign_moves=2, draw_cp=20, draw_moves=2, draw_ply=10)
    assert is_lost([0, -500, -900], rules)
    assert not is_lost([-900, -499], rules)
    assert not is_lost([-900, None], rules)
    assert not is_lost([-900], rules)
    assert not is_lost([-900, -900], never)
    assert is_level([300, 20, -20], 10, rules)
    assert not is_level([20, -20], 9, rules)
    assert not is_level([20, 21], 10, rules)
    assert not is_level([None, 0], 10, rules)
    assert not is_level([0, 0], 400, never)
