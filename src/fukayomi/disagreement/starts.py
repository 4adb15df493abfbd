"""Start positions for matches and self-play: the disagreements, what came before them, and the siblings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fukayomi._native import encode_hcp
from fukayomi.disagreement.games import share
from fukayomi.disagreement.model import Disagreement, Verdict
from fukayomi.engine.network import Network
from fukayomi.files.atomic import replace_file
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi import Move, Position

EARLIER = {1: 0.5, 2: 0.25, 4: 0.12}
"""Weights of the positions before a disagreement, by plies before it."""
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
    """Frequency with which it should be played, relative to the others."""
    origin: str
    """What it is: disagreement, 1 before, 2 before or 4 before (plies), or sibling (after another move)."""
    game_key: str
    hcp: bytes
    """The position as Huffman code, 32 bytes."""


def is_held_out(found: Disagreement, held_out: float, seed: int) -> bool:
    """True if the game of a position belongs to those that are held out."""
    return share(f"held out {seed} {found.game_key}") < held_out


def starts(found: Sequence[Disagreement], policy: Network, *, listener: Listener = SILENT) -> list[Start]:
    """The start positions that disagreements give: of those where one player was wrong, or that were not judged.

    A position that is given twice has the larger weight.

    Args:
        found: The disagreements.
        policy: Its policy chooses the siblings: the moves that it likes at least as much as the move played.
        listener: Hears of the progress.
    """
    chosen = [each for each in found if each.verdict in _TAKEN]
    best: dict[bytes, Start] = {}
    for begin in range(0, len(chosen), BATCH):
        listener.progress("start positions", begin, len(chosen))
        part = chosen[begin : begin + BATCH]
        policies = policy.evaluate([each.position() for each in part]).policies
        for each, probabilities in zip(part, policies, strict=True):
            _add_all(best, each, _siblings(each, probabilities))
    listener.progress("start positions", len(chosen), len(chosen))
    return list(best.values())


def _add_all(best: dict[bytes, Start], found: Disagreement, siblings: Sequence[Move]) -> None:
    """Add the start positions of a disagreement."""
    position = found.position()
    _add(best, position, 1.0, "disagreement", found.game_key)
    for move in siblings:
        position.push(move)
        if position.legal_moves:
            _add(best, position, 1.0, "sibling", found.game_key)
        position.pop()
    for plies in range(1, min(max(EARLIER), len(position.moves)) + 1):
        position.pop()
        if plies in EARLIER:
            _add(best, position, EARLIER[plies], f"{plies} before", found.game_key)


def _add(best: dict[bytes, Start], position: Position, weight: float, origin: str, game_key: str) -> None:
    hcp = encode_hcp(position)
    if hcp not in best or best[hcp].weight < weight:
        best[hcp] = Start(position.usi(), weight, origin, game_key, hcp)


def _siblings(found: Disagreement, policy: Mapping[Move, float]) -> list[Move]:
    """The moves that the policy likes at least as much as the one that was played, or as the best move of the player
    who was wrong."""
    text = found.played or (None if found.wrong is None else found.wrong.move)
    if text is None:
        return []
    played = Move.from_usi(text)
    least = policy.get(played, 1.0)
    return [move for move, probability in policy.items() if probability >= least and move != played][:SIBLINGS]


def write_starts(found: Sequence[Start], path: Path) -> None:
    """Write start positions twice: as lines in USI, each below a comment with its weight (.sfen), and as .hcp, where a
    position is repeated by its weight.

    Args:
        found: The positions.
        path: The file without its ending.

    Raises:
        OSError: A file cannot be written.
    """
    lines = [f"# weight {start.weight:g}, {start.origin}\n{start.line}\n" for start in found]
    replace_file(path.with_suffix(".sfen"), "".join(lines).encode())
    packed = [start.hcp * max(1, round(COPIES * start.weight)) for start in found]
    replace_file(path.with_suffix(".hcp"), b"".join(packed))
