"""Start positions for matches and self-play: the disagreements, what came before them, and the siblings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fukayomi._native import encode_hcp
from fukayomi.disagreement.games import share
from fukayomi.disagreement.model import Disagreement, Verdict
from fukayomi.engine.network import Network
from fukayomi.files.atomic import replace_file
from fukayomi.shogi import Move, Position

EARLIER = {1: 0.5, 2: 0.25, 4: 0.12}
"""Weights of the positions so many plies before a disagreement."""
SIBLINGS = 8
"""Most other moves of a disagreement that the policy likes as much as the move played."""
COPIES = 8
"""Copies of a position of weight 1 in a .hcp file, which has no weights."""
BATCH = 256
_TAKEN = frozenset({Verdict.A_BLIND, Verdict.B_BLIND, Verdict.UNJUDGED})


@dataclass(frozen=True, slots=True)
class Start:
    """A start position."""

    line: str
    """In USI, with the moves that lead to it."""
    weight: float
    """How often it is taken, beside the others."""
    origin: str
    """What it is: disagreement, before (the position so many plies before), or sibling (after another move)."""
    game_key: str


def is_held_out(found: Disagreement, held_out: float, seed: int) -> bool:
    """True if the game of a position belongs to those that are held out."""
    return share(f"held out {seed} {found.game_key}") < held_out


def starts(found: Sequence[Disagreement], policy: Network) -> list[Start]:
    """The start positions that disagreements give: of those where one player was wrong, or that were not judged.

    A position that is given twice has the larger weight.

    Args:
        found: The disagreements.
        policy: Its policy chooses the siblings: the moves that it likes at least as much as the move played.
    """
    chosen = [each for each in found if each.verdict in _TAKEN]
    best: dict[str, Start] = {}
    for each in chosen:
        _add(best, each.position(), 1.0, "disagreement", each.game_key)
        for plies, weight in EARLIER.items():
            position = each.position()
            if plies <= len(position.moves):
                for _ in range(plies):
                    position.pop()
                _add(best, position, weight, f"{plies} before", each.game_key)
    for begin in range(0, len(chosen), BATCH):
        part = chosen[begin : begin + BATCH]
        for each, moves in zip(part, _siblings(part, policy), strict=True):
            for move in moves:
                position = each.position()
                position.push(move)
                if position.legal_moves:
                    _add(best, position, 1.0, "sibling", each.game_key)
    return list(best.values())


def _add(best: dict[str, Start], position: Position, weight: float, origin: str, game_key: str) -> None:
    key = position.sfen().rpartition(" ")[0]
    if key not in best or best[key].weight < weight:
        best[key] = Start(position.usi(), weight, origin, game_key)


def _siblings(found: Sequence[Disagreement], policy: Network) -> Iterable[list[Move]]:
    """For each disagreement the moves that the policy likes at least as much as the one that was played there, or as
    the best move of the player who was wrong."""
    for each, moves in zip(found, policy.evaluate([each.position() for each in found]).policies, strict=True):
        wrong = each.wrong
        text = each.played or (None if wrong is None else wrong.move)
        if text is None:
            yield []
            continue
        played = Move.from_usi(text)
        least = moves.get(played, 1.0)
        yield [move for move, probability in moves.items() if probability >= least and move != played][:SIBLINGS]


def write_starts(found: Sequence[Start], path: Path) -> None:
    """Write start positions twice: lines in USI with their weights as comments (.sfen), and as .hcp, where a position
    is repeated by its weight.

    Args:
        found: The positions.
        path: The file without its ending.

    Raises:
        OSError: A file cannot be written.
    """
    lines = [f"{start.line}  # weight {start.weight:g}, {start.origin}\n" for start in found]
    replace_file(path.with_suffix(".sfen"), "".join(lines).encode())
    packed = [encode_hcp(Position.from_usi(start.line)) * max(1, round(COPIES * start.weight)) for start in found]
    replace_file(path.with_suffix(".hcp"), np.frombuffer(b"".join(packed), np.uint8).tobytes())
