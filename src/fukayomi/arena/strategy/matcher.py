"""Finds strategies in games.

Definitions are compiled for both sides. An index gives the shapes that a move can complete: by the piece that arrives
on a square, the square left empty, the captured piece, or the move itself. A move costs a few lookups, and nearly all
of them find nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fukayomi.arena.strategy.definitions import EMPTY, WHITE_PIECE, Definition, Placed, Shape, Side
from fukayomi.shogi import START_SFEN, Color, Move, PieceType, Position
from fukayomi.tabular import Tabular

_SQUARES = 81
_FIRST_DROP = 81 - PieceType.PAWN
_UNPROMOTED: Final = tuple(0 if not 1 <= kind <= 14 else int(PieceType(kind).unpromoted) for kind in range(WHITE_PIECE))
_PROMOTED: Final = {
    int(kind.unpromoted) + color: int(kind) + color
    for kind in PieceType
    if kind.is_promoted
    for color in (0, WHITE_PIECE)
}
_QUIET: Final = frozenset({PieceType.PAWN, PieceType.BISHOP})
"""Pieces whose capture is not an outbreak."""

SIDE_NAMES: Final = {Color.BLACK: "先手", Color.WHITE: "後手"}


@dataclass(frozen=True, slots=True)
class Tag:
    """A strategy found in a game."""

    definition: Definition
    color: Color | None
    """The side it belongs to; None for both sides together, and if the name says it."""

    @property
    def label(self) -> str:
        """The name with its side, for example 先手四間飛車."""
        return self.definition.name if self.color is None else SIDE_NAMES[self.color] + self.definition.name

    @property
    def english(self) -> str:
        """The name in English, for example Black Fourth-File Rook."""
        return self.definition.english if self.color is None else f"{self.color.name.title()} {self.definition.english}"

    @property
    def mirrored(self) -> "Tag":
        """The same strategy of the other side."""
        return self if self.color is None else Tag(self.definition, self.color.opponent)


@dataclass(frozen=True, slots=True, repr=False)
class Classification(Tabular):
    """The strategies of a game."""

    plies: dict[Tag, int]
    """The ply at which each tag was found, including helper tags and hidden ones."""
    tags: tuple[Tag, ...]
    """The tags to show, in the order of the definitions."""

    def __repr__(self) -> str:
        return f"<Classification: {', '.join(tag.label for tag in self.tags) or 'nothing'}>"

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row per tag to show."""
        return [
            {
                "strategy": tag.label,
                "english": tag.english,
                "kind": tag.definition.kind.value,
                "ply": self.plies[tag],
            }
            for tag in self.tags
        ]


@dataclass(frozen=True, slots=True, eq=False)
class _Rule:
    """A shape compiled for one side. `requires` and `excludes` have a bit per tag."""

    order: int
    tag: int
    min_ply: int
    max_ply: int
    before_outbreak: bool
    captured: frozenset[int]
    pieces: tuple[tuple[int, int], ...]
    any: tuple[tuple[tuple[int, int], ...], ...]
    none: tuple[tuple[int, int], ...]
    hand: tuple[int, ...]
    no_hand: tuple[int, ...]
    requires: int
    excludes: int


