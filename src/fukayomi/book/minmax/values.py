"""Min-max over positions that may lead back to themselves (千日手).

A line ends at a position without moves, which has a value, or with the first position that comes again: a draw, or, if
one side gave check with each of its moves in between, a loss of that side. With perfect play it makes no difference
that the rules wait for the fourth occurrence.

Positions that cannot lead back to themselves take the best value of their moves. The others are solved together, one
strongly connected component after the other, by bisection over the values that a line may end with: for each, a fixed
point tells where a side can force a line to end with at least that value. So the result does not depend on the order
of the games, and is that of an exhaustive search of all lines.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Graph:
    """Positions by number, with the moves between them."""

    maximizes: list[bool] = field(default_factory=list[bool])
    """Whether the side to move is the one whose values these are."""
    is_check: list[bool] = field(default_factory=list[bool])
    """Whether the side to move is in check: the moves that lead here gave check."""
    children: list[list[int]] = field(default_factory=list[list[int]])
    """The positions after each move."""
    values: list[float] = field(default_factory=list[float])
    """Value of a position without moves, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Solution:
    """What min-max says of each position of a graph."""

    values: list[float]
    """Value for the side that maximizes."""
    towards: list[int | None]
    """The next position, where only some of the best moves make progress and others go round."""
    component: list[int]
    """Number of the strongly connected component: positions that lead to each other have the same."""


def solve(graph: Graph, draw: float) -> Solution:
    """The values of all positions.

    Args:
        graph: The positions.
        draw: Value of a draw.
    """
    count = len(graph.children)
    found = Solution([0.0] * count, [None] * count, [0] * count)
    for number, nodes in enumerate(_components(graph.children)):
        for node in nodes:
            found.component[node] = number
        if len(nodes) > 1:
            _solve_circles(graph, nodes, found, draw)
            continue
        node = nodes[0]
        best = max if graph.maximizes[node] else min
        values = [found.values[child] for child in graph.children[node]]
        found.values[node] = best(values) if values else graph.values[node]
    return found


def _components(children: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """The strongly connected components, those that lead nowhere else first (Tarjan)."""
    order = [0] * len(children)  # 0: not seen
    low = [0] * len(children)
    is_open = [False] * len(children)
    waiting: list[int] = []
    seen = 0
    for root in range(len(children)):
        if order[root]:
            continue
        path = [(root, iter(children[root]))]
        seen += 1
        order[root] = low[root] = seen
        waiting.append(root)
        is_open[root] = True
        while path:
            node, rest = path[-1]
            child = next(rest, None)
            if child is not None:
                if not order[child]:
                    seen += 1
                    order[child] = low[child] = seen
                    waiting.append(child)
                    is_open[child] = True
                    path.append((child, iter(children[child])))
                elif is_open[child]:
                    low[node] = min(low[node], order[child])
                continue
            path.pop()
            if path:
                low[path[-1][0]] = min(low[path[-1][0]], low[node])
            if low[node] == order[node]:
                nodes: list[int] = []
                while not nodes or nodes[-1] != node:
                    nodes.append(waiting.pop())
                    is_open[nodes[-1]] = False
                yield nodes


def _solve_circles(graph: Graph, nodes: list[int], found: Solution, draw: float) -> None:
    """The values of a component, whose ways out are known: what a side can force, and a draw elsewhere."""
    inside = set(nodes)
    outside = {child: found.values[child] for node in nodes for child in graph.children[node] if child not in inside}
    has_checks = any(graph.is_check[node] for node in nodes)
    for node in nodes:
        found.values[node] = draw
    for maximizer in (True, False):
        sign = 1 if maximizer else -1
        gains = {child: sign * value for child, value in outside.items()}
        ends = {
            *gains.values(),
            *([float(maximizer)] if has_checks else []),
        }  # 1, or 0: the other side's perpetual check
        levels = sorted(end for end in ends if end > sign * draw)
        for node, (level, child) in _levels(graph, nodes, gains, levels, maximizer).items():
            found.values[node], found.towards[node] = sign * levels[level] + 0.0, child  # never -0


def _levels(
    graph: Graph, nodes: list[int], gains: Mapping[int, float], levels: Sequence[float], maximizer: bool
) -> dict[int, tuple[int, int | None]]:
    """The highest level that a side can force at each position, and its move, for positions where it forces one.

    Args:
        graph: The graph.
        nodes: A component.
        gains: The gain of the side at the positions after moves that leave it.
        levels: The levels of gain, in order.
        maximizer: The side.
    """
    reached = dict.fromkeys(nodes, -1)
    towards: dict[int, int | None] = {}
    waiting = [(nodes, -1, len(levels) - 1)]
    while waiting:
        part, low, high = waiting.pop()  # the side forces level `low` there, and nothing above `high`
        if low == high:
            continue
        middle = (low + high + 1) // 2
        good = {child for child, gain in gains.items() if gain >= levels[middle]}
        good |= {node for node, level in reached.items() if level >= middle}
        forced = _forced(graph, part, good, maximizer)
        for node, child in forced.items():
            reached[node], towards[node] = middle, child
        if forced:
            waiting.append(([node for node in part if node in forced], middle, high))
        if len(forced) < len(part):
            waiting.append(([node for node in part if node not in forced], low, middle - 1))
    return {node: (level, towards[node]) for node, level in reached.items() if level >= 0}


def _forced(graph: Graph, part: list[int], good: Collection[int], maximizer: bool) -> dict[int, int | None]:
    """Where a side can force that a line leaves the part to a good position, or goes round by checks of the opponent.

    A line that stays within the part for ever has a highest kind of moves that come again and again: the opponent's
    quiet moves (bad), the side's own quiet ones (good: the opponent only gives check), checks (bad: both do). So this
    is a parity game with three priorities, which nested fixed points solve.

    Returns:
        The positions, with the next one where the side is to move.
    """
    members = set(part)
    if not any(graph.is_check[node] for node in part):
        return _attracted(graph, part, good, maximizer, None, None)
    forced: dict[int, int | None] = {}
    while True:
        largest: Collection[int] = members
        while True:
            reached = _attracted(graph, part, good, maximizer, forced, largest)
            if len(reached) == len(largest):
                break
            largest = reached
        if len(reached) == len(forced):
            return forced
        forced |= {node: child for node, child in reached.items() if node not in forced}


def _attracted(
    graph: Graph,
    part: list[int],
    good: Collection[int],
    maximizer: bool,
    after_quiet: Collection[int] | None,
    after_own: Collection[int] | None,
) -> dict[int, int | None]:
    """The least set of positions of a part where a side can force to go to good positions, or on within the set.

    Args:
        graph: The graph.
        part: The part.
        good: Positions outside the part.
        maximizer: The side.
        after_quiet: Positions that are as good after a quiet move of the opponent; None: those of the set itself.
        after_own: Positions that are as good after a quiet move of the side; None: those of the set itself.

    Returns:
        The set, with the next position where the side is to move.
    """
    members = set(part)
    reached: dict[int, int | None] = {}
    grows = True
    while grows:
        grows = False
        for node in part:
            if node in reached:
                continue
            is_own = graph.maximizes[node] == maximizer
            quiet = after_own if is_own else after_quiet
            chosen: int | None = None
            for child in graph.children[node]:
                fine = good if child not in members else reached if quiet is None or graph.is_check[child] else quiet
                if (child in fine) == is_own:  # a move that the side wants, or one that the opponent does
                    chosen = child
                    break
            if (chosen is not None) == is_own:
                reached[node] = chosen
                grows = True
    return reached
