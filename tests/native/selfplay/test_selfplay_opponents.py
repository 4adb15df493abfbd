"""Games with opponents, and what searches with noise, mates and refuted moves teach and choose."""

import pytest
from selfplay_runner import Decoded, Hash, Network, Script, drive, search_params, selfplay_params

from fukayomi._native import (
    OUTSIDE,
    FinishedGame,
    GameReason,
    RootRule,
    SelfplayParams,
    SelfplayPlayer,
    SelfplayPool,
    encode_position,
)
from fukayomi.engine.evaluators.protocol import PlaneSlot
from fukayomi.selfplay import SelfplaySettings
from fukayomi.shogi import BLACK, WHITE, Move, Position

LEARNER = SelfplayPlayer()
OTHER = SelfplayPlayer(1, teaches=False)
ENGINE = SelfplayPlayer(OUTSIDE, teaches=False)


class Same:
    """Says the same of every position.

    Args:
        value: Win probability of the side to move.
        favourite: Logit of the first move; the others have 0.
    """

    def __init__(self, value: float, favourite: float = 0.0) -> None:
        self._value, self._favourite = value, favourite

    def run(self, slot: PlaneSlot, n: int) -> None:
        slot.logits[:n] = 0.0
        slot.logits[:n, 0] = self._favourite
        slot.values[:n] = self._value


OPTIMIST = Same(0.0)
"""Who has moved into a position wins there."""


def against(
    opponent: SelfplayPlayer, networks: list[Network], params: SelfplayParams, games: int = 12, **search: object
) -> list[FinishedGame]:
    """Games of the learner, which has Black in those with odd numbers."""
    pool = SelfplayPool(params, search_params(**search), 4)
    for index in range(games):
        pool.add(index, Position(), *((LEARNER, opponent) if index % 2 else (opponent, LEARNER)))
    return drive(pool, 4, networks, lambda _index, position: position.legal_moves[-1])


def test_another_network_cannot_win_by_its_own_belief() -> None:
    params = selfplay_params(playouts=1, max_move=20, threshold=0.99, play_out=0.0)
    for networks in ([Same(0.5), OPTIMIST], [OPTIMIST, Same(0.5)]):
        games = against(OTHER, networks, params, leaf_mate_plies=0)
        assert {game.reason for game in games} == {GameReason.MAX_PLIES}


def test_a_network_may_give_up_against_another() -> None:
    params = selfplay_params(playouts=1, max_move=20, threshold=0.99, play_out=0.0, random=0)
    games = against(OTHER, [Same(1.0), Same(0.5)], params, leaf_mate_plies=0)  # who moves there loses
    assert {game.reason for game in games} == {GameReason.RESIGNATION}
    assert all(game.winner == (WHITE if game.index % 2 else BLACK) for game in games)


def test_a_game_against_a_usi_engine_ends_as_dlshogi_s_do() -> None:
    params = selfplay_params(playouts=1, max_move=20, threshold=0.99, play_out=0.0)
    games = against(ENGINE, [OPTIMIST], params, leaf_mate_plies=0)
    assert {game.reason for game in games} == {GameReason.RESIGNATION}
    assert all(game.winner == (BLACK if game.index % 2 else WHITE) for game in games)


@pytest.mark.parametrize(
    ("changes", "search"),
    [
        ({}, {"root_rule": RootRule.GUMBEL}),
        ({}, {"root_noise_epsilon": 0.25}),
        ({"random2": 1000.0}, {}),
        ({"cheap": 0.75, "cheap_playouts": 4}, {}),
        ({"low_moves": 0.5}, {}),
    ],
)
def test_an_opponent_plays_its_best_moves(changes: dict[str, object], search: dict[str, object]) -> None:
    params = selfplay_params(playouts=16, random=0, max_move=2, threshold=1.0, **changes)
    games = against(OTHER, [Hash(1), Hash(2)], params, games=40, **search)
    assert len({game.moves[0].usi() for game in games if game.index % 2 == 0}) == 1


def pool_of(**values: object) -> SelfplayPool:
    """A pool for a game at once, by settings as a run has them."""
    fixed = {"threshold": 1.0, "early_stop": False, "extension": 0.0, "temperature": 1.0, "root_noise": 0.0}
    settings = SelfplaySettings.model_validate(fixed | {"random": 0, "mate_depth": 0, "leaf_mate_plies": 0} | values)
    return SelfplayPool(settings.params(1), settings.search_params(), 1)