class Matcher:
    """Classifies games by a set of definitions. It is immutable, so threads may share it."""

    def __init__(self, definitions: Sequence[Definition]) -> None:
        """Compile definitions.

        Args:
            definitions: Definitions from `load_definitions`.
        """
        self._tags: list[Tag] = []
        self._bits: dict[tuple[str, Color | None], int] = {}
        for definition in definitions:
            for color in tuple(Color) if definition.side is Side.EACH else (None,):
                self._bits[definition.name, color] = 1 << len(self._tags)
                self._tags.append(Tag(definition, color))
        self._known = {definition.name: definition for definition in definitions}
        self._hides = [self._hidden_by(tag) for tag in self._tags]
        self._rules: list[_Rule] = []
        self._arrivals: list[list[_Rule]] = [[] for _ in range(2 * WHITE_PIECE * _SQUARES)]
        self._plays: dict[int, list[_Rule]] = {}
        self._takes: list[list[_Rule]] = [[] for _ in range(2 * WHITE_PIECE)]
        self._follows: list[list[_Rule]] = [[] for _ in self._tags]
        self._standing: list[_Rule] = []
        self._always: list[_Rule] = []
        for definition in definitions:
            for shape in definition.when:
                for color in (Color.BLACK,) if definition.side is Side.FIXED else tuple(Color):
                    self._add(definition, shape, color)
        self._last_ply = max((rule.max_ply for rule in self._rules), default=0)
        self._at_start = dict[int, int]()
        self._try(self._standing, _Board(START_SFEN), 0, 0, self._at_start, 0)

    def classify(self, initial_sfen: str, moves: Iterable[Move]) -> Classification:
        """Find the strategies of a game.

        Args:
            initial_sfen: The first position.
            moves: The moves; all must be legal.

        Raises:
            InvalidSfenError: `initial_sfen` is not a position.
        """
        return self._shown(self._run(_Board(initial_sfen), moves))

    def _run(self, board: "_Board", moves: Iterable[Move]) -> dict[int, int]:
        """The number of each tag found, with its ply."""
        fired = dict[int, int]() if board.is_special else self._at_start.copy()
        ply = board.next_ply - 1
        if board.is_special:
            self._try(self._standing, board, 0, ply, fired, 0)
        mask = sum(1 << tag for tag in fired)
        arrivals, plays, takes, always = self._arrivals, self._plays, self._takes, self._always
        for move in moves:
            ply += 1
            if ply > self._last_ply:
                break
            raw = move.raw
            play = plays.get(board.piece_of(raw) << 15 | raw)
            arrived, left, captured = board.play(raw)
            rules = arrivals[arrived]
            for more in (arrivals[left] if left >= 0 else None, takes[captured] if captured else None, play, always):
                if more:
                    rules = rules + more
            if rules:
                mask = self._try(rules, board, captured, ply, fired, mask)
        return fired

    def _try(
        self, rules: list[_Rule], board: "_Board", captured: int, ply: int, fired: dict[int, int], mask: int
    ) -> int:
        """Record the tags of rules that hold, in the order of the definitions; then of rules that required these."""
        while rules:
            following: list[_Rule] = []
            for rule in sorted(set(rules), key=lambda rule: rule.order) if len(rules) > 1 else rules:
                bit = 1 << rule.tag
                if not mask & bit and _holds(rule, board, captured, ply, mask):
                    mask |= bit
                    fired[rule.tag] = ply
                    following += self._follows[rule.tag]
            rules = following
        return mask

    def _shown(self, fired: dict[int, int]) -> Classification:
        hidden = 0
        for number in fired:
            hidden |= self._hides[number]
        shown = (number for number in sorted(fired) if not hidden >> number & 1)
        return Classification(
            {self._tags[number]: ply for number, ply in fired.items()},
            tuple(self._tags[number] for number in shown if not self._tags[number].definition.helper),
        )

    def _hidden_by(self, tag: Tag) -> int:
        """Mask of the tags that this one hides: those of its side and of the game, or all for a tag of the game."""
        waiting, names = list(tag.definition.hides), set[str]()
        while waiting:
            name = waiting.pop()
            if name not in names:
                names.add(name)
                waiting += self._known[name].hides
        colors = (None, *Color) if tag.color is None else (None, tag.color)
        return sum(self._bits.get((name, color), 0) for name in names for color in colors)

    def _mask(self, names: Sequence[str], color: Color) -> int:
        mask = 0
        for name in names:
            mask |= self._bits[name, color if self._known[name].side is Side.EACH else None]
        return mask

    def _add(self, definition: Definition, shape: Shape, color: Color) -> None:
        """Compile a shape for a side and index it by everything that can complete it."""
        tag = self._bits[definition.name, color if definition.side is Side.EACH else None].bit_length() - 1
        rule = _compile(
            shape, color, len(self._rules), tag,
            self._mask(shape.requires, color) | self._mask(shape.opponent_requires, color.opponent),
            self._mask(shape.excludes, color) | self._mask(shape.opponent_excludes, color.opponent),
        )  # fmt: skip
        self._rules.append(rule)
        if shape.moves:
            for move in shape.moves:
                seen = move if color is Color.BLACK else move.mirrored()
                self._plays.setdefault(seen.piece << 15 | seen.raw, []).append(rule)
            return
        for piece in rule.captured:
            self._takes[piece].append(rule)
        if rule.captured:
            return
        self._standing.append(rule)
        if shape.every_ply:
            self._always.append(rule)
            return
        for piece, square in (*rule.pieces, *(placed for group in rule.any for placed in group)):
            self._arrivals[piece * _SQUARES + square].append(rule)
        for piece in rule.hand:
            self._takes[piece].append(rule)
        waiting = rule.requires
        while waiting:
            self._follows[waiting.bit_length() - 1].append(rule)
            waiting ^= 1 << waiting.bit_length() - 1


