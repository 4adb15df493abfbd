"""The pool of games against itself: what a game depends on, how games end, and what is written."""

import cshogi
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selfplay_runner import Decoded, Hash, Script, drive, scripted, search_params, selfplay_params

from fukayomi._native import (
    OUTSIDE,
    DeclarationRule,
    FinishedGame,
    GameReason,
    HashEvaluator,
    Search,
    SelfplayParams,
    SelfplayPlayer,
    SelfplayPool,
    SparseInput,
    decode_hcpe3,
    encode_hcp,
    position_from_hcp,
)
from fukayomi.engine.evaluators.protocol import PlaneSlot
from fukayomi.shogi import BLACK, WHITE, IllegalMoveError, Move, Position

SHUFFLE = ["2h1h", "8b9b", "1h2h", "9b8b"]
CHECKS = "4k4/9/9/9/9/9/9/5R3/4K4 b - 1"
PERPETUAL = ["4h5h", "5a4a", "5h4h", "4a5a"]
CAMP = "K8/GGGGSSSS+N/N8/9/9/9/9/9/k8 w 18P 1"
MATE_IN_FIVE = "ln1+R4l/2+N1R1gk1/p4pbpp/6P2/6SP1/PpG5P/1PG1PP3/4K2s1/L3b1sNL b GN5Psp 101"
ONE_REPLY = "1r2k4/9/9/9/9/9/9/9/K7r b - 1"


def play(
    count: int = 6, batch: int = 4, games: int = 3, shares: int = 1, cache_mb: int = 0, **values: object
) -> list[FinishedGame]:
    pool = SelfplayPool(selfplay_params(**values), search_params(root_noise_epsilon=0.25), games, shares, cache_mb)
    for index in range(count):
        pool.add(index, Position())
    return drive(pool, batch)


def by_index(games: list[FinishedGame]) -> list[bytes]:
    return [game.data for game in sorted(games, key=lambda game: game.index)]


# ---------------------------------------------------------------------------------------------- reproducibility


def test_the_same_run_gives_the_same_bytes_in_the_same_order() -> None:
    assert [game.data for game in play(batch=1)] == [game.data for game in play(batch=1)]


@given(
    batch=st.integers(1, 9),
    games=st.integers(2, 8),
    shares=st.integers(1, 2),
    cache_mb=st.sampled_from([0, 1]),
    reuse=st.booleans(),
)
@settings(max_examples=8, deadline=None)
def test_a_game_depends_on_its_number_and_seed_alone(
    batch: int, games: int, shares: int, cache_mb: int, reuse: bool
) -> None:
    values: dict[str, object] = {"seed": 5, "reuse": reuse, "max_move": 30, "random2": 1.3}
    alone = play(batch=1, games=1, **values)
    assert by_index(play(6, batch, games, shares, cache_mb, **values)) == by_index(alone)


def test_seeds_and_numbers_make_different_games() -> None:
    first, second = play(seed=1, max_move=20), play(seed=2, max_move=20)
    assert len(set(by_index(first + second))) == 12


# ---------------------------------------------------------------------------------------------- what is written


def replayed(game: FinishedGame) -> Position:
    """The last position, after every move was found legal."""
    decoded = Decoded(game)
    position = position_from_hcp(decoded.start)
    for move, hcp in zip(decoded.moves, decoded.hcps, strict=True):
        assert encode_hcp(position) == hcp
        position.push(Move.from_raw(move))
    assert decoded.moves == [move.raw for move in game.moves]
    return position


def test_games_are_legal_and_their_results_follow_from_the_moves() -> None:
    games = play(24, max_move=200, playouts=16, threshold=1.0)
    reasons = {game.reason for game in games}
    assert {GameReason.MATE, GameReason.MAX_PLIES} <= reasons
    for game in games:
        position, result = replayed(game), Decoded(game).result
        assert result & 3 == (0 if game.winner is None else 1 if game.winner == BLACK else 2)
        if game.reason == GameReason.MATE:
            assert position.is_mated()
            assert game.winner != position.turn
            assert result & ~3 == 0
        elif game.reason == GameReason.MAX_PLIES:
            assert (game.plies, game.winner, result) == (200, None, 0x10)
        elif game.reason == GameReason.REPETITION:
            assert encode_hcp(position) in Decoded(game).hcps


