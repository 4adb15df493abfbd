"""Declarations (入玉宣言) under all rules."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable

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


# ---------------------------------------------------------------------------------------------- a plain definition


SET_POINTS = 54
WEIGHTS = {"K": 0, "B": 5, "R": 5}


def plain_points(position: Position, *, with_handicap: bool) -> int | None:
    """Points of the side to move; None if it may not declare. Written from the table in docs/usi-options.md."""
    board, turn, hands, *_ = position.sfen().split()
    mine = str.isupper if turn == "b" else str.islower
    squares: list[list[str]] = []  # rank by rank, "" for an empty square
    for text in board.split("/"):
        row: list[str] = []
        for promoted, character in re.findall(r"(\+?)(.)", text):
            row += [""] * int(character) if character.isdigit() else [promoted + character]
        squares.append(row)
    held = [piece for count, piece in re.findall(r"(\d*)([A-Za-z])", hands) for _ in range(int(count or 1))]

    def points(pieces: Iterable[str]) -> int:
        return sum(WEIGHTS.get(piece.lstrip("+").upper(), 1) for piece in pieces if piece)

    camp = [
        piece for row in (squares[:3] if turn == "b" else squares[6:]) for piece in row if piece and mine(piece[-1])
    ]
    others = [piece for piece in camp if piece.upper() != "K"]
    if position.is_check() or len(others) == len(camp) or len(others) < 10:
        return None
    found = points(others) + points(piece for piece in held if mine(piece))
    if with_handicap and turn == "w":
        found += SET_POINTS - points([piece for row in squares for piece in row]) - points(held)
    return found


def plain_verdict(position: Position, rule: DeclarationRule) -> str:
    if rule is DeclarationRule.NONE:
        return ""
    if rule is DeclarationRule.TRY:
        goal = "5a" if position.turn == BLACK else "5i"
        moves = [move.usi() for move in position.legal_moves]
        kings = [
            usi
            for usi in moves
            if usi[2:] == goal and "*" not in usi and "K" in str(position.piece_on(usi[:2])).upper()
        ]
        return "win" if kings else ""
    points = plain_points(position, with_handicap=rule.name.endswith("HANDICAP"))
    if points is None:
        return ""
    if rule.name.startswith("POINTS_24"):
        return "win" if points >= 31 else "draw" if points >= 24 else ""
    return "win" if points >= (28 if position.turn == BLACK else 27) else ""


def verdict(position: Position, rule: DeclarationRule) -> str:
    win, draw = position.can_declare_win(rule), position.can_declare_draw(rule)
    assert not (win and draw)
    return "win" if win else "draw" if draw else ""


@pytest.mark.parametrize("side", ["b", "w"])
def test_the_24_point_draw(side: str) -> None:
    """24 to 30 points are a draw by the 24-point rules, and by no other."""
    for pawns in range(19):
        hand = f"2R{pawns}P" if pawns else "2R"
        pos = Position.from_sfen(camp(hand) if side == "b" else f"8K/9/9/9/9/9/8n/+nssssgggg/8k w {hand.lower()} 1")
        points = 20 + pawns
        expected = "win" if points >= 31 else "draw" if points >= 24 else ""
        assert verdict(pos, DeclarationRule.POINTS_24) == expected, points
        assert not pos.can_declare_draw(DeclarationRule.POINTS_27)
        assert not pos.can_declare_draw(DeclarationRule.TRY)


def test_the_pieces_of_a_handicap_count_for_white() -> None:
    """White needs so many points less of its own; Black gets none."""
    black, white = "2R2B4L2N15P", "3p"  # White has 10 + 3 points, Black holds the rest of the set
    for handicap, missing in (("", 0), ("2R", 10), ("2R2B", 20), ("2R2B4L", 24), ("2R2B4L2N", 26)):
        pos = Position.from_sfen(f"8K/9/9/9/9/9/8n/+nssssgggg/8k w {black.replace(handicap, '', 1)}{white} 1")
        assert verdict(pos, DeclarationRule.POINTS_27) == ""
        assert verdict(pos, DeclarationRule.POINTS_27_HANDICAP) == ("win" if 13 + missing >= 27 else "")
        by_24 = "win" if 13 + missing >= 31 else "draw" if 13 + missing >= 24 else ""
        assert verdict(pos, DeclarationRule.POINTS_24_HANDICAP) == by_24
    bare = Position.from_sfen("8K/9/9/9/9/9/8n/+nssssgggg/8k w - 1")  # 10 points, and 44 that are missing
    assert [verdict(bare, rule) for rule in (DeclarationRule.POINTS_27, DeclarationRule.POINTS_27_HANDICAP)] == [
        "",
        "win",
    ]
    black = Position.from_sfen("K8/GGGGSSSS+N/N8/9/9/9/9/9/k8 b - 1")
    assert verdict(black, DeclarationRule.POINTS_27_HANDICAP) == ""


@pytest.mark.parametrize(
    ("sfen", "move"),
    [
        ("4s4/3K5/9/9/9/9/9/9/4k4 b - 1", "6b5a"),
        ("9/4K4/9/9/9/9/9/9/8k b - 1", "5b5a"),
        ("4P4/4K4/9/9/9/9/9/9/8k b - 1", None),  # no such position: a pawn that can never move
        ("4S4/4K4/9/9/9/9/9/9/8k b - 1", None),  # a piece of its own
        ("3r5/4K4/9/9/9/9/9/9/8k b - 1", None),  # attacked
        ("9/9/4K4/9/9/9/9/9/8k b - 1", None),  # too far
        ("9/4K4/9/4r4/9/9/9/9/8k b - 1", None),  # the rook sees through the king
        ("K8/9/9/9/9/9/9/5k3/9 w - 1", "4h5i"),
        ("4K4/9/9/9/9/9/9/9/4k4 b - 1", None),  # it has been there
    ],
)
def test_the_try_rule(sfen: str, move: str | None) -> None:
    if "4P4/" in sfen:
        with pytest.raises(InvalidSfenError):
            Position.from_sfen(sfen)
        return
    pos = Position.from_sfen(sfen)
    found = pos.try_move()
    assert (None if found is None else found.usi()) == move
    assert pos.can_declare_win(DeclarationRule.TRY) == (move is not None)
    assert plain_verdict(pos, DeclarationRule.TRY) == ("win" if move else "")


def test_same_answers_as_the_plain_definition() -> None:
    """Positions with and without all pieces, of both sides, by every rule."""
    rng = random.Random(3)
    seen: Counter[tuple[str, str]] = Counter()
    while seen.total() < 6 * 3_000:
        setup = random_entered_king(rng)
        if rng.random() < 0.3:  # near the goal of a try
            board = {square: piece for square, piece in setup.board.items() if piece != "K"}
            setup = Setup({**board, rng.choice([28, 37, 46, 27, 45, 36]): "K"}, setup.hands, BLACK)
        sfen = (setup if rng.random() < 0.5 else setup.flipped()).sfen()
        try:
            pos = Position.from_sfen(sfen)
        except InvalidSfenError:
            continue
        for rule in DeclarationRule:
            answer = verdict(pos, rule)
            assert answer == plain_verdict(pos, rule), (rule, sfen)
            seen[rule.name, answer] += 1
    assert min(seen[rule.name, "win"] for rule in DeclarationRule if rule.name != "NONE") >= 50, seen
    assert min(seen[name, "draw"] for name in ("POINTS_24", "POINTS_24_HANDICAP")) >= 50, seen


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