def _compile(shape: Shape, color: Color, order: int, tag: int, requires: int, excludes: int) -> _Rule:
    def seen(placed: Iterable[Placed]) -> tuple[tuple[int, int], ...]:
        sides = (one if color is Color.BLACK else one.mirrored() for one in placed)
        return tuple((one.piece, one.square) for one in sides)

    flip = 0 if color is Color.BLACK else WHITE_PIECE
    return _Rule(
        order, tag, shape.min_ply, shape.max_ply, shape.before_outbreak,
        captured=frozenset(kept.piece ^ flip for kept in shape.captures),
        pieces=seen(shape.pieces),
        any=tuple(seen(group) for group in shape.any),
        none=seen(shape.none),
        hand=tuple(kept.piece ^ flip for kept in shape.hand),
        no_hand=tuple(kept.piece ^ flip for kept in shape.no_hand),
        requires=requires,
        excludes=excludes,
    )  # fmt: skip


def _holds(rule: _Rule, board: "_Board", captured: int, ply: int, mask: int) -> bool:
    """True if all conditions of a rule hold after the move of this ply."""
    if mask & rule.requires != rule.requires or mask & rule.excludes:
        return False
    if not rule.min_ply <= ply <= rule.max_ply or (rule.before_outbreak and board.has_outbreak):
        return False
    if rule.captured and captured not in rule.captured:
        return False
    squares = board.squares
    for piece, square in rule.pieces:
        if squares[square] != piece:
            return False
    for group in rule.any:
        if not any(squares[square] == piece for piece, square in group):
            return False
    if any(squares[square] == piece for piece, square in rule.none):
        return False
    hands = board.hands
    return all(hands[piece] for piece in rule.hand) and not any(hands[piece] for piece in rule.no_hand)


class _Board:
    """Pieces and hands without rules: moves are known to be legal."""

    __slots__ = ("_turn", "hands", "has_outbreak", "is_special", "next_ply", "squares")

    def __init__(self, sfen: str) -> None:
        self.is_special = sfen != START_SFEN
        """True if the game starts from another position than the usual one."""
        self.has_outbreak = False
        """True if anything but pawns and bishops has been captured."""
        # Pieces are numbered as in definitions.py: `squares` by square, `hands` the count of each piece.
        if self.is_special:
            self.squares, self.hands, self._turn, self.next_ply = _read_position(sfen)
            self.has_outbreak = any(
                count and piece & (WHITE_PIECE - 1) not in _QUIET for piece, count in enumerate(self.hands)
            )
        else:
            self.squares, self._turn, self.next_ply = list(_START_SQUARES), 0, 1
            self.hands = [0] * (2 * WHITE_PIECE)

    def piece_of(self, raw: int) -> int:
        """The piece that a move of the side to move moves or drops."""
        start = raw >> 7 & 127
        return self.squares[start] if start < _SQUARES else start - _FIRST_DROP + self._turn

    def play(self, raw: int) -> tuple[int, int, int]:
        """Play a move.

        Returns:
            The arrival of a piece and the square left empty (-1 if none), both as piece * 81 + square, and the captured
            piece in the mover's hand (0 if none).
        """
        to, start, squares, turn = raw & 127, raw >> 7 & 127, self.squares, self._turn
        captured = 0
        if start >= _SQUARES:
            piece = start - _FIRST_DROP + turn
            self.hands[piece] -= 1
            left = -1
        else:
            piece = squares[start]
            squares[start] = EMPTY
            left = start  # as EMPTY * 81 + start
            taken = squares[to]
            if taken:
                kind = _UNPROMOTED[taken & (WHITE_PIECE - 1)]
                captured = kind + turn
                self.hands[captured] += 1
                if kind not in _QUIET:
                    self.has_outbreak = True
            if raw >> 14:
                piece = _PROMOTED[piece]
        squares[to] = piece
        self._turn = turn ^ WHITE_PIECE
        return piece * _SQUARES + to, left, captured


def _read_position(sfen: str) -> tuple[list[int], list[int], int, int]:
    """The squares, the hands, 16 if White is to move (else 0), and the next ply of a position."""
    position = Position.from_sfen(sfen, allow_missing_king=True)
    squares, hands = [EMPTY] * _SQUARES, [0] * (2 * WHITE_PIECE)
    for square in range(_SQUARES):
        piece = position.piece_on(square)
        if piece is not None:
            squares[square] = piece.type + (WHITE_PIECE if piece.color is Color.WHITE else 0)
    for color in Color:
        for kind, count in position.hand(color).items():
            hands[kind + (WHITE_PIECE if color is Color.WHITE else 0)] = count
    return squares, hands, WHITE_PIECE if position.turn is Color.WHITE else 0, position.ply


_START_SQUARES: Final = tuple(_read_position(START_SFEN)[0])