def test_targets_hold_the_move_and_the_visits_of_the_search() -> None:
    for game in play(8, playouts=24, extension=0.0, early_stop=False):
        decoded = Decoded(game)
        taught = [moves for moves in decoded.candidates if moves]
        assert len(taught) == game.positions == len(game.weights)
        assert all(np.asarray(game.weights) == 1.0)
        for ply, (move, moves) in enumerate(zip(decoded.moves, decoded.candidates, strict=True)):
            assert (not moves) or move in moves
            assert ply >= 4 or not moves  # drawn at random
            assert sum(moves.values()) <= 24
        assert any(sum(moves.values()) == 24 for moves in taught)


def test_an_exploiter_plays_any_move_but_the_best() -> None:
    """Its opponent, which does not teach, plays its best ones."""
    values: dict[str, object] = {"random": 0, "low_moves": 1.0, "max_move": 40, "threshold": 1.0}
    opening = Position()
    kinds = {True: 0, False: 0}
    for train_random in (True, False):
        pool = SelfplayPool(selfplay_params(train_random=train_random, **values), search_params(), 4)
        for index in range(4):
            pool.add(index, opening, SelfplayPlayer(), SelfplayPlayer(0, teaches=False))
        for game in drive(pool):
            decoded = Decoded(game)
            taught = [(move, moves) for move, moves in zip(decoded.moves, decoded.candidates, strict=True) if moves]
            kinds[train_random] += sum(move != next(iter(moves)) for move, moves in taught)
            assert game.random_plies >= game.plies // 2 - 4
            assert game.searches >= game.random_plies
            assert sum(move == next(iter(moves)) for move, moves in taught) <= 4  # before a mate
    assert kinds[True] > 40
    assert kinds[False] == 0


def test_low_moves_come_as_often_as_they_are_asked_for() -> None:
    games = play(16, random=0, low_moves=0.25, max_move=60, threshold=1.0)
    share = sum(game.random_plies for game in games) / sum(game.searches for game in games)
    assert 0.15 < share < 0.35
    assert by_index(play(6, random=0, max_move=20)) == by_index(play(6, random=0, low_moves=0.0, max_move=20))


def test_random_moves_have_targets_if_asked_for() -> None:
    for game in play(4, train_random=True):
        assert all(Decoded(game).candidates[:4])
        assert game.random_plies == 4


def test_an_early_stop_and_extensions_follow_the_visits() -> None:
    plain = play(6, playouts=60, early_stop=False, extension=0.0)
    stopped = play(6, playouts=60, early_stop=True, extension=0.0)
    extended = play(6, playouts=60, early_stop=False, extension=1.2)
    mean = [sum(g.playouts for g in games) / sum(g.searches for g in games) for games in (plain, stopped, extended)]
    assert mean[1] < mean[0] < mean[2]
    for game in extended:
        for moves in filter(None, Decoded(game).candidates):
            assert sum(moves.values()) <= 120
    shortened = 0
    for game in stopped:
        decoded = Decoded(game)
        for moves, value in list(zip(decoded.candidates, decoded.evals, strict=True))[:50]:  # then draws are proven
            visits = [*sorted(moves.values(), reverse=True), 0]
            if moves and sum(visits) < 60 and abs(value) < 30000:
                assert visits[0] - visits[1] > 60 - sum(visits)
                shortened += 1
    assert shortened > 0


