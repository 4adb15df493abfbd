"""Mates at the leaves, and mates that are entered with their line."""

import pytest
from search_runner import MATSURI, Runner

from fukayomi._native import DeclarationRule, MateReason, MateSolver, Move, Position, Search, SearchLine, SearchParams

MATES_IN_FIVE = (
    "lnS1+R1Bnl/2+N5k/2p3pg1/p1s4P1/5p2p/PPPp1PSb1/4P3P/2GSp4/LN1KG2rL b 4Pg 101",
    "1n1g1k1nl/+R1s2sg2/2ppppb2/P6pp/5Sp2/3P2P2/+pbP1PP2P/p1SKN+r3/1+l3g+l1L w Gn2p 90",
    "ln1+R4l/2+N1R1gk1/p4pbpp/6P2/6SP1/PpG5P/1PG1PP3/4K2s1/L3b1sNL b GN5Psp 101",
    "ln1g2bG1/2lk2+Sp1/p2ppPn1p/7R1/K1s6/P1p3P1P/1P1PPS3/1+rPG5/L3+b3L w S2N2Pg2p 106",
)
NODES = 70
SHARP = (
    MATSURI,
    "5Ggnl/2+R3nk1/p3+Pp1pp/6p2/2Gp5/1P4P2/PS+b2PN1P/KR5P1/L1s5L b BSN3Pgsl2p 133",
    "ln1s3nl/1+S4+B2/p1p1k2pp/3p2P2/7P1/P1Pnpp1R1/1P1P+lP2P/2G1G4/L1SKP2N+b b R2GPsp 73",
)


def params_with(leaf_mate_plies: int, leaf_mate_nodes: int = 0) -> SearchParams:
    params = SearchParams()
    params.leaf_mate_plies = leaf_mate_plies
    params.leaf_mate_nodes = leaf_mate_nodes
    return params


def best_of(sfen: str, leaf_mate_plies: int) -> SearchLine:
    runner = Runner(Position.from_sfen(sfen), params=params_with(leaf_mate_plies), capacity=4)
    runner.run(NODES)
    runner.search.check_invariants()
    return runner.search.lines(1)[0]


def is_mate(sfen: str, moves: list[Move]) -> bool:
    position = Position.from_sfen(sfen)
    for move in moves:
        position.push(move)
    return position.is_mated()


def proven_wins(search: Search, root: Position) -> list[tuple[Position, int, bool]]:
    """The positions in the tree that the side to move wins, the plies to the end, and whether they are leaves."""
    found: list[tuple[Position, int, bool]] = []
    position = root.copy()
    lines = search.tree_text().splitlines()
    depths = [len(line) - len(line.lstrip()) for line in lines]
    for line, depth, next_depth in zip(lines, depths, [*depths[1:], 0], strict=True):
        name, *values = line.split()
        while len(position.moves) - len(root.moves) >= max(depth, 1):
            position.pop()
        if depth > 0:
            position.push_usi(name)
        if values[-2:-1] == ["win"]:
            found.append((position.copy(), int(values[-1]), next_depth <= depth))
    return found


@pytest.mark.parametrize("sfen", MATES_IN_FIVE)
def test_mate_in_three_at_the_leaves_finds_mates_sooner(sfen: str) -> None:
    best = best_of(sfen, 3)
    assert best.mate == len(best.pv) == 5
    assert is_mate(sfen, best.pv)
    assert best_of(sfen, 0).mate is None


def test_two_plies_are_one() -> None:
    assert best_of(MATES_IN_FIVE[0], 2) == best_of(MATES_IN_FIVE[0], 1)


