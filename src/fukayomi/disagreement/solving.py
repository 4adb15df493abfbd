"""How well a network solves positions where another player was wrong: with how many nodes, and with what error."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import sqrt
from typing import Any

from fukayomi._native import MATE_CP
from fukayomi.disagreement.model import Disagreement, halfway, win_rate_of
from fukayomi.engine.network import Network
from fukayomi.errors import InvalidValueError
from fukayomi.learning.labelling.labellers import label_in_order
from fukayomi.learning.labelling.labelling import open_labellers
from fukayomi.learning.labelling.labels import Label
from fukayomi.learning.labelling.settings import LabelSettings
from fukayomi.listener import SILENT, Listener
from fukayomi.tabular import Tabular, counted

NODES = tuple(2**power for power in range(1, 13))


@dataclass(frozen=True, eq=False, repr=False)
class Solved(Tabular):
    """What searches of N positions find. As a table it has a row for each number of nodes."""

    found: Sequence[Disagreement]
    """The positions: those where one of the two players was right."""
    nodes: tuple[int, ...]
    """Nodes of the searches, ascending."""
    moves: tuple[tuple[str | None, ...], ...]
    """Best moves in USI: for each number of nodes, of each position."""
    win_rates: tuple[tuple[float, ...], ...]
    """Win rates of the side to move, laid out alike."""

    @property
    def nodes_to_move(self) -> list[int | None]:
        """For each position the nodes from which on the best move is that of the player who was right; None: not with
        these nodes, or the two players agree on the move."""
        found: list[int | None] = []
        for place, each in enumerate(self.found):
            least: int | None = None
            if has_own_move(each):
                for nodes, moves in zip(reversed(self.nodes), reversed(self.moves), strict=True):
                    if moves[place] != right_move(each):
                        break
                    least = nodes
            found.append(least)
        return found

    def rows(self) -> list[dict[str, Any]]:
        """One row per number of nodes: of the positions where the moves differ, the share with the right move (`moves`)
        and how many they are; of all, the share with a win rate on the right side (`sides`), and the mean distance of
        the win rate from the score of the games (`error`). Each with its standard error."""
        rows: list[dict[str, Any]] = []
        for nodes, moves, rates in zip(self.nodes, self.moves, self.win_rates, strict=True):
            right = [
                move == right_move(each) for each, move in zip(self.found, moves, strict=True) if has_own_move(each)
            ]
            sides = [is_on_right_side(each, rate) for each, rate in zip(self.found, rates, strict=True)]
            errors = [
                abs(rate - each.score)
                for each, rate in zip(self.found, rates, strict=True)
                if each.score is not None and not each.is_about_moves
            ]
            row: dict[str, Any] = {"nodes": nodes}
            for name, values in (("moves", right), ("sides", sides), ("error", errors)):
                row |= {name: _mean(values), f"{name}_se": _standard_error(values), f"{name}_of": len(values)}
            rows.append(row)
        return rows

    def __len__(self) -> int:
        return len(self.found)

    def __repr__(self) -> str:
        return f"<Solved: {counted(len(self.found), 'position')} with {self.nodes[0]} to {self.nodes[-1]} nodes>"


def solve(
    found: Sequence[Disagreement],
    network: Network,
    *,
    nodes: Sequence[int] = NODES,
    scale_cp: float | None = None,
    listener: Listener = SILENT,
) -> Solved:
    """Search the positions where a player was right with more and more nodes, each time anew.

    Args:
        found: Disagreements; those without a verdict for one player are left out.
        network: It searches.
        nodes: Nodes of the searches, 2 or more: the first is the position itself.
        scale_cp: Centipawns of its win rates; None: the network's own values.
        listener: Hears of the progress.

    Raises:
        ValueError: No position has a verdict, or there are no nodes.
        EvaluatorError: The network failed.
    """
    chosen = [each for each in found if each.right is not None]
    steps = tuple(sorted(set(nodes)))
    if not chosen or not steps:
        raise InvalidValueError("there is nothing to search: no nodes, or no position where one player was right")
    if steps[0] < 2:
        raise InvalidValueError(f"a search that finds a move takes 2 nodes or more, not {steps[0]}")
    scale = scale_cp or network.settings.eval_coef
    moves: list[tuple[str | None, ...]] = []
    rates: list[tuple[float, ...]] = []
    for number, most in enumerate(steps):
        listener.progress("searching", number, len(steps))
        with ExitStack() as stack:
            labellers = open_labellers(network, LabelSettings(nodes=most), None, stack)
            ready = label_in_order(labellers, [each.position() for each in chosen])
            labels = [label for part in ready for label in part]
        moves.append(tuple(None if label.best is None else label.best.usi() for label in labels))
        rates.append(tuple(_win_rate(label, scale) for label in labels))
    listener.progress("searching", len(steps), len(steps))
    return Solved(chosen, steps, tuple(moves), tuple(rates))


def _win_rate(label: Label, scale: float) -> float:
    if label.best is None:
        return 0.5
    return float(label.eval_cp > 0) if abs(label.eval_cp) >= MATE_CP else win_rate_of(label.eval_cp, scale)


def right_move(found: Disagreement) -> str | None:
    """Best move of the player who was right."""
    return None if found.right is None else found.right.move


def has_own_move(found: Disagreement) -> bool:
    """True if the player who was right has another best move than the one who was wrong."""
    return found.right is not None and found.wrong is not None and found.right.move != found.wrong.move


def is_on_right_side(found: Disagreement, win_rate: float) -> bool:
    """True if a win rate is nearer to that of the player who was right, in logits."""
    right, wrong = found.right, found.wrong
    assert right is not None
    assert wrong is not None
    return (win_rate > halfway(right.win_rate, wrong.win_rate)) == (right.win_rate > wrong.win_rate)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _standard_error(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    mean = sum(values) / len(values)
    return sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