def test_cshogi_reads_the_same_games() -> None:
    for game in play(6, max_move=120):
        decoded = Decoded(game)
        data, board = game.data, cshogi.Board()
        board.set_hcp(np.frombuffer(data[:32], np.uint8))
        offset = 36
        assert int.from_bytes(data[32:34], "little") == game.plies
        for move, candidates in zip(decoded.moves, decoded.candidates, strict=True):
            assert int.from_bytes(data[offset : offset + 2], "little") == move
            count = int.from_bytes(data[offset + 4 : offset + 6], "little")
            assert count == len(candidates)
            legal = {m & 0xFFFF for m in board.legal_moves}
            assert {move, *candidates} <= legal
            board.push_move16(move)
            offset += 6 + 4 * count
        assert offset == len(data)
        if game.reason == GameReason.MATE:
            assert board.is_game_over()


# ---------------------------------------------------------------------------------------------- how games end


def test_a_repetition_is_a_draw_at_the_first_recurrence() -> None:
    game = scripted(Position(), SHUFFLE)
    assert (game.reason, game.winner, game.plies) == (GameReason.REPETITION, None, 4)
    assert Decoded(game).result == 0x04
    assert game.searches == 4


def test_the_search_of_a_move_knows_no_recurrence_of_the_game() -> None:
    # 9b8b would end the game; the search judges it as if the game had begun with this position.
    opening = Position.from_usi(f"startpos moves {' '.join(SHUFFLE[:3])}")
    found = []
    for start in (opening, Position.from_sfen(opening.sfen())):
        pool = SelfplayPool(selfplay_params(playouts=200, max_move=len(start.moves) + 1, random=0), search_params(), 1)
        pool.add(0, start)
        (game,) = drive(pool)
        found.append((Decoded(game).candidates[-1], Decoded(game).evals[-1]))
    assert found[0] == found[1]
    assert sum(found[0][0].values()) >= 50


def test_perpetual_check_loses() -> None:
    game = scripted(Position.from_sfen(CHECKS), PERPETUAL)
    assert (game.reason, game.winner, game.plies) == (GameReason.REPETITION, WHITE, 4)
    assert Decoded(game).result == 0x04 | 2


def test_a_declaration_wins() -> None:
    game = scripted(Position.from_sfen(CAMP), ["9i9h"])
    assert (game.reason, game.winner, game.plies) == (GameReason.DECLARATION, BLACK, 1)
    assert Decoded(game).result == 0x08 | 1


def test_a_try_wins() -> None:
    search = search_params(leaf_mate_plies=1)
    search.declaration_rule = DeclarationRule.TRY
    pool = SelfplayPool(selfplay_params(playouts=64, random=0, threshold=1.0), search, 1)
    pool.add(0, Position.from_sfen("9/9/9/4K4/9/9/9/9/8k b - 1"))
    (game,) = drive(pool)
    assert (game.reason, game.winner) == (GameReason.DECLARATION, BLACK)
    assert replayed(game).try_move() is not None


def test_the_maximum_of_moves_is_a_draw() -> None:
    game = scripted(Position(), ["7g7f", "3c3d", "2g2f"], max_move=3)
    assert (game.reason, game.winner, game.plies) == (GameReason.MAX_PLIES, None, 3)


@pytest.mark.parametrize("depth", [0, 5])
def test_a_mate_is_played_to_its_end(depth: int) -> None:
    """One that the search proves, or that df-pn finds at the root."""
    params = selfplay_params(mate_depth=depth, random=0, playouts=400)
    pool = SelfplayPool(params, search_params(), 1)
    pool.add(0, Position.from_sfen(MATE_IN_FIVE))
    (game,) = drive(pool)
    decoded = Decoded(game)
    assert (game.reason, game.winner) == (GameReason.MATE, BLACK)
    assert replayed(game).is_mated()
    assert game.plies in (5, 7)
    assert decoded.evals == [30000, -30000, 30000, -30000, 30000, -30000, 30000][: game.plies]
    assert [bool(moves) for moves in decoded.candidates] == [depth == 0] + [False] * (game.plies - 1)
    assert game.searches == (1 if depth == 0 else 0)


