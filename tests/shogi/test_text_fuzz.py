"""Random and damaged texts are read, or refused with one of our errors. Also run under the sanitizers."""

from collections.abc import Callable
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import HANDICAPS, MATSURI

from fukayomi.shogi import Move, Position, ShogiError, square_from_usi

SEEDS = [
    *HANDICAPS.values(),
    MATSURI,
    "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1",
    "startpos moves 7g7f 3c3d 8h2b+ 3a2b B*4e",
    "sfen 4k4/9/9/9/9/9/9/9/4K4 b Pp 1 moves P*5e",
]
SNIPPETS = ["+", "/", "9", "0", "k", "K", "P", "p", "18p", "2R", " b ", " w ", "-", " moves ", "P*5e", "1a1a"]
SNIPPETS += ["\0", "あ", "\udcff"]


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A good text with a few pieces cut out, doubled, moved or replaced."""
    text = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 6)))
        middle = draw(st.one_of(st.sampled_from(["", text[start:end] * 2, *SNIPPETS]), st.text(max_size=3)))
        text = text[:start] + middle + text[end:]
    return text


T = TypeVar("T")
LETTERS = "PLNSGBRKplnsgbrk+123456789/ bw-*"
ANY_TEXT = st.one_of(damaged(), st.text(max_size=80), st.text(alphabet=LETTERS, max_size=120))


def read(parse: Callable[[], T]) -> T | str:
    """What a parser returns, or the message of its error."""
    try:
        return parse()
    except ShogiError as error:
        return str(error)


@settings(max_examples=400, deadline=None)
@given(ANY_TEXT, st.booleans())
def test_sfen(text: str, allow_missing_king: bool) -> None:
    pos = read(lambda: Position.from_sfen(text, allow_missing_king=allow_missing_king))
    if isinstance(pos, str):
        assert pos.startswith("invalid SFEN ")
        return
    again = Position.from_sfen(pos.sfen(), allow_missing_king=allow_missing_king)
    assert (again.sfen(), again.key) == (pos.sfen(), pos.key)
    for move in pos.legal_moves:
        pos.push(move)
        pos.pop()
    assert pos == again
    pos.find_mate_in_one()
    assert len(str(pos).splitlines()) == 13


@settings(max_examples=400, deadline=None)
@given(ANY_TEXT)
def test_usi_position(text: str) -> None:
    pos = read(lambda: Position.from_usi(text))
    if isinstance(pos, str):
        assert pos.startswith(("invalid SFEN ", "invalid USI ", "illegal move "))
        return
    assert Position.from_usi(pos.usi()).usi() == pos.usi()


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=8), st.text(alphabet="PLNSBRGK*+123456789abcdefghi", max_size=6)))
def test_move_and_square(text: str) -> None:
    move = read(lambda: Move.from_usi(text))
    assert move.startswith("invalid USI move ") if isinstance(move, str) else move.usi() == text
    square = read(lambda: square_from_usi(text))
    assert square.startswith("invalid square ") if isinstance(square, str) else 0 <= square <= 80


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 0xFFFF), st.sampled_from([*HANDICAPS.values(), MATSURI]))
def test_any_move_may_be_asked_about(raw: int, sfen: str) -> None:
    pos = Position.from_sfen(sfen)
    move = read(lambda: Move.from_raw(raw))
    if isinstance(move, str) or pos.is_legal(move):
        return
    message = read(lambda: pos.push(move))
    assert message is not None
    assert message.startswith(f"illegal move '{move.usi()}' in '{sfen}': ")
    assert not message.endswith("against the rules")
