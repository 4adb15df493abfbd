"""The declaration win (入玉宣言勝ち) under both rules."""

import random
from collections import Counter
from collections.abc import Callable

import cshogi
import pytest
from oracles import Setup

from fukayomi.shogi import BLACK, DeclarationRule, InvalidSfenError, Position

RULES = {DeclarationRule.POINTS_24: cshogi.LAW_24, DeclarationRule.POINTS_27: cshogi.LAW_27}


def camp(points_in_hand: str) -> str:
    """Black's king and ten golds, silvers and so on in White's camp: 10 points, more in hand."""
    return f"K8/GGGGSSSS+N/N8/9/9/9/9/9/k8 b {points_in_hand} 1"


@pytest.mark.parametrize(
    ("hand", "by_24", "by_27"),
    [
        ("2R2B11P", True, True),  # 10 + 20 + 11 = 41 points
        ("2R2BP", True, True),  # 31
        ("2R2B", False, True),  # 30
        ("2RB3P", False, True),  # 28
        ("2RB2P", False, False),  # 27
        ("18P", False, True),  # 28
        ("17P", False, False),  # 27
    ],
)
def test_points_of_black(hand: str, by_24: bool, by_27: bool) -> None:
    pos = Position.from_sfen(camp(hand))
    assert pos.can_declare_win(DeclarationRule.POINTS_24) == by_24
    assert pos.can_declare_win(DeclarationRule.POINTS_27) == by_27
    assert not pos.can_declare_win(DeclarationRule.NONE)


@pytest.mark.parametrize(("hand", "by_27"), [("2rb2p", True), ("2rbp", False)])
def test_white_needs_one_point_less(hand: str, by_27: bool) -> None:
    pos = Position.from_sfen(f"8K/9/9/9/9/9/8n/+nssssgggg/8k w {hand} 1")
    assert pos.can_declare_win(DeclarationRule.POINTS_27) == by_27


@pytest.mark.parametrize(
    ("sfen", "why"),
    [
        ("1K7/GGGGSSSS+N/9/N8/9/9/9/9/k8 b 2R2B11P 1", "only nine pieces besides the king are in the camp"),
        ("9/GGGGSSSS+N/N8/K8/9/9/9/9/8k b 2R2B11P 1", "the king is not in the camp"),
        ("K1r6/GGGGSSSS+N/N8/9/9/9/9/9/k8 b R2B11P 1", "the king is in check"),
    ],
)
def test_what_forbids_a_declaration(sfen: str, why: str) -> None:
    pos = Position.from_sfen(sfen)
    for rule in RULES:
        assert not pos.can_declare_win(rule), why


def random_entered_king(rng: random.Random) -> Setup:
    """A king in the camp with about ten pieces, a random share of the big pieces, and pawns in hand."""
    camp_squares = [file * 9 + rank for file in range(9) for rank in range(3)]
    king, *others = rng.sample(camp_squares, rng.randrange(9, 16))
    if rng.random() < 0.05:
        king = 3
    pieces = ["G"] * 4 + ["S"] * 4 + ["+P"] * 12 + ["R", "+R", "B", "+B"]
    board = {king: "K", **dict(zip(others, rng.sample(pieces, len(others)), strict=True))}
    board[rng.choice([s for s in range(81) if s % 9 > 5])] = "k"
    if rng.random() < 0.1:
        board[rng.choice([s for s in range(81) if s not in board and s % 9 > 2])] = rng.choice(["l", "n", "g"])
    big = [p for p in board.values() if p.lstrip("+") in "RB"]
    hands = {"P": rng.randrange(0, 7), "R": rng.randrange(0, 3 - min(2, len(big))), "L": rng.randrange(0, 4)}
    return Setup(board, hands, BLACK)


def compare_with_cshogi(positions: int, seed: int) -> Counter[tuple[str, bool]]:
    rng = random.Random(seed)
    seen: Counter[tuple[str, bool]] = Counter()
    while seen.total() < 2 * positions:
        setup = random_entered_king(rng)
        sfen = (setup if rng.random() < 0.5 else setup.flipped()).sfen()
        try:
            pos = Position.from_sfen(sfen)
        except InvalidSfenError:
            continue
        board = cshogi.Board(sfen)
        for rule, law in RULES.items():
            answer = pos.can_declare_win(rule)
            assert answer == board.is_nyugyoku(law), (rule, sfen)
            seen[rule.name, answer] += 1
    return seen


def test_same_answers_as_cshogi() -> None:
    seen = compare_with_cshogi(3_000, seed=1)
    assert min(seen[rule.name, answer] for rule in RULES for answer in (True, False)) >= 100, seen


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_same_answers_as_cshogi_at_length(record_property: Callable[[str, object], None]) -> None:
    seen = compare_with_cshogi(200_000, seed=2)
    record_property("answers", {f"{rule} {answer}": count for (rule, answer), count in seen.items()})
