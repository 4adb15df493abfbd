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
# Lines of JKF that begin with & are bookmarks.
_COMMENTS = st.lists(_TEXT.filter(lambda text: not text.startswith("&")), max_size=3).map("\n".join)
_BOOKMARKS = st.sampled_from(["", "", "", "しおり", "a\nb"])
_ENDS = (
    Termination.NONE, Termination.RESIGN, Termination.INTERRUPTED, Termination.REPETITION, Termination.TIME_UP,
    Termination.MATE, Termination.DECLARATION, Termination.IMPASSE, Termination.DRAW, Termination.ILLEGAL_MOVE,
    Termination.TAKEN_BACK, Termination.ERROR, Termination.NO_MATE, Termination.OTHER,
)  # fmt: skip


@st.composite
def records(draw: st.DrawFn) -> Record:
    """A game of random moves with comments, bookmarks, times, headers, a tree of variations and an end."""
    record = Record(name="game", initial_sfen=draw(st.sampled_from(_STARTS)), comment=draw(_COMMENTS))
    position = Position.from_sfen(record.initial_sfen)
    record.moves = _moves(draw, position, draw(st.integers(0, 40)))
    record.black_name, record.white_name = draw(_TEXT), draw(_TEXT)
    record.headers = {"備考": draw(_TEXT), "記録係": draw(_TEXT)}
    record.time_limit, record.opening = draw(st.sampled_from(["", "15分+60秒", "各一日"])), draw(_TEXT)
    record.bookmark = draw(_BOOKMARKS)
    record.termination = draw(st.sampled_from(_ENDS))
    record.result = result_of(record.termination, position.turn)
    if record.termination is not Termination.NONE:
        record.ending_comment = draw(_COMMENTS)
        record.ending_time_ms = draw(st.sampled_from([None, 0, 3000]))
        words = {Termination.OTHER: ["封じ手", "接続切れ"], Termination.INTERRUPTED: ["", "切断"]}
        record.ending_word = draw(st.sampled_from(words.get(record.termination, [""])))
    _branch(draw, record, position, None, 3)
    return record


def _branch(draw: st.DrawFn, record: Record, position: Position, index: int | None, most: int) -> None:
    """Add variations that leave a line, whose last position is given, and others that leave them."""
    line = record if index is None else record.variations[index]
    first = 1 if index is None else record.variations[index].ply + 1
    end = len(record.moves) if index is None else record.variations[index].ply + len(line.moves) - 1
    plies = draw(st.lists(st.integers(first, end + 1), max_size=most))
    for ply in sorted(plies, reverse=True):
        while len(position.moves) >= ply:
            position.pop()
        if moves := _moves(draw, position, draw(st.integers(1, 5))):
            record.variations.append(Variation(ply, moves, parent=index))
            _branch(draw, record, position, len(record.variations) - 1, most - 1)


def _moves(draw: st.DrawFn, position: Position, plies: int) -> list[RecordedMove]:
    """Random moves, which are played on the position."""
    moves: list[RecordedMove] = []
    for _ in range(plies):
        if not (legal := position.legal_moves):
            break
        played = RecordedMove(draw(st.sampled_from(legal)), time_ms=1000 * draw(st.integers(0, 9000)))
        played.comment = draw(st.one_of(st.just(""), _COMMENTS))
        played.bookmark = draw(st.one_of(st.just(""), _BOOKMARKS))
        moves.append(played)
        position.push(played.move)
    return moves


def lines_of(record: Record) -> list[tuple[tuple[str, ...], str, str]]:
    """Every move of a record and of its variations: the moves that lead to it, its comment and its bookmark; sorted."""
    found: list[tuple[tuple[str, ...], str, str]] = []
    for before, moves in [([], record.moves), *((record.moves_before(line), line.moves) for line in record.variations)]:
        path = [played.move.usi() for played in before]
        for played in moves:
            path.append(played.move.usi())
            found.append((tuple(path), played.comment, played.bookmark))
    return sorted(found)
