"""The tree between moves and at the end of its memory."""

import itertools

import pytest
from search_runner import MATSURI, Runner

from fukayomi._native import Move, Position, Search, SearchParams


def test_the_tree_is_kept_when_the_game_goes_on() -> None:
    position = Position.from_usi("startpos moves 7g7f 3c3d")
    runner = Runner(position)
    runner.run(3000)
    best = runner.search.lines(1)[0]
    after = position.copy()
    for move in best.pv[:2]:
        after.push(move)
    assert runner.search.set_position(after)
    assert runner.search.nodes == 0
    kept = runner.search.root_visits
    assert 1 < kept < best.visits
    lines = runner.search.lines(600)
    assert {line.move for line in lines} == set(after.legal_moves)
    assert len(lines) == after.legal_move_count
    runner.search.check_invariants()
    runner.run(1000)
    assert runner.search.root_visits >= kept + 1000
    runner.search.check_invariants()


def test_the_same_position_again_keeps_everything() -> None:
    position = Position.from_sfen(MATSURI)
    runner = Runner(position)
    runner.run(500)
    before = [(line.move, line.visits) for line in runner.search.lines(10)]
    assert runner.search.set_position(position)
    assert [(line.move, line.visits) for line in runner.search.lines(10)] == before


def test_another_past_starts_anew() -> None:
    runner = Runner(Position.from_usi("startpos moves 7g7f 3c3d 2g2f"))
    runner.run(500)
    # The same position by other moves, a move taken back, another start: repetitions would be judged otherwise.
    assert not runner.search.set_position(Position.from_usi("startpos moves 2g2f 3c3d 7g7f"))
    runner.run(500)
    assert not runner.search.set_position(Position.from_usi("startpos moves 2g2f 3c3d"))
    assert runner.search.root_visits == 0
    runner.run(500)
    assert not runner.search.set_position(Position.from_sfen(Position.from_usi("startpos moves 2g2f 3c3d").sfen()))
    runner.search.check_invariants()


def test_a_move_outside_the_tree_starts_anew() -> None:
    runner = Runner(Position())
    runner.run(3)
    unvisited = runner.search.lines(600)[-1]
    assert unvisited.visits == 0
    after = Position()
    after.push(unvisited.move)
    assert not runner.search.set_position(after)
    runner.run(100)
    runner.search.check_invariants()


def test_a_kept_root_has_the_needless_non_promotions_too() -> None:
    # Below the root the search leaves 8h2b without promotion and the like out; a root must offer every legal move.
    before = Position.from_usi("startpos moves 7g7f")
    runner = Runner(before, search_moves=[])
    runner.run(4000)
    after = before.copy()
    after.push_usi("3c3d")
    assert len(after.useful_moves) < after.legal_move_count
    assert runner.search.set_position(after)
    lines = runner.search.lines(600)
    assert {line.move for line in lines} == set(after.legal_moves)
    assert next(line for line in lines if line.move.usi() == "8h2b").visits == 0
    runner.search.check_invariants()
    runner.run(1000)
    runner.search.check_invariants()


def test_search_moves_restrict_the_root() -> None:
    moves = [Move.from_usi("9g9f"), Move.from_usi("1g1f"), Move.from_usi("1g1f")]
    runner = Runner(Position(), search_moves=moves)
    assert runner.search.root_move_count == 2
    runner.run(300)
    assert {line.move.usi() for line in runner.search.lines(600)} == {"9g9f", "1g1f"}
    assert not runner.search.set_position(Position()), "a tree of a few moves is no tree of all"
    assert runner.search.root_move_count == 30
    with pytest.raises(ValueError, match="illegal search move 5e5d"):
        runner.search.set_position(Position(), [Move.from_usi("5e5d")])


def test_memory_is_recycled_move_after_move() -> None:
    position = Position.from_sfen(MATSURI)
    runner = Runner(position, memory_mb=2)
    kept = 0
    for _ in range(40):
        kept += runner.search.set_position(position)
        runner.run(2500)
        assert runner.search.nodes == 2500 or runner.search.is_decided
        assert runner.search.bytes_used <= 2 << 20
        if runner.search.is_decided:
            break
        position.push(runner.search.lines(1)[0].move)
        runner.search.check_invariants()
    assert kept > 5


def test_every_byte_is_counted() -> None:
    # Bytes grow with the tree, in chunks, and a fresh tree keeps the chunks for the next one.
    runner = Runner(Position(), memory_mb=8)
    sizes = [runner.search.bytes_used]
    for nodes in (2000, 6000, 12_000):
        runner.run(nodes)
        sizes.append(runner.search.bytes_used)
    assert all(a < b and (b - a) % (1 << 16) == 0 for a, b in itertools.pairwise(sizes))
    assert runner.search.node_count >= 12_000
    assert 32 * runner.search.node_count < runner.search.bytes_used < 400 * runner.search.node_count
    assert not runner.search.set_position(Position.from_sfen(MATSURI))
    assert runner.search.bytes_used == sizes[-1]
    assert runner.search.node_count == 1


@pytest.mark.parametrize("memory_mb", [0, 65537])
def test_bad_memory_sizes(memory_mb: int) -> None:
    with pytest.raises(ValueError, match=f"memory_mb is {memory_mb}"):
        Search(SearchParams(), memory_mb)
