"""Repetitions in the search: what is proof, a value, or nothing (docs/usi-options.md, "Repetition")."""

from collections.abc import Iterator

import pytest
from search_runner import Runner

from fukayomi._native import HashEvaluator, Position, SearchLine, SearchParams, UniformEvaluator

# A lone king, checked to and fro by a rook. The last move is the first to repeat the position before the moves.
CHECKED = "sfen 4k4/9/9/9/9/9/9/5R3/4K4 b - 1 moves"
CYCLE = " 4h5h 5a4a 5h4h 4a5a"
# White has thrown away two pawns, one a move, and the rook that took the first goes home by taking the second.
GIVING_AWAY = "sfen 4k4/9/9/9/9/9/9/7R1/4K4 w 2p 1 moves P*2d 2h2d P*2h"
# Few moves, so that a small search repeats positions: kings in corners, each with a gold that goes to and fro.
SHUFFLES = [
    "sfen k8/1g7/9/9/9/9/9/7G1/8K b - 1",
    "sfen kn7/1p7/9/9/9/9/9/7P1/7NK b Gg 1",
    "sfen k8/9/1R7/9/9/9/9/7r1/8K b P 1 moves 8c8b 2h2g",
    "sfen k8/1g7/9/9/9/9/9/7G1/8K b - 1 moves 2h2i 8b8a 2i2h 8a8b 2h2i",
    "sfen k8/1g7/9/9/9/9/9/7G1/8K b - 1 moves 2h2i 8b8a 2i2h 8a8b 2h2i 8b8a 2i2h 8a8b 2h2i 8b8a",
]


def line_of(runner: Runner, usi: str) -> SearchLine:
    return next(line for line in runner.search.lines(600) if line.move.usi() == usi)