@pytest.mark.parametrize("sfen", SHARP)
@pytest.mark.parametrize("leaf_mate_plies", [1, 3])
def test_every_short_mate_in_the_tree_is_one(sfen: str, leaf_mate_plies: int) -> None:
    params = params_with(leaf_mate_plies)
    params.declaration_rule = DeclarationRule.NONE
    root = Position.from_sfen(sfen)
    runner = Runner(root, params=params)
    runner.run(1500)
    wins = [(position, plies) for position, plies, _ in proven_wins(runner.search, root) if plies <= 3]
    assert len(wins) > 20
    solver = MateSolver(memory_mb=1)
    for position, plies in wins[:: max(1, len(wins) // 100)]:
        result = solver.solve(position, plies=plies)
        assert (result.reason, result.plies) == (MateReason.MATE, plies), position.sfen()


MATE_IN_NINE = "l7l/3+R5/p1pp1p+S1p/4p2P1/3N2p1g/2P1P1k2/PP1+b1P2g/1KS6/LN4+r1+b w G2S3Pg2nl2p 120"


def test_df_pn_at_the_leaves_finds_longer_mates() -> None:
    found: list[int | None] = []
    for nodes in (0, 100):
        runner = Runner(Position.from_sfen(MATE_IN_NINE), params=params_with(3, nodes), capacity=4)
        runner.run(1500)
        runner.search.check_invariants()
        best = runner.search.lines(1)[0]
        found.append(best.mate)
    assert found == [None, 9]
    assert len(best.pv) == 9
    assert is_mate(MATE_IN_NINE, best.pv)


def test_every_mate_that_df_pn_finds_at_a_leaf_is_one() -> None:
    params = params_with(3, 50)
    params.declaration_rule = DeclarationRule.NONE
    root = Position.from_sfen(SHARP[1])
    runner = Runner(root, params=params)
    runner.run(500)
    leaves = [(position, plies) for position, plies, is_leaf in proven_wins(runner.search, root) if is_leaf]
    assert sum(plies > 3 for _, plies in leaves) > 20
    solver = MateSolver(memory_mb=16)
    for position, plies in leaves:
        result = solver.solve(position, plies=plies, shortest=False)
        assert result.reason == MateReason.MATE, position.sfen()


# Positions of games that fukayomi lost to gpsusi: each has a move after which it is mated in 11 to 21 plies.
BLUNDERS = (
    ("lr6l/3g1k3/2nsp2p1/ppp2p2p/3p3N1/P1P2PGPP/1P1GP2s1/5R3/LNK5L w 2BG2sn3p 68", "N*5e"),
    ("l1B2+S3/4r4/p2sg1k2/2p1p1pp1/3p1p1N1/1p+b1P1P2/PPN2P2N/1KG4R1/L8 w GSgsn2l5p 102", "2d2e"),
    ("l5knl/3+R2g2/4ppsp1/pppN2p1p/9/P1PSbP+sPP/1P2K1N2/2+b1G4/LN3G1RL b S2Pg2p 61", "S*4g"),
)


def searched_blunder(sfen: str, move: str, root_move_mate_nodes: int, nodes: int = 400) -> Search:
    root = Position.from_sfen(sfen)
    params = SearchParams()
    params.root_move_mate_nodes = root_move_mate_nodes
    runner = Runner(root, params=params, capacity=4, search_moves=[Move.from_usi(move)])
    runner.run(nodes)
    runner.search.check_invariants()
    return runner.search


@pytest.mark.parametrize(("sfen", "move"), BLUNDERS)
def test_df_pn_after_moves_with_many_visits_sees_long_mates(sfen: str, move: str) -> None:
    assert searched_blunder(sfen, move, 0).lines(1)[0].mate is None
    search = searched_blunder(sfen, move, 256)
    (line,) = search.lines(1)
    assert search.is_decided
    assert line.mate is not None
    assert line.mate == -len(line.pv) < -11
    assert is_mate(sfen, line.pv)


def test_mates_after_moves_with_many_visits_are_the_same_each_time() -> None:
    texts = {searched_blunder(*BLUNDERS[0], 16, 300).tree_text() for _ in range(2)}
    assert len(texts) == 1


@pytest.mark.parametrize("sfen", [SHARP[0], SHARP[2]])
def test_every_mate_after_a_move_with_many_visits_is_one(sfen: str) -> None:
    params = SearchParams()
    params.root_move_mate_nodes = 256
    params.declaration_rule = DeclarationRule.NONE
    root = Position.from_sfen(sfen)
    runner = Runner(root, params=params, capacity=8)
    runner.run(2000)
    runner.search.check_invariants()
    wins = [(position, plies) for position, plies, _ in proven_wins(runner.search, root) if plies > 3]
    assert wins
    solver = MateSolver(memory_mb=64)
    for position, plies in wins:
        result = solver.solve(position, plies=plies, shortest=False)
        assert result.reason == MateReason.MATE, position.sfen()


def test_a_side_without_a_king_is_not_mated() -> None:
    position = Position.from_sfen("9/9/9/9/4k4/9/9/9/9 b 2RG 1", allow_missing_king=True)
    params = params_with(3, 50)
    params.root_move_mate_nodes = 10
    runner = Runner(position, params=params)
    runner.run(300)
    assert runner.search.nodes > 0


@pytest.mark.parametrize("leaf_mate_nodes", [0, 100])
@pytest.mark.parametrize(("moves_left", "mate"), [(4, 5), (3, None)])
def test_the_game_must_last_as_long_as_the_mate(moves_left: int, mate: int | None, leaf_mate_nodes: int) -> None:
    position = Position.from_sfen(MATES_IN_FIVE[0])
    params = params_with(3, leaf_mate_nodes)
    params.root_move_mate_nodes = leaf_mate_nodes
    params.draw_ply = position.ply + moves_left
    runner = Runner(position, params=params, capacity=4)
    runner.run(500)
    assert runner.search.lines(1)[0].mate == mate


# ------------------------------------------------------------------------------------------ mates that are entered


def solved(sfen: str) -> tuple[Position, list[Move]]:
    """A position and its shortest mate."""
    position = Position.from_sfen(sfen)
    return position, MateSolver(memory_mb=16).solve(position).moves


def test_a_mate_of_the_root_is_played_and_shown() -> None:
    position, moves = solved(MATES_IN_FIVE[0])
    runner = Runner(position, params=params_with(0))
    assert not runner.search.enter_mate(position, moves), "the root is not evaluated yet"
    runner.run(1)
    assert runner.search.enter_mate(position, moves)
    assert runner.search.is_decided
    best = runner.search.lines(1)[0]
    assert (best.pv, best.mate, best.winrate) == (moves, 5, 1.0)
    assert runner.step() == 0
    runner.search.check_invariants()


def test_a_mate_further_down_decides_what_leads_to_it() -> None:
    position, moves = solved(MATES_IN_FIVE[1])
    runner = Runner(position, params=params_with(0))
    runner.run(300)
    lost = position.copy()
    lost.push(moves[0])
    for reply in lost.legal_moves:
        assert not runner.search.is_decided
        attacked = lost.copy()
        attacked.push(reply)
        assert runner.search.enter_mate(attacked, MateSolver(memory_mb=16).solve(attacked).moves)
    runner.search.check_invariants()
    best = runner.search.lines(1)[0]
    assert best.mate == len(best.pv) == 5
    assert is_mate(MATES_IN_FIVE[1], best.pv)


def test_a_mate_of_a_move_that_is_not_searched_is_not_entered() -> None:
    position, moves = solved(MATES_IN_FIVE[2])
    other = next(move for move in position.legal_moves if move != moves[0])
    runner = Runner(position, search_moves=[other], params=params_with(0))
    runner.run(50)
    assert not runner.search.enter_mate(position, moves)
    assert not runner.search.enter_mate(*solved(MATES_IN_FIVE[3])), "a position of another game"
    assert not runner.search.is_decided


@pytest.mark.parametrize("kept", [0, 1, 2, 3, 4])
def test_what_is_no_mate_is_refused(kept: int) -> None:
    position, moves = solved(MATES_IN_FIVE[0])
    runner = Runner(position)
    runner.run(1)
    with pytest.raises(ValueError, match="mate"):
        runner.search.enter_mate(position, moves[:kept])
    with pytest.raises(ValueError, match="illegal"):
        runner.search.enter_mate(position, moves[2:])
