"""The rules, for the page: a position with its legal moves, the names of moves, and whether the game has ended.

The page has no rules of its own: it asks here after every move.
"""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from fukayomi.shogi import (
    BLACK,
    START_SFEN,
    WHITE,
    Color,
    DeclarationRule,
    Move,
    Position,
    Repetition,
    ShogiError,
)
from fukayomi.shogi.formats.kif.board import HANDICAPS
from fukayomi.shogi.formats.notation import english_move, japanese_move
from fukayomi.shogi.illegal import fault_of
from fukayomi.web.answers import LARGEST_QUESTION, Question, Refused, json_answer, read_json

LONGEST_SFEN = 200
"""Characters."""
MOST_GAME_PLIES = 2000
"""Plies of a game on the page; professional games have at most about 400."""

Sfen = Annotated[str, Field(max_length=LONGEST_SFEN)]
Usi = Annotated[str, Field(max_length=5)]
UsiMoves = Annotated[tuple[Usi, ...], Field(max_length=MOST_GAME_PLIES)]

_ENGLISH_HANDICAPS = {
    "平手": "Even game", "香落": "Lance", "右香落": "Right lance", "角落": "Bishop", "飛車落": "Rook",
    "飛香落": "Rook and lance", "二枚落": "2 pieces", "三枚落": "3 pieces", "四枚落": "4 pieces", "五枚落": "5 pieces",
    "左五枚落": "5 pieces, left knight", "六枚落": "6 pieces", "右七枚落": "7 pieces, right silver",
    "左七枚落": "7 pieces, left silver", "八枚落": "8 pieces", "右九枚落": "9 pieces, right gold",
    "左九枚落": "9 pieces, left gold", "十枚落": "10 pieces", "トンボ+桂香": "Dragonfly with knights and lances",
    "トンボ+香": "Dragonfly with lances",
    "トンボ": "Dragonfly", "歩三兵": "Three pawns", "裸玉": "Naked king", "青空将棋": "Without pawns",
}  # fmt: skip
_REPETITIONS = {Repetition.DRAW: "draw", Repetition.WIN: "win", Repetition.LOSE: "lose"}


class PositionQuestion(Question):
    """A position: where the game began, and its moves."""

    sfen: Sfen = START_SFEN
    moves: UsiMoves = ()

    def position(self) -> Position:
        """The position.

        Raises:
            Refused: It is impossible, or a move is not legal.
        """
        return position_of(self.sfen, self.moves)


class TriedQuestion(PositionQuestion):
    """Why a move is not legal."""

    tried: Usi


def position_of(sfen: str, moves: Iterable[str]) -> Position:
    """A position with its past; it may lack kings, as mate problems do.

    Raises:
        Refused: It is impossible, or a move is not legal.
    """
    try:
        position = Position.from_sfen(sfen, allow_missing_king=True)
        for usi in moves:
            position.push_usi(usi)
    except ShogiError as error:
        raise Refused(400, str(error)) from error
    return position


def describe(position: Position) -> dict[str, Any]:
    """A position as the page shows it.

    Returns:
        sfen, turn ("b" or "w"), ply (of the next move), check, legal (USI moves), japanese and english (of the last
        move, or None), repetition (None, "draw", "win" or "lose" for the side to move), occurrences, declaration
        (whether the side to move may declare a win by the 27-point rule), end (None, "mate", "repetition" or
        "perpetual_check"), winner (None, "b" or "w"), board (81 pieces such as "P" and "+r", "" where there is none,
        index (file - 1) * 9 + rank - 1), and hands (for "b" and "w" the counts by letter).
    """
    pieces = position.pieces()
    repetition = position.repetition()
    end, winner = ending(position)
    japanese, english = last_move_names(position)
    return {
        "sfen": position.sfen(),
        "turn": side(position.turn),
        "ply": position.ply,
        "check": position.is_check(),
        "legal": [move.usi() for move in position.legal_moves],
        "last": position.peek().usi() if position.moves else None,
        "japanese": japanese,
        "english": english,
        "repetition": _REPETITIONS.get(repetition),
        "occurrences": position.occurrences(),
        "declaration": has_kings(position) and position.can_declare_win(DeclarationRule.POINTS_27),
        "end": end,
        "winner": winner,
        "board": [pieces[square].sfen() if square in pieces else "" for square in range(81)],
        "hands": {side(color): _hand(position, color) for color in (BLACK, WHITE)},
    }


def ending(position: Position) -> tuple[str | None, str | None]:
    """End of the game by the rules in a position, and the winner: see `describe`."""
    if position.is_mated():
        return "mate", side(position.turn.opponent)
    match position.repetition():
        case Repetition.DRAW:
            return "repetition", None
        case Repetition.WIN:
            return "perpetual_check", side(position.turn)
        case Repetition.LOSE:
            return "perpetual_check", side(position.turn.opponent)
        case _:
            return None, None


def last_move_names(position: Position) -> tuple[str | None, str | None]:
    """The last move in Japanese and in Western notation; None if there is no move."""
    if not position.moves:
        return None, None
    move = position.pop()
    names = japanese_move(position, move), english_move(position, move)
    position.push(move)
    return names


def has_kings(position: Position) -> bool:
    """True if both sides have a king, as networks need."""
    return all(position.king_square(color) is not None for color in (BLACK, WHITE))


def side(color: Color) -> str:
    """A side in a letter, as in SFEN."""
    return "b" if color == BLACK else "w"


def handicaps() -> list[dict[str, str]]:
    """The handicaps that games begin with: name, English name, first position."""
    return [{"name": name, "english": _ENGLISH_HANDICAPS[name], "sfen": sfen} for name, sfen in HANDICAPS.items()]


def routes(_: object) -> list[BaseRoute]:
    """Routes of this module."""
    return [
        Route("/api/position", _position, methods=["POST"], max_body_size=LARGEST_QUESTION),
        Route("/api/illegal", _illegal, methods=["POST"], max_body_size=LARGEST_QUESTION),
    ]


async def _position(request: Request) -> Response:
    question = await read_json(request, PositionQuestion)
    return json_answer(describe(question.position()))  # here: another thread would cost more than the answer


async def _illegal(request: Request) -> Response:
    question = await read_json(request, TriedQuestion)
    position = question.position()
    try:
        return json_answer({"fault": fault_of(position, Move.from_usi(question.tried))})
    except ShogiError as error:
        raise Refused(400, str(error)) from error


def _hand(position: Position, color: Color) -> dict[str, int]:
    return {kind.name[0] if kind.name != "KNIGHT" else "N": count for kind, count in position.hand(color).items()}