def tree_lines(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """The moves that lead to each node of a tree as text, and the words behind its numbers."""
    path: list[str] = []
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        move, _visits, _mean, _prior, *words = line.split()
        path[max(depth - 1, 0) :] = [move] if depth else []
        yield list(path), words


def fields(position: Position) -> tuple[str, str, tuple[int, ...]]:
    """Board, side to move, and Black's pieces in hand."""
    board, turn, hands, _ply = position.sfen().split()
    counts, number = dict.fromkeys("RBGSNLP", 0), ""
    for letter in hands:
        if letter.isdigit():
            number += letter
        elif letter.isupper():
            counts[letter] += int(number or 1)
        if not letter.isdigit():
            number = ""
    return board, turn, tuple(counts.values())


def judged(game: str, moves: list[str]) -> list[str]:
    """What the table makes of the position after the moves of the game and those of the tree."""
    start, _, played = game.partition(" moves ")
    walk = Position.from_usi(start)
    seen, checks = [fields(walk)], [walk.is_check()]
    line = played.split() + moves
    for move in line:
        walk.push_usi(move)
        seen.append(fields(walk))
        checks.append(walk.is_check())
    now, last = seen[-1], len(seen) - 1
    equal = [at for at in range(last - 2, -1, -2) if seen[at] == now]

    def result(first: int) -> str:
        """For the side to move: which side gave check at each move since then."""
        they = all(checks[at] for at in range(first + 2, last + 1, 2))
        we = all(checks[at] for at in range(first + 1, last, 2))
        return "draw" if they == we else "win" if they else "loss"

    if len(equal) >= 3:
        return [result(equal[2])]
    root = last - len(moves)
    for at in range(last - 2, root - 1, -2):
        if seen[at][:2] != now[:2]:
            continue
        if at in equal:
            return ["recurrence", result(at)]
        pairs = list(zip(now[2], seen[at][2], strict=True))
        ours = now[1] == "b"
        if all(a >= b for a, b in pairs):
            return ["recurrence", "win" if ours else "loss"]
        if all(a <= b for a, b in pairs):
            return ["recurrence", "loss" if ours else "win"]
    return []


def check_tree(runner: Runner, game: str) -> dict[str, int]:
    """Compares each node of the tree with the slow definition; the number of nodes of each kind."""
    runner.search.check_invariants()
    counts = {"proof": 0, "recurrence": 0, "open": 0}
    for moves, words in tree_lines(runner.search.tree_text()):
        if not moves:
            continue
        right = judged(game, moves)
        if not right:
            assert "recurrence" not in words, (game, moves, words)
            counts["open"] += 1
        elif right[0] == "recurrence":
            # A mate that is found in the position counts more.
            assert words == right or words[0] == "win", (game, moves, words, right)
            counts["recurrence"] += 1
        else:
            assert words[:1] == right or words[0] == "win", (game, moves, words, right)
            counts["proof"] += 1
    return counts


@pytest.mark.parametrize("game", [*SHUFFLES, CHECKED + CYCLE, CHECKED + CYCLE * 2 + " 4h5h 5a4a", GIVING_AWAY])
@pytest.mark.parametrize("evaluator", [HashEvaluator(), UniformEvaluator()])
def test_every_node_agrees_with_the_table(game: str, evaluator: HashEvaluator | UniformEvaluator) -> None:
    runner = Runner(Position.from_usi(game), evaluator=evaluator)
    recurrences = 0
    for nodes in (50, 500, 3000):
        runner.run(nodes)
        recurrences = check_tree(runner, game)["recurrence"]
    if "k8/1g7" in game:
        assert recurrences > 0


@pytest.mark.parametrize("game", SHUFFLES)
def test_values_are_made_again_when_the_root_moves(game: str) -> None:
    runner = Runner(Position.from_usi(game))
    kept = 0
    for _ in range(8):
        runner.run(1500)
        if runner.search.is_decided:
            break
        pv = [move.usi() for move in runner.search.lines(1)[0].pv[:2]]
        game += ("" if " moves" in game else " moves") + "".join(f" {move}" for move in pv)
        kept += runner.search.set_position(Position.from_usi(game))
        visits = runner.search.root_visits
        check_tree(runner, game)  # a recurrence of what now lies before the root is new again
        assert runner.search.root_visits == visits
    assert kept > 0


def test_taking_back_leaves_the_mean_of_the_other_visits() -> None:
    # Four plies repeat the position before the moves: with the root two plies on, that is before the root.
    runner = Runner(Position(), evaluator=UniformEvaluator())
    runner.run(4000)
    before = dict(_values(runner))
    assert runner.search.set_position(Position.from_usi("startpos moves 2h3h 8b7b"))
    runner.search.check_invariants()
    for moves, (visits, mean) in _values(runner):
        old_visits, old_mean = before["2h3h", "8b7b", *moves]
        assert visits <= old_visits
        if visits == old_visits:
            assert mean == pytest.approx(old_mean, abs=2e-4)


def _values(runner: Runner) -> Iterator[tuple[tuple[str, ...], tuple[int, float]]]:
    path: list[str] = []
    for line in runner.search.tree_text().splitlines():
        depth = len(line) - len(line.lstrip())
        move, visits, mean, *_ = line.split()
        path[max(depth - 1, 0) :] = [move] if depth else []
        yield tuple(path), (int(visits), float(mean))


@pytest.mark.parametrize("more", [0, 1, 2])
def test_a_recurrence_from_before_the_root_is_nothing_until_the_fourth(more: int) -> None:
    game = CHECKED + CYCLE * more + " 4h5h 5a4a 5h4h"
    runner = Runner(Position.from_usi(game + " 4a5a"))  # 4h5h makes it occurrence more + 2
    runner.run(400)
    line = line_of(runner, "4h5h")
    if more < 2:
        assert line.winrate > 0.0
        assert line.depth > 1
    else:
        assert (line.winrate, line.mate) == (0.0, None)
        assert runner.search.lines(600)[-1].move == line.move
    assert not runner.search.is_decided


def test_the_fourth_occurrence_by_perpetual_check_wins_for_the_checked() -> None:
    runner = Runner(Position.from_usi(CHECKED + CYCLE * 2 + " 4h5h 5a4a 5h4h"))  # White to move: 4a5a is the fourth
    runner.run(400)
    best = runner.search.lines(1)[0]
    assert best.move.usi() == "4a5a"
    assert (best.winrate, best.mate) == (1.0, None)
    assert runner.search.is_decided


def test_more_in_hand_than_before_the_root_is_nothing() -> None:
    runner = Runner(Position.from_usi(GIVING_AWAY))
    runner.run(4000)
    line = line_of(runner, "2d2h")
    assert 0.0 < line.winrate < 1.0
    assert not runner.search.is_decided


@pytest.mark.parametrize(
    ("moves", "repeats", "field"),
    [
        (" 2h3h 8b7b 3h2h 7b8b" * 2 + " 2h3h 8b7b 3h2h", "7b8b", "draw_value_white"),
        (" 7g7f" + " 8b7b 2h3h 7b8b 3h2h" * 2 + " 8b7b 2h3h 7b8b", "3h2h", "draw_value_black"),
    ],
)
def test_the_fourth_occurrence_is_a_draw_at_the_movers_value(moves: str, repeats: str, field: str) -> None:
    for value in (0.9, 0.1):
        params = SearchParams()
        setattr(params, field, value)
        runner = Runner(Position.from_usi("startpos moves" + moves), params=params, evaluator=UniformEvaluator())
        runner.run(400)
        runner.search.check_invariants()
        line = line_of(runner, repeats)
        assert line.winrate == pytest.approx(value)
        assert line.mate is None
        assert [move.usi() for move in line.pv] == [repeats]
        assert (runner.search.lines(1)[0].move == line.move) == (value > 0.5)


def test_a_node_stays_settled_where_visits_below_a_proven_move_are_taken_back() -> None:
    """Its other moves recur, and still do: a search that looks for an open move must not look there."""
    game, shuffle = "sfen k8/9/9/9/9/9/9/9/8K b - 1", ["1i2i", "9a9b"]
    runner = Runner(Position.from_usi(game))
    runner.run(20_000)
    lines = {tuple(moves): words for moves, words in tree_lines(runner.search.tree_text())}
    settled = 0
    for moves, words in lines.items():
        if words or list(moves[:2]) != shuffle or len(moves) < 4:
            continue
        position = Position.from_usi(f"{game} moves {' '.join(moves)}")
        since = [_after(game, *moves[:count]) for count in range(2, len(moves))]
        answers = {move.usi(): lines.get((*moves, move.usi())) or [""] for move in position.legal_moves}
        recurs = [move for move, said in answers.items() if said[0] == "recurrence"]
        if not recurs or any(_after(game, *moves, move) not in since for move in recurs):
            continue
        for move in answers.keys() - recurs:
            after = Position.from_usi(f"{game} moves {' '.join(moves)} {move}")
            runner.search.prove(after, after.turn, 3)
        settled += 1
    assert settled > 0
    assert runner.search.set_position(Position.from_usi(f"{game} moves {' '.join(shuffle)}"))
    check_tree(runner, f"{game} moves {' '.join(shuffle)}")


def _after(game: str, *moves: str) -> tuple[str, str, tuple[int, ...]]:
    return fields(Position.from_usi(f"{game} moves {' '.join(moves)}"))