def test_resignation_needs_the_threshold_and_shows_it() -> None:
    params = selfplay_params(playouts=1, threshold=0.9, play_out=0.0, random=0)
    pool = SelfplayPool(params, search_params(leaf_mate_plies=0), 1)
    pool.add(0, Position())
    (game,) = drive(pool, 1, [Script(Position(), ["7g7f"], 0.01)])  # for the side to move: White, after Black's move
    assert (game.reason, game.winner, game.plies) == (GameReason.RESIGNATION, BLACK, 1)
    assert Decoded(game).evals[0] > 2000
    assert Decoded(game).candidates[0]


def test_games_are_played_out_to_check_resignations() -> None:
    games = play(40, max_move=120, threshold=0.2, play_out=0.5, playouts=12)
    checked = [game for game in games if game.is_played_out]
    assert {game.reason for game in games if not game.is_played_out} >= {GameReason.RESIGNATION}
    assert 8 <= len(checked) <= 32
    assert any(game.is_wrong_resignation for game in checked)  # the values mean nothing
    assert all(game.reason != GameReason.RESIGNATION for game in checked)
    assert not any(game.is_wrong_resignation for game in games if not game.is_played_out)


def test_single_replies_are_played_without_a_search() -> None:
    pool = SelfplayPool(selfplay_params(max_move=1, random=0), search_params(), 1)
    pool.add(0, Position.from_sfen(ONE_REPLY))
    (game,) = drive(pool)
    assert Position.from_sfen(ONE_REPLY).legal_move_count == 1
    assert (game.plies, game.searches, game.positions, game.playouts) == (1, 0, 0, 0)


def test_an_opening_is_part_of_the_game() -> None:
    opening = Position.from_usi("startpos moves 7g7f 3c3d 2g2f")
    pool = SelfplayPool(selfplay_params(max_move=9), search_params(), 1)
    pool.add(0, opening)
    (game,) = drive(pool)
    decoded = Decoded(game)
    assert [move.usi() for move in game.moves[:3]] == ["7g7f", "3c3d", "2g2f"]
    assert decoded.start == encode_hcp(Position())
    assert (game.opening_plies, game.plies, game.searches) == (3, 9, 6)
    assert [bool(moves) for moves in decoded.candidates] == [False] * 7 + [
        True
    ] * 2  # four drawn moves follow the opening


# ---------------------------------------------------------------------------------------------- players


def test_networks_play_their_own_moves_and_only_one_learns() -> None:
    opening = Position()
    black, white = ["7g7f", "2g2f", "2f2e"], ["3c3d", "8c8d", "8d8e"]
    line = [move for pair in zip(black, white, strict=True) for move in pair]
    params = selfplay_params(playouts=1, random=0, max_move=6, threshold=1.0)
    pool = SelfplayPool(params, search_params(leaf_mate_plies=0), 2)
    pool.add(0, opening, SelfplayPlayer(0), SelfplayPlayer(1, teaches=False))
    pool.add(1, opening, SelfplayPlayer(1, teaches=False), SelfplayPlayer(0))
    other = ["1g1f", "9c9d", "1f1e", "9d9e", "1e1d", "9e9f"]
    games = sorted(drive(pool, 2, [Script(opening, line), Script(opening, other)]), key=lambda game: game.index)
    assert [Decoded(game).opponent for game in games] == [2, 1]
    for game, learner in zip(games, (0, 1), strict=True):
        taught = [bool(moves) for moves in Decoded(game).candidates]
        assert taught == [ply % 2 == learner for ply in range(6)]
    assert games[0].moves[0].usi() == "7g7f"
    assert games[1].moves[0].usi() == "1g1f"