@pytest.mark.parametrize("changes", [{"random": 1, "random_cutoff": 1.0}, {"random": 0, "random2": 1000.0}])
def test_visits_of_noise_draw_no_move(changes: dict[str, object]) -> None:
    pool = pool_of(playouts=100, max_move=3, train_random=True, root_noise=10.0, fpu="half", fpu_root="half", **changes)
    for index in range(60):
        pool.add(index, Position())
    for game in drive(pool, 1, [Same(0.5, favourite=12.0)]):
        taught, *_ = Decoded(game).candidates
        assert list(taught) == [game.moves[0].raw]  # a move of noise alone would have been appended
        assert sum(taught.values()) < 100  # there was noise


def test_gumbel_plans_all_visits_whatever_is_kept() -> None:
    params = selfplay_params(playouts=16, random=0, max_move=12, threshold=1.0, reuse=True)
    pool = SelfplayPool(params, search_params(root_rule=RootRule.GUMBEL, leaf_mate_plies=0), 1)
    pool.add(0, Position())
    (game,) = drive(pool, 1)
    assert game.playouts == 16 * game.searches


REFUTED = Position.from_sfen("1skp1gsn1/l4g1bl/nrp2p3/1p2KPpPp/P3P4/1P1P4P/L1PG5/1BS3+ppR/1N4SNL b 2Pg 1")
BLUNDER = "5d6c"
"""Runs into a mate in one."""


class Tempting:
    """Likes a blunder, and sees its refutation late."""

    def __init__(self) -> None:
        self._root = Script(REFUTED, [BLUNDER])
        after = REFUTED.copy()
        after.push_usi(BLUNDER)
        self._after = _key(after)

    def run(self, slot: PlaneSlot, n: int) -> None:
        self._root.run(slot, n)
        slot.logits[:n] /= 10  # 30 for the blunder
        for row in range(n):
            if _row(slot, row) == self._after:
                slot.values[row] = 0.45


def _key(position: Position) -> bytes:
    planes1, planes2 = encode_position(position)
    return planes1.tobytes() + planes2.tobytes()


def _row(slot: PlaneSlot, row: int) -> bytes:
    return slot.input.planes1[row].tobytes() + slot.input.planes2[row].tobytes()


def test_a_refuted_move_holds_no_place_in_the_standing() -> None:
    extended = _visits_of_others(extension=1.2)
    plain = _visits_of_others(extension=0.0)
    assert sum(plain) < 390  # the blunder had the rest
    assert plain[0] == plain[1]  # so the best of the others does not lead
    assert sum(extended) > sum(plain) + 390  # and the search is extended twice


def _visits_of_others(extension: float) -> list[int]:
    pool = pool_of(playouts=400, extension=extension, max_move=6)
    pool.add(0, REFUTED)
    (game,) = drive(pool, 1, [Tempting()])
    taught = Decoded(game).candidates[0]
    assert Move.from_usi(BLUNDER).raw not in taught
    return sorted(taught.values(), reverse=True)


class Expects:
    """Likes the first move of `LINE`, and expects the mate after it as much as it is told."""

    def __init__(self, mate: float) -> None:
        self._line, self._mate = Script(LINE, ["5d5c"]), mate
        before_mate = LINE.copy()
        for usi in ("5d5c", "6a5a"):
            before_mate.push_usi(usi)
        self._before_mate = _key(before_mate)
        self._label = before_mate.policy_label(Move.from_usi("G*5b"))

    def run(self, slot: PlaneSlot, n: int) -> None:
        self._line.run(slot, n)
        slot.logits[:n] /= 10  # 30 for the move of the line
        for row in range(n):
            if _row(slot, row) == self._before_mate:
                labels = slot.input.labels[row, : slot.input.counts[row]].tolist()
                slot.logits[row, labels.index(self._label)] = self._mate


LINE = Position.from_sfen("3k5/2g6/9/4G4/9/9/9/9/4K4 b G 1")


def test_a_mate_surprises_a_network_that_has_not_expected_it() -> None:
    shares: list[float] = []
    for mate in (-6.0, 6.0):
        pool = pool_of(playouts=200, max_move=40, surprise=1.0, leaf_mate_plies=1)
        pool.add(0, LINE, LEARNER, ENGINE)
        (game,) = drive(pool, 1, [Expects(mate)], lambda _index, position: _king_to_5a(position))
        assert [move.usi() for move in game.moves] == ["5d5c", "6a5a", "G*5b"]
        first, last = game.weights
        shares.append(last / (first + last))
    assert shares[0] > 0.9
    assert shares[1] < 0.5


def _king_to_5a(position: Position) -> Move:
    move = Move.from_usi("6a5a")
    return move if position.is_legal(move) else position.legal_moves[0]
