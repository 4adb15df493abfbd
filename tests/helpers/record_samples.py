"""Random records with everything that KIF, KI2 and JKF can express."""

from hypothesis import strategies as st

from fukayomi.shogi import START_SFEN, Position
from fukayomi.shogi.formats.kif.board import HANDICAPS
from fukayomi.shogi.record import Record, RecordedMove, Termination, Variation, result_of

_STARTS = [
    START_SFEN, *sorted(set(HANDICAPS.values())), "4k4/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L18P 1",
    "8l/1l+R2P3/p2pBG1pp/kps1p4/Nn1P2G2/P1P1P2PP/1PS6/1KSG3+r1/LN2+p3L w Sbgn3p 1",
]  # fmt: skip
_LETTERS = st.characters(codec="cp932", exclude_categories=["Cc", "Co", "Zs", "Zl", "Zp"], exclude_characters="¢£¬‖−〜")
_TEXT = st.text(_LETTERS, max_size=12)
_COMMENTS = st.lists(_TEXT, max_size=3).map("\n".join)
_ENDS = (
    Termination.NONE, Termination.RESIGN, Termination.INTERRUPTED, Termination.REPETITION, Termination.TIME_UP,
    Termination.MATE, Termination.DECLARATION, Termination.IMPASSE, Termination.DRAW, Termination.ILLEGAL_MOVE,
    Termination.TAKEN_BACK, Termination.ERROR, Termination.NO_MATE,
)  # fmt: skip


@st.composite
def records(draw: st.DrawFn) -> Record:
    """A game of random moves with comments, times, headers, variations and an end."""
    record = Record(name="game", initial_sfen=draw(st.sampled_from(_STARTS)), comment=draw(_COMMENTS))
    position = Position.from_sfen(record.initial_sfen)
    record.moves = _moves(draw, position, draw(st.integers(0, 40)))
    record.black_name, record.white_name = draw(_TEXT), draw(_TEXT)
    record.headers = {"備考": draw(_TEXT), "記録係": draw(_TEXT)}
    record.time_limit, record.opening = draw(st.sampled_from(["", "15分+60秒", "各一日"])), draw(_TEXT)
    record.termination = draw(st.sampled_from(_ENDS))
    record.result = result_of(record.termination, position.turn)
    plies = draw(st.lists(st.integers(1, len(record) + 1), max_size=3))
    for ply in sorted(plies, reverse=True):
        while len(position.moves) >= ply:
            position.pop()
        if moves := _moves(draw, position, draw(st.integers(1, 5))):
            record.variations.append(Variation(ply, moves))
        for _ in moves:
            position.pop()
    return record


def _moves(draw: st.DrawFn, position: Position, plies: int) -> list[RecordedMove]:
    """Random moves, which are played on the position."""
    moves: list[RecordedMove] = []
    for _ in range(plies):
        if not (legal := position.legal_moves):
            break
        played = RecordedMove(draw(st.sampled_from(legal)), time_ms=1000 * draw(st.integers(0, 9000)))
        played.comment = draw(st.one_of(st.just(""), _COMMENTS))
        moves.append(played)
        position.push(played.move)
    return moves