def test_another_program_may_play_one_side() -> None:
    asked: list[str] = []

    def answer(index: int, position: Position) -> Move | None:
        asked.append(position.usi())
        return position.legal_moves[0] if len(asked) < 4 else None

    pool = SelfplayPool(selfplay_params(random=0), search_params(), 1)
    pool.add(3, Position(), SelfplayPlayer(OUTSIDE, teaches=False), SelfplayPlayer())
    (game,) = drive(pool, answer=answer)
    assert asked[0] == "startpos"
    assert len(asked) == 4
    assert (game.index, game.reason, game.winner, game.plies) == (3, GameReason.RESIGNATION, WHITE, 6)
    decoded = Decoded(game)
    assert decoded.opponent == 1
    assert [bool(moves) for moves in decoded.candidates] == [False, True] * 3


def test_a_waiting_game_holds_nothing_back_and_can_begin_again() -> None:
    pool = SelfplayPool(selfplay_params(max_move=20), search_params(), 2)
    pool.add(0, Position(), SelfplayPlayer(OUTSIDE, teaches=False), SelfplayPlayer())
    for index in range(1, 4):
        pool.add(index, Position())
    slot = PlaneSlot.zeros(4)
    finished: list[FinishedGame] = []
    while len(finished) < 3:
        n = pool.gather(0, slot.input, 4)
        Hash().run(slot, n)
        pool.apply(0, slot.logits, slot.values)
        finished += pool.take_finished()
    (waiting,) = pool.take_waiting()
    assert waiting.index == 0
    assert pool.take_waiting() == []
    assert pool.playing == 1
    with pytest.raises(IllegalMoveError):
        pool.answer(0, Move.from_usi("5e5d"))
    assert not pool.answer(9, None)
    assert pool.answer(0, waiting.position.legal_moves[0])
    alone, program = SelfplayPlayer(), SelfplayPlayer(OUTSIDE, teaches=False)
    assert not pool.restart(0, program, alone)  # it is not waiting
    while not (again := pool.take_waiting()):
        n = pool.gather(0, slot.input, 4)
        Hash().run(slot, n)
        pool.apply(0, slot.logits, slot.values)
    assert len(again[0].position.moves) == 2
    with pytest.raises(ValueError, match="must be a network"):
        pool.restart(0, program, program)
    assert pool.restart(0, program, alone)
    (first,) = pool.take_waiting()
    assert first.position.moves == []
    assert pool.restart(0, alone, alone)
    assert pool.playing == 1
    (game,) = drive(pool)
    assert Decoded(game).opponent == 0
    other = SelfplayPool(selfplay_params(max_move=20), search_params(), 1)
    other.add(0, Position())
    assert drive(other)[0].data == game.data


# ---------------------------------------------------------------------------------------------- mistakes


def test_parameters_are_validated() -> None:
    params = SelfplayParams()
    for name, value in [("playouts", 0), ("max_move", 513), ("threshold", 1.5), ("leaves", 0), ("random_cutoff", -0.1)]:
        with pytest.raises(ValueError, match=name):
            setattr(params, name, value)
    assert params.playouts == 800


def test_games_that_cannot_begin_are_refused() -> None:
    pool = SelfplayPool(selfplay_params(max_move=2), search_params(), 1)
    with pytest.raises(ValueError, match="max_move"):
        pool.add(0, Position.from_usi("startpos moves 7g7f 3c3d"))
    with pytest.raises(ValueError, match="network"):
        pool.add(0, Position(), SelfplayPlayer(OUTSIDE), SelfplayPlayer(OUTSIDE))
    pool.add(0, Position())
    with pytest.raises(ValueError, match="game 0"):
        pool.add(0, Position())
    assert pool.clear_queue() == 1
    with pytest.raises(ValueError, match="shares"):
        SelfplayPool(selfplay_params(), search_params(), 2, 3)


