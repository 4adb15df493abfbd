"""Gumbel AlphaZero's root in Python, as the paper writes it, above a tree that follows PUCT.

Danihelka, Guez, Schrittwieser, Silver, "Policy improvement by planning with Gumbel", ICLR 2022. Nothing is proven here.
"""

import math

from puct_model import Branch, Model

from fukayomi._native import Move, Position, SearchParams

MASK = 2**64 - 1


def considered_visits(moves: int, simulations: int) -> list[int]:
    """How many visits the move of each simulation has before it: sequential halving, as mctx tabulates it."""
    if moves == 1:
        return list(range(simulations))
    halvings = math.ceil(math.log2(moves))
    visits = [0] * moves
    found: list[int] = []
    left = moves
    while len(found) < simulations:
        for _ in range(max(1, simulations // (halvings * left))):
            found += visits[:left]
            visits[:left] = [n + 1 for n in visits[:left]]
        left = max(2, left // 2)
    return found[:simulations]


def mix64(x: int) -> int:
    """The finaliser of splitmix64."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def gumbel_variable(seed: int, position: Position, move: Move) -> float:
    """The variable that the search draws for a move of the root (not of a drop)."""
    assert move.from_square is not None
    number = (move.from_square * 81 + move.to_square) * 2 + move.is_promotion
    state = mix64((seed + mix64((position.key + number) & MASK)) & MASK)
    bits = mix64((state + 0x9E3779B97F4A7C15) & MASK) >> 12
    return -math.log(-math.log((bits + 0.5) * 2.0**-52))


class GumbelModel(Model):
    """A search of one root with a number of simulations."""

    def __init__(self, position: Position, params: SearchParams, simulations: int) -> None:
        super().__init__(position, params)
        self.simulations = simulations
        self.visit()  # evaluates the root
        self.variables = {
            usi: params.gumbel_scale * gumbel_variable(params.seed, position, Move.from_usi(usi))
            for usi in self.root.branches
        }
        self.considered: list[str] = []
        self._next = ""

    def choose(self, branch: Branch, *, is_root: bool) -> str:
        """See `Model`: at the root the move that halving visits."""
        return self._next if is_root else super().choose(branch, is_root=False)

    def run(self) -> None:
        """All simulations."""
        moves = list(self.root.branches)
        sampled = sorted(moves, key=lambda move: self.variables[move] + self.logit(move), reverse=True)
        self.considered = sampled[: min(self.params.gumbel_moves, self.simulations)]
        halvings = max(1, math.ceil(math.log2(len(self.considered))))
        left = self.simulations
        while True:
            for _ in range(max(1, self.simulations // (halvings * len(self.considered)))):
                for move in self.considered:
                    if left == 0:
                        return
                    self._next = move
                    self.visit()
                    left -= 1
            if left == 0:
                return
            self.considered = self.ranked()[: max(2, len(self.considered) // 2)]

    def logit(self, move: str) -> float:
        return math.log(self.root.branches[move].prior)

    def completed_q(self) -> dict[str, float]:
        """Win probabilities: the mean of the visits, or the mixed value."""
        visited = {move: part for move, part in self.root.branches.items() if part.values}
        count = sum(len(part.values) for part in visited.values())
        means = {move: sum(part.values) / len(part.values) for move, part in visited.items()}
        own = 1.0 - self.root.values[0]
        mixed = own
        if visited:
            prior = sum(part.prior for part in visited.values())
            mixed = (own + count / prior * sum(visited[move].prior * means[move] for move in visited)) / (1 + count)
        return {move: means.get(move, mixed) for move in self.root.branches}

    def improved_logits(self) -> dict[str, float]:
        most = max(len(part.values) for part in self.root.branches.values())
        scale = (self.params.gumbel_c_visit + most) * self.params.gumbel_c_scale
        return {move: self.logit(move) + scale * (2 * q - 1) for move, q in self.completed_q().items()}

    def ranked(self) -> list[str]:
        """The considered moves, best first."""
        logits = self.improved_logits()
        return sorted(self.considered, key=lambda move: self.variables[move] + logits[move], reverse=True)

    def improved_policy(self) -> dict[str, float]:
        logits = self.improved_logits()
        highest = max(logits.values())
        odds = {move: math.exp(logit - highest) for move, logit in logits.items()}
        return {move: each / sum(odds.values()) for move, each in odds.items()}
