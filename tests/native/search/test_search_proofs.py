"""What the search knows for certain: mates, declarations, the end by the number of moves."""

from pathlib import Path

import pytest
from search_runner import Runner

from fukayomi._native import DeclarationRule, Position, SearchLine, SearchParams

# Black declares at the next move: 12 pieces in the camp, 28 points.
ENTERED = "+R+R+B+B5/4K4/+P+P+P+P+P+P+P+P1/9/9/9/9/9/4k4 w - 1"


def read_sfens(path: Path, step: int) -> list[Position]:
    lines = [line for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [Position.from_sfen(line) for line in lines[::step]]


def replies_lose_at_once(position: Position, line: SearchLine) -> bool:
    """Whether every reply to the line's move allows a mate in one."""
    after = position.copy()
    after.push(line.move)
    for reply in after.legal_moves:
        after.push(reply)
        mate = after.find_mate_in_one()
        after.pop()
        if mate is None:
            return False
    return True


@pytest.mark.parametrize("step", [10, pytest.param(1, marks=pytest.mark.soak)])
def test_mates_in_one(shared_data: Path, step: int) -> None:
    for position in read_sfens(shared_data / "mate" / "mate-1-ply.txt", step):
        runner = Runner(position)
        runner.run(3000)
        best = runner.search.lines(1)[0]
        assert best.mate == 1, position.sfen()
        assert best.winrate == 1.0
        assert best.pv == [best.move]
        assert runner.search.nodes <= 16, "a mate in one is tried first"
        position.push(best.move)
        assert position.is_mated()
        assert runner.search.is_decided
        runner.search.check_invariants()


@pytest.mark.parametrize("step", [40, pytest.param(2, marks=[pytest.mark.soak, pytest.mark.timeout(900)])])
def test_mates_in_three(shared_data: Path, step: int) -> None:
    found = 0
    positions = read_sfens(shared_data / "mate" / "mate-3-ply.txt", step)
    for position in positions:
        runner = Runner(position)
        runner.run(20_000)
        runner.search.check_invariants()
        best = runner.search.lines(1)[0]
        if best.mate is None:
            continue
        assert best.mate >= 3
        assert best.mate % 2 == 1
        replay = position.copy()
        for move in best.pv:
            replay.push(move)
        assert replay.is_mated(), position.sfen()
        assert len(best.pv) <= best.mate
        if best.mate == 3:
            assert replies_lose_at_once(position, best), position.sfen()
            found += 1
    assert found >= 0.8 * len(positions)


def test_no_mate_is_claimed_where_there_is_none(shared_data: Path) -> None:
    for position in read_sfens(shared_data / "mate" / "no-mate-1-ply.txt", 50):
        runner = Runner(position)
        runner.run(300)
        assert all(line.mate != 1 for line in runner.search.lines(600))


def test_every_move_loses() -> None:
    # A gold on 5c and golds in hand: whatever Black's king does, it is mated, and the search says how soon.
    position = Position.from_sfen("4k4/9/9/9/9/9/4g4/9/4K4 b 2g2r 1")
    runner = Runner(position)
    runner.run(5000)
    runner.search.check_invariants()
    lines = runner.search.lines(600)
    assert runner.search.is_decided
    assert len(lines) == position.legal_move_count
    mates = [line.mate for line in lines]
    assert all(mate is not None and mate < 0 and mate % 2 == 0 for mate in mates)
    assert mates == sorted(mates, key=lambda mate: mate or 0), "the longest resistance comes first"
    assert all(line.winrate == 0.0 for line in lines)


def test_a_mate_problem_without_our_king() -> None:
    problem = Position.from_sfen("4k4/9/4G4/9/9/9/9/9/9 b G2r2b2g4s4n4l18p 1", allow_missing_king=True)
    runner = Runner(problem)
    runner.run(500)
    assert runner.search.lines(1)[0].mate == 1


def test_no_legal_move_at_the_root() -> None:
    runner = Runner(Position.from_sfen("4k4/9/9/9/9/9/4g4/4g4/4K4 b - 1"))
    assert runner.step() == 0
    assert runner.search.is_decided
    assert runner.search.lines(5) == []
    assert runner.search.root_move_count == 0


def test_declaration_is_seen_one_move_ahead() -> None:
    position = Position.from_sfen(ENTERED)
    runner = Runner(position)
    runner.run(100)
    assert runner.search.is_decided
    assert all((line.winrate, line.mate) == (0.0, -2) for line in runner.search.lines(600))
    params = SearchParams()
    params.declaration_rule = DeclarationRule.NONE
    runner = Runner(position, params=params)
    runner.run(100)
    assert not runner.search.is_decided


def test_draw_by_the_number_of_moves() -> None:
    params = SearchParams()
    params.draw_ply = 2
    runner = Runner(Position.from_usi("startpos moves 7g7f"), params=params)
    runner.run(100)
    runner.search.check_invariants()
    assert runner.search.is_decided
    assert all(line.winrate == 0.5 and line.depth == 1 for line in runner.search.lines(600))


def test_mate_by_the_last_move_is_no_draw(shared_data: Path) -> None:
    position = read_sfens(shared_data / "mate" / "mate-1-ply.txt", 400)[0]
    params = SearchParams()
    params.draw_ply = position.ply
    runner = Runner(position, params=params)
    runner.run(3000)
    assert runner.search.lines(1)[0].mate == 1


def test_without_mate_in_one_the_mate_is_still_found(shared_data: Path) -> None:
    params = SearchParams()
    params.leaf_mate_plies = 0
    found = 0
    for position in read_sfens(shared_data / "mate" / "mate-1-ply.txt", 200):
        runner = Runner(position, params=params)
        runner.run(3000)
        found += runner.search.lines(1)[0].mate == 1
    assert found >= 7