def test_a_bad_answer_cancels_the_batch() -> None:
    pool = SelfplayPool(selfplay_params(max_move=8), search_params(), 3)
    for index in range(3):
        pool.add(index, Position())
    slot = PlaneSlot.zeros(3)
    assert pool.gather(0, slot.input, 3) == 3
    Hash().run(slot, 3)
    slot.values[1] = np.nan
    with pytest.raises(ValueError, match="unusable"):
        pool.apply(0, slot.logits, slot.values)
    games = drive(pool)
    reference = SelfplayPool(selfplay_params(max_move=8), search_params(), 3)
    for index in range(3):
        reference.add(index, Position())
    assert by_index(games) == by_index(drive(reference))


def test_a_batch_must_be_applied_before_the_next() -> None:
    pool = SelfplayPool(selfplay_params(), search_params(), 1)
    pool.add(0, Position())
    slot = PlaneSlot.zeros(1)
    assert pool.gather(0, slot.input, 1) == 1
    with pytest.raises(RuntimeError, match="applied"):
        pool.gather(0, slot.input, 1)
    pool.cancel(0)
    assert pool.gather(0, slot.input, 1) == 1


# ---------------------------------------------------------------------------------------------- for few machines


def test_cheap_searches_have_few_visits_and_no_target() -> None:
    games = play(8, playouts=40, cheap=0.75, cheap_playouts=8, extension=0.0, early_stop=False, random=0)
    searches = sum(game.searches for game in games)
    full = sum(game.positions for game in games)
    assert 0.15 < full / searches < 0.35
    assert sum(game.playouts for game in games) < 20 * searches
    for game in games:
        for moves in filter(None, Decoded(game).candidates[:-4]):
            assert sum(moves.values()) > 8 or len(moves) == 1


def test_soft_resignation_plays_on_with_a_low_weight() -> None:
    values: dict[str, object] = {"max_move": 120, "threshold": 0.2, "playouts": 24, "random": 0}
    games = play(12, soft_playouts=6, soft_weight=0.25, extension=0.0, play_out=0.0, **values)
    assert all(game.reason != GameReason.RESIGNATION for game in games)
    weights = np.concatenate([game.weights for game in games])
    assert set(weights.tolist()) == {0.25, 1.0}
    for game in games:
        low = np.flatnonzero(np.asarray(game.weights) == 0.25)
        assert game.is_played_out == (len(low) > 0)
        assert low.tolist() == list(range(len(game.weights) - len(low), len(game.weights)))
    assert any(game.is_wrong_resignation for game in games)


def test_surprise_moves_weight_within_a_game() -> None:
    plain, weighted = play(4, max_move=40), play(4, max_move=40, surprise=0.5)
    assert by_index(plain) == by_index(weighted)  # the games are the same
    for game in weighted:
        weights = np.asarray(game.weights)
        assert weights.sum() == pytest.approx(len(weights), rel=1e-5)
        assert weights.min() >= 0.5
        assert weights.std() > 0.05


def test_totals_are_those_of_all_games() -> None:
    pool = SelfplayPool(selfplay_params(max_move=12), search_params(), 2)
    for index in range(4):
        pool.add(index, Position())
    games = drive(pool)
    expected = [sum(getattr(game, name) for game in games) for name in ("searches", "playouts", "evaluations")]
    assert list(pool.totals()) == expected


# ---------------------------------------------------------------------------------------------- positions that are kept


def kept_positions(game: FinishedGame) -> list[bytes]:
    found = decode_hcpe3(np.frombuffer(game.kept, np.uint8), True)
    assert not found.damages
    return [row.tobytes() for row in found.starts]


