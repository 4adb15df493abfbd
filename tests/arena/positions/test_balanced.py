"""Balanced lines: each condition on both sides of its limit, both conventions, and a rewrite on real games."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import cshogi
import pytest
from cshogi import CSA
from hypothesis import given
from hypothesis import strategies as st

from fukayomi.arena.positions.balanced import BalanceConditions, EvalOf, Exclusion, find_line
from fukayomi.arena.positions.balanced_set import BalancedListener, BalancedSet, balanced_positions
from fukayomi.data.records.sources import Source, find_files, iter_sources
from fukayomi.shogi import Move
from fukayomi.shogi.formats import write_csa, write_kif
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination

ANY_RATING = BalanceConditions(filter_rating=0)
MIDDLE = BalanceConditions(moves1=32, moves2=80, eval2=150, middle_game=True)
SHUTTLE = ("2h3h", "8b7b", "3h2h", "7b8b")
OPENING = ("7g7f", "3c3d", "9g9f", "9c9d")


def game(
    scores: dict[int, int | None] | Sequence[int | None] = (),
    opening: Sequence[str] = OPENING,
    plies: int = 100,
    **changes: Any,
) -> Record:
    """A game of rooks that go to and fro, which passes all conditions; `scores` are by the number of the move."""
    by_move = scores if isinstance(scores, dict) else dict(enumerate(scores, 1))
    moves = [*opening, *SHUTTLE * plies][:plies]
    played = [RecordedMove(Move.from_usi(usi), by_move.get(number, 0)) for number, usi in enumerate(moves, 1)]
    record = Record(
        moves=played, black_name="a", white_name="b", black_rating=3800.0, white_rating=3900.0,
        termination=Termination.RESIGN, result=Result.WHITE_WIN,
    )  # fmt: skip
    return replace(record, **changes)


def line(*records: Record, conditions: BalanceConditions = ANY_RATING) -> list[str]:
    found = BalancedSet(conditions)
    for record in records:
        found.add(record)
    return found.lines()


HANDICAP = "lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (game(), 36),
        (game(initial_sfen=HANDICAP), Exclusion.START),
        *[(game(termination=ending), 36) for ending in ("resign", "declaration", "repetition", "impasse")],
        *[
            (game(termination=Termination(ending)), Exclusion.ENDING)
            for ending in ("none", "max_plies", "time_up", "illegal_move", "perpetual_check", "mate", "interrupted")
        ],
        (game(plies=50), 36),
        (game(plies=49), Exclusion.PLIES),
        (game(black_rating=3799.9), Exclusion.RATING),
        (game(white_rating=3799.9), Exclusion.RATING),
        (game(white_rating=None), Exclusion.RATING),
        (game(white_rating=3800.0), 36),
        (game(dict.fromkeys(range(1, 101, 2))), Exclusion.NO_EVALS),
        (game(dict.fromkeys(range(2, 101, 2))), Exclusion.NO_EVALS),
        (game(dict.fromkeys(range(1, 99))), 36),  # the two that have one come after the line
        (game({1: 170, 30: -170}), 36),
        (game({1: 171}), Exclusion.EVAL),
        (game({30: -171}), Exclusion.EVAL),
        (game({38: 9999}), 36),
        (game({25: 100, 37: -100}), 36),
        (game({25: -101}), Exclusion.EVAL_MOVES1),
        (game({37: 101}), Exclusion.EVAL_MOVES2),
        (game({37: 171}), Exclusion.EVAL),
        (game({24: 101, 26: 101, 36: 101, 38: 101}), 36),
        (game({25: None, 37: None}), 36),
    ],
    ids=lambda value: str(value) if isinstance(value, int | Exclusion) else "",
)
def test_each_condition_has_its_limit(record: Record, expected: int | Exclusion) -> None:
    assert find_line(record, BalanceConditions()) == expected


def test_unrated_games_pass_only_where_ratings_do_not_matter() -> None:
    unrated = game(black_rating=None, white_rating=None)
    assert find_line(unrated, ANY_RATING) == 36
    assert find_line(unrated, BalanceConditions(filter_rating=0.1)) is Exclusion.RATING
    assert find_line(game(black_rating=-50.0), ANY_RATING) == 36


@pytest.mark.parametrize(
    ("number", "next_move", "last_move"),
    [
        (24, 36, Exclusion.EVAL_MOVES1),
        (25, Exclusion.EVAL_MOVES1, 36),
        (36, 36, Exclusion.EVAL_MOVES2),
        (37, Exclusion.EVAL_MOVES2, 36),
    ],
)
def test_the_evaluation_after_a_ply_is_the_next_moves_or_the_last_moves(
    number: int, next_move: int | Exclusion, last_move: int | Exclusion
) -> None:
    record = game({number: 150})
    assert find_line(record, BalanceConditions()) == next_move
    assert find_line(record, BalanceConditions(eval_of=EvalOf.LAST_MOVE)) == last_move


def test_the_last_moves_convention_does_not_look_beyond_the_line() -> None:
    record = game({37: 5000})
    assert find_line(record, BalanceConditions()) is Exclusion.EVAL
    assert find_line(record, BalanceConditions(eval_of=EvalOf.LAST_MOVE)) == 36


def test_a_game_as_short_as_the_line_passes_where_short_games_may() -> None:
    assert find_line(game(plies=36), BalanceConditions(filter_moves=0)) == 36
    assert find_line(game(plies=35), BalanceConditions(filter_moves=0)) is Exclusion.PLIES


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({42: 151}, 40),  # the evaluation after ply 41
        ({42: -151, 44: 500}, 40),
        ({42: 150, 43: 9999}, 41),
        ({34: 200}, 32),
        ({33: 200}, Exclusion.EVAL_MOVES1),  # after ply 32: the position before it is not of the middle game
        ({33: 150, 34: 151}, 32),
        ({20: 170, 34: 151}, 32),
        ({20: 171, 34: 151}, Exclusion.EVAL),
        ({32: 160, 34: 151}, 32),  # after ply 31, where the limit is still the wide one
        ({82: 151}, 80),
        ({83: 151}, Exclusion.EVAL_MOVES2),
        ({}, Exclusion.EVAL_MOVES2),
        ({41: None, 42: 151}, 40),
    ],
)
def test_the_middle_game_begins_just_before_the_evaluation_passes(
    scores: dict[int, int | None], expected: int | Exclusion
) -> None:
    record = game(scores)
    assert find_line(record, MIDDLE) == expected
    if isinstance(expected, int):
        assert line(record, conditions=MIDDLE) == [f"startpos moves {' '.join(record.usi_moves()[:expected])}"]


def test_the_middle_game_knows_both_conventions() -> None:
    assert find_line(game({42: 151}), MIDDLE) == 40
    assert find_line(game({42: 151}), MIDDLE.changed(eval_of=EvalOf.LAST_MOVE)) == 41


def test_the_middle_game_ends_with_the_game() -> None:
    assert find_line(game(plies=60), MIDDLE) is Exclusion.EVAL_MOVES2
    assert find_line(game({60: 151}, plies=60), MIDDLE) == 58


@pytest.mark.parametrize(
    "changes",
    [{"moves1": 37}, {"moves1": 0}, {"eval": -1}, {"eval2": -1}, {"filter_moves": -1}, {"filter_rating": float("nan")}],
    ids=str,
)
def test_conditions_that_mean_nothing_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(changes))):
        BalanceConditions(**changes)


def test_a_position_is_taken_once_by_whatever_order_of_moves() -> None:
    same = ("9g9f", "9c9d", "7g7f", "3c3d")
    other = ("1g1f", "9c9d", "7g7f", "3c3d")
    found = BalancedSet(BalanceConditions())
    for opening in (OPENING, same, other, OPENING):
        found.add(game(opening=opening))
    assert found.left_out == {Exclusion.DUPLICATE: 2}
    assert len(found) == 2
    kept = {tuple(text.split()[2:6]) for text in found.lines()}
    assert kept == {OPENING, other}  # of the duplicates the first of the alphabet


def test_lines_that_part_before_ply_24_and_meet_there_are_one() -> None:
    start = (*OPENING, *SHUTTLE * 4)
    one, two = game(), game(opening=(*start, "2h1h", "8b7b", "1h2h", "7b8b"))
    assert one.usi_moves()[:24] != two.usi_moves()[:24]
    assert line(one, two) == line(two, one) == line(two)  # 2h1h comes before 2h3h in the alphabet
    assert len(line(one, two, conditions=ANY_RATING.changed(moves1=22))) == 2


def test_of_middle_games_the_shortest_way_is_kept() -> None:
    fast = game({40: 200})  # up to ply 38
    slow = game({44: 200})  # up to ply 42, which is the same position
    for records in ((fast, slow), (slow, fast)):
        (kept,) = line(*records, conditions=MIDDLE)
        assert len(kept.split()) == 2 + 38


@st.composite
def pools(draw: st.DrawFn) -> list[Record]:
    """Games that begin with a few pawns in any order, many of them at the same position."""
    openings = st.permutations(["7g7f", "9g9f", "1g1f"]).map(lambda m: (m[0], "3c3d", m[1], "9c9d", m[2], "1c1d"))
    scores = st.dictionaries(st.integers(1, 60), st.sampled_from([None, 0, 100, -101, 150, -151, 170, 171]))
    return [game(draw(scores), draw(openings), plies=60) for _ in range(draw(st.integers(1, 8)))]


@given(pools(), st.randoms(use_true_random=False), st.sampled_from([ANY_RATING, MIDDLE]))
def test_the_set_and_the_counts_do_not_depend_on_the_order(
    records: list[Record], shuffle: random.Random, conditions: BalanceConditions
) -> None:
    shuffled = list(records)
    shuffle.shuffle(shuffled)
    one, two = BalancedSet(conditions), BalancedSet(conditions)
    for record in records:
        one.add(record)
    for record in shuffled:
        two.add(record)
    assert one.lines() == two.lines()
    assert (one.left_out, one.unjudged) == (two.left_out, two.unjudged)
    assert len(one) + one.left_out.total() == one.games_read == len(records)


numbers = st.integers(-200, 200) | st.none()


@given(
    st.lists(numbers | st.integers(-20, 20), min_size=50, max_size=90),
    st.integers(1, 40), st.integers(0, 40), st.integers(0, 200), st.integers(0, 200), st.sampled_from(EvalOf),
)  # fmt: skip
def test_lines_are_those_of_a_plain_rewrite(
    scores: list[int | None], moves1: int, more: int, limit: int, limit2: int, eval_of: EvalOf
) -> None:
    record = game(scores, plies=len(scores))
    sides = any(score is not None for score in scores[::2]) and any(score is not None for score in scores[1::2])
    after = (lambda ply: plain(scores, ply + 1)) if eval_of is EvalOf.NEXT_MOVE else (lambda ply: plain(scores, ply))
    two = moves1 + more
    balanced = BalanceConditions(moves1=moves1, moves2=two, eval=limit, eval2=limit2, eval_of=eval_of)
    passes = sides and len(scores) >= two and all(after(ply) <= limit for ply in range(two + 1))
    passes = passes and after(moves1) <= limit2 and after(two) <= limit2
    assert (find_line(record, balanced) == two) == passes
    ends = [
        ply
        for ply in range(moves1, min(two, len(scores) - 1) + 1)
        if after(ply + 1) > limit2
        and all(after(before) <= limit2 for before in range(moves1, ply + 1))
        and all(after(before) <= limit for before in range(ply + 1))
    ]
    found = find_line(record, balanced.changed(middle_game=True))
    assert [found] == ends if sides and ends else isinstance(found, Exclusion)


def plain(scores: list[int | None], number: int) -> int:
    """The evaluation at a move without its sign, 0 where there is none, as cshogi reads it."""
    return abs(scores[number - 1] or 0) if 1 <= number <= len(scores) else 0


def test_csa_and_kif_are_one_game_and_what_cannot_be_read_is_named() -> None:
    record = game()
    sources = [
        Source("a.csa", write_csa(record).encode()),
        Source("a.kif", write_kif(record).encode()),
        Source("b.csa", write_csa(game(opening=("1g1f", *OPENING[1:]))).encode()),
        Source("games.zip/c.csa", b"", "cannot be read: wrong checksum"),
        Source("README", b"read me"),
        Source("d.csa", write_csa(record).replace("+7776FU", "+7775FU").encode()),
    ]
    seen: list[int] = []

    class Follower(BalancedListener):
        def counted(self, found: BalancedSet) -> None:
            seen.append(found.games_read)

    found = balanced_positions(sources, ANY_RATING, listener=Follower())
    assert seen == [1, 1, 2, 2, 2, 3]
    assert sorted(text.split()[2] for text in found.lines()) == ["1g1f", "7g7f"]
    assert +found.left_out == {
        Exclusion.COPY: 1, Exclusion.UNREADABLE: 1, Exclusion.NO_RECORD: 1, Exclusion.DAMAGED: 1,
    }  # fmt: skip
    assert len(found.problems) == 3
    assert [name for name in ("games.zip/c.csa", "README", "d.csa") if name not in "\n".join(found.problems)] == []


def test_games_that_pass_without_an_evaluation_at_the_plies_are_counted() -> None:
    found = BalancedSet(BalanceConditions())
    for opening, scores in (
        (OPENING, {25: None}),
        (("1g1f", *OPENING[1:]), {25: None, 37: None}),
        (("9g9f", *OPENING[1:2], "1g1f", "1c1d"), {}),
    ):
        found.add(game(scores, opening))
    assert found.unjudged == {24: 2, 36: 1}
    middle = BalancedSet(MIDDLE)
    middle.add(game({33: None, 40: 151}))
    assert (len(middle), middle.unjudged) == (1, {})


# Real games, by cshogi's reader and board and rules written down once more.

GOOD_ENDINGS = ("%TORYO", "%KACHI", "%SENNICHITE", "%HIKIWAKE")


def by_cshogi(text: str, conditions: BalanceConditions) -> tuple[str, list[str], str]:
    """Why a game is left out, or an empty text; its line, and the position that must be its own."""
    parsed = CSA.Parser.parse_str(text)
    parser = parsed[0] if isinstance(parsed, list) else parsed
    moves = [cshogi.move_to_usi(move) for move in parser.moves]
    if parser.endgame not in GOOD_ENDINGS:
        return "ending", [], ""
    if len(moves) < conditions.filter_moves:
        return "plies", [], ""
    if min(parser.ratings) < conditions.filter_rating:
        return "rating", [], ""
    noted = [bool(comment.strip()) for comment in parser.comments]
    if not (any(noted[::2]) and any(noted[1::2])):
        return "no_evals", [], ""
    scores = [abs(score) for score in parser.scores] + [0]
    one, two = conditions.moves1, conditions.moves2
    if conditions.middle_game:
        late = next((ply for ply in range(one, len(scores)) if scores[ply] > conditions.eval2), None)
        wide = next((ply for ply in range(one) if scores[ply] > conditions.eval), None)
        if wide is not None:
            return "eval", [], ""
        if late is None or late > two + 1:
            return "eval_moves2", [], ""
        if late == one:
            return "eval_moves1", [], ""
        length = unique = late - 1
    else:
        if max(scores[: two + 1]) > conditions.eval:
            return "eval", [], ""
        if scores[one] > conditions.eval2:
            return "eval_moves1", [], ""
        if scores[two] > conditions.eval2:
            return "eval_moves2", [], ""
        length, unique = two, one
    board = cshogi.Board()
    for usi in moves[:unique]:
        board.push_usi(usi)
    return "", moves[:length], board.sfen().rpartition(" ")[0]


REAL = [
    BalanceConditions(filter_rating=0),
    BalanceConditions(filter_rating=3400),
    BalanceConditions(moves1=20, moves2=30, eval=300, eval2=200, filter_moves=120, filter_rating=3100),
    BalanceConditions(moves1=32, moves2=80, eval2=150, filter_rating=0, middle_game=True),
]


def compare_with_cshogi(sources: list[Source], conditions: BalanceConditions) -> int:
    reasons: Counter[str] = Counter()
    kept: dict[str, list[str]] = {}
    for source in sources:
        reason, moves, key = by_cshogi(source.data.decode(), conditions)
        if not reason:
            reason = "duplicate" if key in kept else ""
            kept[key] = min(filter(None, (kept.get(key), moves)), key=lambda moves: (len(moves), " ".join(moves)))
        if reason:
            reasons[reason] += 1
    found = balanced_positions(sources, conditions)
    assert set(found.lines()) == {f"startpos moves {' '.join(moves)}" for moves in kept.values()}
    assert {str(reason): count for reason, count in found.left_out.items() if count} == reasons
    assert found.games_read == len(sources)
    return len(found)


@pytest.mark.parametrize("conditions", REAL, ids=["all", "rated", "other numbers", "middle game"])
def test_real_games_give_what_a_rewrite_with_cshogi_gives(shared_data: Path, conditions: BalanceConditions) -> None:
    files = find_files([shared_data / "games-engine" / "games-1.tar.xz"])
    assert compare_with_cshogi(list(islice(iter_sources(files), 400)), conditions) >= 10


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("conditions", REAL, ids=["all", "rated", "other numbers", "middle game"])
def test_all_real_games_give_what_a_rewrite_with_cshogi_gives(shared_data: Path, conditions: BalanceConditions) -> None:
    files = sorted((shared_data / "games-engine").glob("*.tar.xz"))
    assert compare_with_cshogi(list(iter_sources(files)), conditions) >= 500
