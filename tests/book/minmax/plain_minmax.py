"""The plain definition of a book by min-max: dictionaries by SFEN, and a search of all lines."""

from collections.abc import Sequence

from fukayomi.shogi import BLACK, Color, Move, Position
from fukayomi.shogi.record import Record, Result

DRAW_VALUES = {Color.BLACK: 0.4, Color.WHITE: 0.6}


class PlainBook:
    """Games through each position, and the moves from it to positions with enough games."""

    def __init__(self, games: Sequence[Record], th: int) -> None:
        self._games, self._th = games, th
        self._through: dict[str, set[int]] = {}
        self._moves: dict[str, dict[Move, str]] = {}
        self._positions: dict[str, Position] = {}
        for number, game in enumerate(games):
            before: str | None = None
            for ply, position in enumerate(game.positions()):
                key = key_of(position)
                if before is not None:
                    self._moves.setdefault(before, {})[game.moves[ply - 1].move] = key
                self._through.setdefault(key, set()).add(number)
                self._positions[key] = position
                before = key

    def moves(self, key: str) -> dict[Move, str]:
        """The moves that count."""
        found = self._moves.get(key, {})
        return {move: after for move, after in found.items() if len(self._through[after]) >= self._th}

    def value(self, key: str, side: Color, path: tuple[str, ...] = ()) -> float:
        """What a position is worth to a side, after the positions of a line."""
        draw = DRAW_VALUES[side]
        if key in path:
            checkers = self._perpetual(path[path.index(key) :])
            return draw if len(checkers) != 1 else float(side not in checkers)
        moves = self.moves(key)
        if moves:
            best = max if self._positions[key].turn == side else min
            return best(self.value(after, side, (*path, key)) for after in moves.values())
        if self._positions[key].is_mated():
            return float(self._positions[key].turn != side)
        won = Result.BLACK_WIN if side == BLACK else Result.WHITE_WIN
        results = [self._games[number].result for number in self._through[key]]
        mean = (results.count(won) + draw * results.count(Result.DRAW)) / len(results)
        return min(max(mean, 1e-6), 1 - 1e-6)

    def _perpetual(self, circle: tuple[str, ...]) -> set[Color]:
        """The sides that gave check with each move of a circle."""
        sides = {self._positions[key].turn for key in circle}
        quiet = {
            self._positions[key].turn.opponent for key in circle if not self._positions[key].is_check()
        }  # who is not in check now: the opponent's move was none
        return sides - quiet


def key_of(position: Position) -> str:
    """Board, side to move and hands."""
    return position.sfen().rsplit(" ", 1)[0]
