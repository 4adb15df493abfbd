"""Length of a proven mate: a search proves it by the first line that it finds, which may be far from the shortest."""

from dataclasses import dataclass

from fukayomi.shogi import MateReason, MateSolver, Move, Position

OWN_NODES = 100_000
"""Positions that are searched for a shorter mate by the side to move: about a tenth of a second."""
DEFENCE_NODES = 20_000
"""The same for a mate after each move of the side that is mated."""
MOST_DEFENCES = 16
"""With more moves to try, a mate of the side to move keeps the length that the search found."""
MEMORY_MB = 32


@dataclass(frozen=True, slots=True)
class ShorterMate:
    """A mate that is shorter than the one that the search found."""

    plies: int
    """Plies to it: positive if the side to move mates, negative if it is mated."""
    moves: tuple[Move, ...]
    """The whole line."""


class MateLengths:
    """Looks for shorter mates by checks alone, with work that does not depend on the time."""

    def __init__(self) -> None:
        self._solver: MateSolver | None = None

    def shorter(self, position: Position, winrate: float, mate: int | None) -> ShorterMate | None:
        """A shorter mate than the proof of a search has; None: none was found, or nothing is proven.

        Args:
            position: The position with the moves that led to it.
            winrate: What the search says of the side to move; 0 or 1 if it is proven.
            mate: Plies to the mate, positive if the side to move mates; None if their number is not known.
        """
        if winrate not in (0.0, 1.0) or (mate is not None and abs(mate) <= 2):
            return None
        longest = None if mate is None else abs(mate) - 2  # the other side moves last in both
        if winrate == 1.0:
            moves = self._solve(position, OWN_NODES, longest)
            return None if moves is None else ShorterMate(len(moves), moves)
        return self._defended(position, None if longest is None else longest - 1)

    def _defended(self, position: Position, longest: int | None) -> ShorterMate | None:
        """The mate after the defence that lasts longest, if every defence ends in one."""
        defences = position.legal_moves
        if len(defences) > MOST_DEFENCES:
            return None
        found: tuple[Move, ...] = ()
        for defence in defences:
            after = position.copy()
            after.push(defence)
            moves = self._solve(after, DEFENCE_NODES, longest)
            if moves is None:
                return None
            if len(moves) >= len(found):
                found = (defence, *moves)
        return ShorterMate(-len(found), found) if found else None

    def _solve(self, position: Position, nodes: int, plies: int | None) -> tuple[Move, ...] | None:
        """The shortest mate by the side to move within so many plies."""
        if self._solver is None:
            self._solver = MateSolver(MEMORY_MB)
        result = self._solver.solve(position, nodes=nodes, plies=plies)
        if result.reason != MateReason.MATE:
            return None
        # The solver does not know the past. A mate that begins with a repetition might repeat itself for ever.
        after = position.copy()
        after.push(result.moves[0])
        return None if after.occurrences() > 1 else tuple(result.moves)
