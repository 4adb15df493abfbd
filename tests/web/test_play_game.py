"""Games against the engine without a page: rules, clocks, taking back, hints, what ends a game."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from patience import PATIENCE_S
from pydantic import ValidationError

from fukayomi import Network, Position
from fukayomi.shogi.record import Result, Termination
from fukayomi.web.play.game import Phase, PlayGame
from fukayomi.web.play.question import PlayError, PlayQuestion

MATE_NEXT = "4k4/9/4P4/9/9/9/9/9/4K4 b G2r2b3g4s4n4l17p 1"  # a gold on 5b mates


class Watched:
    """A game, and a wait for what it says."""

    def __init__(self, **question: Any) -> None:
        self.network = Network("<hash>")
        self.changed = threading.Condition()
        self.game = PlayGame(
            PlayQuestion(**({"nodes": 8} | question)), self.network, self.network.settings, self._on_change
        )

    def _on_change(self) -> None:
        with self.changed:
            self.changed.notify_all()

    def until(self, is_so: Callable[[PlayGame], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: is_so(self.game), PATIENCE_S)

    def until_reader(self) -> None:
        self.until(lambda game: game.phase is not Phase.ENGINE)

    def close(self) -> None:
        self.game.close()
        self.network.close()


@pytest.fixture
def begin() -> Iterator[Callable[..., Watched]]:
    begun: list[Watched] = []

    def begin(**question: Any) -> Watched:
        begun.append(Watched(**question))
        return begun[-1]

    yield begin
    for each in begun:
        each.close()


Begin = Callable[..., Watched]


def test_the_engine_answers_moves_and_begins_as_black(begin: Begin) -> None:
    watched = begin()
    assert watched.game.phase is Phase.READER
    watched.game.move("7g7f", 0)
    watched.until_reader()
    state = watched.game.state()
    assert len(state["moves"]) == 2
    assert [state["moves"][0][name] for name in ("usi", "japanese", "english")] == ["7g7f", "☗７六歩", "P-7f"]
    assert state["moves"][1]["cp"] is not None
    assert all(move["time_ms"] is not None for move in state["moves"])
    white = begin(color="white", nodes=1)
    white.until_reader()
    assert len(white.game.state()["moves"]) == 1
    assert white.game.record().black_name == "fukayomi (nodes=1)"


@pytest.mark.parametrize(
    ("usi", "ply", "message"),
    [("7g7e", 0, "not a legal move"), ("hello", 0, "hello"), ("7g7f", 1, "the position has changed")],
)
def test_moves_that_are_refused_change_nothing(begin: Begin, usi: str, ply: int, message: str) -> None:
    game = begin().game
    with pytest.raises(PlayError, match=message):
        game.move(usi, ply)
    assert (game.phase, game.state()["moves"]) == (Phase.READER, [])


def test_a_mate_ends_the_game_and_can_be_taken_back(begin: Begin) -> None:
    game = begin(sfen=MATE_NEXT).game
    game.move("G*5b", 0)
    state = game.state()
    assert (state["phase"], state["end"], state["winner"]) == ("over", "mate", "black")
    assert game.record().result is Result.BLACK_WIN
    for action in (game.resign, game.declare, game.hint):
        with pytest.raises(PlayError, match="the game is over"):
            action()
    game.take_back()
    state = game.state()
    assert (state["phase"], state["end"], state["winner"], state["moves"]) == ("reader", None, None, [])


def test_taking_back_removes_the_engine_s_answer_too(begin: Begin) -> None:
    watched = begin(moves=("2g2f", "8c8d"))
    with pytest.raises(PlayError, match="no move to take back"):  # what came before the game stays
        watched.game.take_back()
    for usi, ply in (("7g7f", 2), ("6i7h", 4)):
        watched.game.move(usi, ply)
        watched.until_reader()
    watched.game.take_back()
    assert [move["usi"] for move in watched.game.state()["moves"]][:3] == ["2g2f", "8c8d", "7g7f"]
    assert len(watched.game.state()["moves"]) == 4
    watched.game.take_back()
    state = watched.game.state()
    assert [move["usi"] for move in state["moves"]] == ["2g2f", "8c8d"]
    assert not state["can_take_back"]


def test_taking_back_and_resigning_while_the_engine_thinks(begin: Begin) -> None:
    watched = begin(nodes=1_000_000)
    watched.game.move("7g7f", 0)
    assert watched.game.phase is Phase.ENGINE
    with pytest.raises(PlayError, match="the engine is to move"):
        watched.game.move("3c3d", 1)
    watched.game.take_back()
    assert (watched.game.phase, watched.game.state()["moves"]) == (Phase.READER, [])
    watched.game.move("2g2f", 0)
    watched.game.resign()
    state = watched.game.state()
    assert (state["end"], state["winner"], len(state["moves"])) == ("resign", "white", 1)


def test_repetition_is_a_draw(begin: Begin) -> None:
    moves = ["2h3h", "8b7b", "3h2h", "7b8b"] * 3
    game = begin(moves=tuple(moves[:-1]), color="white").game
    game.move(moves[-1], len(moves) - 1)
    state = game.state()
    assert (state["end"], state["winner"]) == ("repetition", "draw")
    with pytest.raises(PlayError, match="the game is over in this position"):
        begin(moves=tuple(moves))


def test_declaration_only_where_the_rules_allow_it(begin: Begin) -> None:
    game = begin().game
    assert not game.state()["can_declare"]
    with pytest.raises(PlayError, match="conditions of a declaration"):
        game.declare()
    assert game.phase is Phase.READER
    entered = begin(sfen="1+R2K1+B2/PPPPPPPPP/2+B3+R2/9/9/9/9/9/4k4 b GS 1").game
    assert entered.state()["can_declare"]
    entered.declare()
    state = entered.state()
    assert (state["end"], state["winner"]) == ("declaration", "black")


def test_the_rule_of_the_game_is_the_reader_s_choice(begin: Begin) -> None:
    """28 points: a win by 27 points, a draw by 24, nothing without declarations; and a try is a move."""
    entered = "1+R2K1+B2/PPPPPPPPP/2+B3+R2/9/9/9/9/9/4k4 b GS 1"
    many = "K8/GGGGSSSS+N/N8/9/9/9/9/9/8k b 15P 1"
    for sfen, rule, end, winner in (
        (entered, "24", "declaration", "black"), (many, "24", "impasse", "draw"), (many, "24H", "impasse", "draw"),
    ):  # fmt: skip
        game = begin(sfen=sfen, declaration=rule).game
        assert game.state()["can_declare"]
        game.declare()
        assert (game.state()["end"], game.state()["winner"]) == (end, winner)
    without = begin(sfen=entered, declaration="none").game
    assert not without.state()["can_declare"]
    trying = begin(sfen="9/4K4/9/9/9/9/9/9/8k b - 1", declaration="try").game
    trying.move("5b5a", 0)
    assert (trying.state()["end"], trying.state()["winner"]) == ("declaration", "black")
    engine = begin(sfen="9/4K4/9/9/9/9/9/9/8k b - 1", declaration="try", color="white")
    engine.until(lambda game: game.phase is Phase.OVER)
    assert (engine.game.state()["end"], engine.game.state()["winner"]) == ("declaration", "black")


def test_the_reader_s_time_runs_out_and_clocks_go_back(begin: Begin) -> None:
    watched = begin(main_ms=1)
    watched.until(lambda game: game.phase is Phase.OVER)
    state = watched.game.state()
    assert (state["end"], state["winner"]) == ("time_up", "white")
    long = begin(main_ms=600_000, byoyomi_ms=10_000)
    long.game.move("7g7f", 0)
    long.until_reader()
    clock = long.game.state()["clocks"]["black"]
    assert clock["byoyomi_ms"] == 10_000
    assert clock["main_ms"] < 600_000 + 1
    long.game.take_back()
    assert long.game.state()["clocks"] == {
        "black": {"main_ms": 600_000, "byoyomi_ms": 10_000, "increment_ms": 0},
        "white": None,  # its limit is that of a move
    }
    assert long.game.record().time_limit == "600+10+0"


def test_the_engine_may_have_the_reader_s_clock(begin: Begin) -> None:
    watched = begin(nodes=None, main_ms=600_000, increment_ms=1000, color="white")
    watched.game.resign()  # while it thinks: it would take its time
    clocks = watched.game.state()["clocks"]
    assert clocks["black"] == clocks["white"] == {"main_ms": 600_000, "byoyomi_ms": 0, "increment_ms": 1000}
    assert watched.game.record().black_name == "fukayomi (main=10m,increment=1s)"
    quick = begin(nodes=None, byoyomi_ms=50)
    quick.until(lambda game: game.phase is Phase.OVER)  # nobody moves, and the time is over
    assert quick.game.record().termination is Termination.TIME_UP


def test_a_hint_changes_nothing(begin: Begin) -> None:
    game = begin().game
    hint = game.hint()
    assert hint["usi"] in {move.usi() for move in Position().legal_moves}
    assert hint["japanese"][0].startswith("☗")
    assert 0 <= hint["win_rate"] <= 1
    assert game.state()["moves"] == []


def test_a_temperature_makes_games_differ(begin: Begin) -> None:
    first: set[str] = set()
    for _ in range(30):
        watched = begin(color="white", nodes=64, temperature=2.0)
        watched.until_reader()
        first.add(watched.game.state()["moves"][0]["usi"])
        if len(first) > 1:
            break
    assert len(first) > 1


def test_a_closed_game_is_interrupted(begin: Begin) -> None:
    watched = begin(nodes=1_000_000)
    watched.game.move("7g7f", 0)
    watched.close()
    assert watched.game.record().termination is Termination.INTERRUPTED


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({}, "the engine needs nodes, time_ms or a clock"),
        ({"nodes": 5, "time_ms": 100}, "exclude each other"),
        ({"nodes": 0}, "greater than or equal to 1"),
        ({"nodes": 5, "byoyomi_ms": 1000, "increment_ms": 1000}, "byoyomi or an increment, not both"),
        ({"nodes": 5, "color": "red"}, "black"),
        ({"nodes": 5, "temperature": 3}, "less than or equal to 2"),
    ],
)
def test_games_that_cannot_be(question: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PlayQuestion(**question)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"sfen": "nothing"}, "invalid SFEN"),
        ({"moves": ("7g7e",)}, "illegal move"),
        ({"sfen": MATE_NEXT, "moves": ("G*5b",)}, "over"),
    ],
)
def test_starts_that_cannot_be(begin: Begin, question: dict[str, Any], message: str) -> None:
    with pytest.raises(PlayError, match=message):
        begin(**question)