def test_a_game_keeps_the_nodes_of_its_searches_that_have_enough_visits() -> None:
    values: dict[str, object] = {"playouts": 200, "early_stop": False, "extension": 0.0, "keep_nodes": 8}
    pool = SelfplayPool(selfplay_params(plies=1, **values), search_params(), 1)
    pool.add(3, Position())
    (game,) = drive(pool, 1)
    search, slot = Search(search_params(), 64), PlaneSlot.zeros(1)
    search.set_position(Position())
    batch = search.new_batch(1)
    while search.root_visits < 201:
        search.run(batch, HashEvaluator(), slot.input, slot.logits, slot.values, 1, 1)
    assert game.kept == search.labelled_nodes(8)
    found = decode_hcpe3(np.frombuffer(game.kept, np.uint8), True)
    assert len(kept_positions(game)) > 10
    assert found.starts[0].tobytes() == encode_hcp(Position())


def test_the_tree_of_the_last_search_comes_first() -> None:
    values: dict[str, object] = {"playouts": 120, "keep_nodes": 4, "reuse": True, "plies": 4, "play_out": 1.0}
    pool = SelfplayPool(selfplay_params(**values), search_params(), 2)
    for plies in range(2):
        pool.add(plies, Position())
    for game in drive(pool, 3):
        decoded = Decoded(game)
        keys = kept_positions(game)
        searched = [key for key in keys if key in decoded.hcps]
        assert list(dict.fromkeys(searched)) == decoded.hcps[::-1]
        assert len(keys) > len(set(keys)) > 4  # those that two searches have come twice


def test_a_game_keeps_either_leaves_or_nodes() -> None:
    assert scripted(Position(), ["7g7f"], max_move=1).kept == b""
    params = SelfplayParams()
    with pytest.raises(ValueError, match="keep_nodes is 1; "):
        params.keep_nodes = 1
    params.keep_nodes = 2
    with pytest.raises(ValueError, match="keep_nodes and keep_leaves cannot both be set"):
        params.keep_leaves = True


# ---------------------------------------------------------------------------------------------- stretches in the core


@pytest.mark.parametrize(("limit", "seconds"), [(1, 0.0), (3, 10.0), (8, 0.001)])
def test_stretches_play_the_same_games(limit: int, seconds: float) -> None:
    pool = SelfplayPool(selfplay_params(seed=5), search_params(root_noise_epsilon=0.25), 3, 2)
    for index in range(6):
        pool.add(index, Position())
    slot, games, rows = PlaneSlot.zeros(8), list[FinishedGame](), 0
    while pool.playing:
        for share in range(2):
            found, is_finite = pool.run(share, HashEvaluator(), slot.input, slot.logits, slot.values, limit, 0, seconds)
            rows += found
            assert is_finite
        games += pool.take_finished()
    assert by_index(games) == by_index(play(seed=5))
    assert rows == sum(game.evaluations for game in games) == pool.totals()[2]
    assert pool.run(0, HashEvaluator(), slot.input, slot.logits, slot.values, 8) == (0, True)


def test_stretches_refuse_what_does_not_fit() -> None:
    pool = SelfplayPool(selfplay_params(), search_params(), 1)
    pool.add(0, Position())
    slot, small = PlaneSlot.zeros(4), PlaneSlot.zeros(2)
    for input, logits, values in ((small.input, slot.logits, slot.values), (slot.input, small.logits, slot.values)):
        with pytest.raises(ValueError, match="2 rows"):
            pool.run(0, HashEvaluator(), input, logits, values, 4)
    for seconds in (-1.0, float("nan"), 1e9):
        with pytest.raises(ValueError, match="seconds"):
            pool.run(0, HashEvaluator(), slot.input, slot.logits, slot.values, 4, 0, seconds)
    with pytest.raises(ValueError, match="share is 1"):
        pool.run(1, HashEvaluator(), slot.input, slot.logits, slot.values, 4)
    with pytest.raises(ValueError, match="of another evaluator"):
        pool.run(0, HashEvaluator(), SparseInput(4), slot.logits, slot.values, 4)
    assert pool.gather(0, slot.input, 4) == 1  # the batch was cancelled
    with pytest.raises(RuntimeError, match="must be applied or cancelled"):
        pool.run(0, HashEvaluator(), slot.input, slot.logits, slot.values, 4)
