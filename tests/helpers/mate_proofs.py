"""Proofs of mates by the rules alone: every defence is tried, to the end."""

from fukayomi import MateReason, MateSolver, Move, Position, Repetition


class MateVerifier:
    """Proves that lines are mates.

    A proof is a whole tree: at each turn of the defender every legal move is played and answered, until the defender is
    in check without a move. A solver names the answers to defences that the line does not have. It is not trusted:
    each answer must be legal and give check, and all defences against it are tried too.
    """

    def __init__(self, memory_mb: int = 16) -> None:
        self._solver = MateSolver(memory_mb)
        self._proven: dict[int, int] = {}  # plies to the mate at most, by the key of a position of the defender
        self.defences = 0
        """Defences tried so far."""

    def verify(self, position: Position, line: list[Move], *, is_longest: bool = True) -> None:
        """Prove that a line mates, whatever the defender plays.

        Args:
            position: The position; the attacker is to move.
            line: A whole mate.
            is_longest: Whether no defence may last longer than the line.

        Raises:
            AssertionError: It is not so; the message has the position.
            IllegalMoveError: A move is not legal.
        """
        end = position.copy()
        for move in line:
            end.push(move)
        assert end.turn != position.turn, f"{end.usi()}: the attacker is to move"
        assert end.is_mated(), f"{end.usi()}: no mate"
        self._proven.clear()
        self._attack(position.copy(), line, len(line) if is_longest else None)

    def _attack(self, pos: Position, line: list[Move], plies: int | None) -> None:
        """Prove that the first move of a line mates; with `plies`, in so many."""
        assert pos.gives_check(line[0]), f"{pos.sfen()}: {line[0]} is no check"
        pos.push(line[0])
        assert pos.repetition() == Repetition.NONE, f"{pos.usi()}: repetition is no mate"
        if plies is None:
            self._defend(pos, line[1:], None)
        elif self._proven.get(pos.key, plies) >= plies:
            self._defend(pos, line[1:], plies - 1)
            self._proven[pos.key] = plies - 1
        pos.pop()

    def _defend(self, pos: Position, line: list[Move], plies: int | None) -> None:
        """Prove that the defender, in check, is mated after each move; the line answers one of them."""
        for defence in pos.legal_moves:
            self.defences += 1
            left = None if plies is None else plies - 1
            assert left is None or left > 0, f"{pos.sfen()}: {defence} lasts longer than the line"
            pos.push(defence)
            if line and defence == line[0]:
                self._attack(pos, line[1:], left)
            else:
                found = self._solver.solve(pos, plies=left, shortest=left is None)
                assert found.reason == MateReason.MATE, f"{pos.sfen()}: no mate after {defence}, plies left: {left}"
                self._attack(pos, found.moves, left or len(found.moves))
            pos.pop()
