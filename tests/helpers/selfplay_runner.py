"""What the tests of self-play share: driving a pool, what listeners hear, and networks that need no file."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest

from fukayomi._native import (
    FinishedGame,
    HashEvaluator,
    SearchParams,
    SelfplayParams,
    SelfplayPool,
    decode_hcpe3,
    encode_position,
)
from fukayomi.engine.evaluators.protocol import PlaneSlot, Slot
from fukayomi.selfplay import ChunkInfo, GameSummary, SelfplayListener, SelfplaySettings, generate
from fukayomi.shogi import Move, Position

SHORT = SelfplaySettings(playouts=4, max_move=24, out_max_move=True, chunk_games=4)
HASH = "<hash>"


class Network(Protocol):
    """What answers batches."""

    def run(self, slot: PlaneSlot, n: int) -> None: ...


class Hash:
    """The native hash evaluator."""

    def __init__(self, seed: int = 0) -> None:
        self._native = HashEvaluator(seed)

    def run(self, slot: PlaneSlot, n: int) -> None:
        self._native.run(slot.input, n, slot.logits, slot.values)


class Script:
    """Prefers the moves of a line, whenever its positions come up; all positions have the same value.

    Args:
        opening: Where the line begins.
        moves: In USI.
        value: Win probability of the side to move.
    """

    def __init__(self, opening: Position, moves: Sequence[str], value: float = 0.5) -> None:
        self._labels: dict[bytes, int] = {}
        self._value = value
        position = Position.from_usi(opening.usi())
        for usi in moves:
            move = Move.from_usi(usi)
            self._labels.setdefault(_key(position), position.policy_label(move))
            position.push(move)

    def run(self, slot: PlaneSlot, n: int) -> None:
        for row in range(n):
            slot.logits[row] = 0.0
            key = slot.input.planes1[row].tobytes() + slot.input.planes2[row].tobytes()
            labels = slot.input.labels[row, : slot.input.counts[row]].tolist()
            if self._labels.get(key) in labels:
                slot.logits[row, labels.index(self._labels[key])] = 30.0
            slot.values[row] = self._value


def _key(position: Position) -> bytes:
    planes1, planes2 = encode_position(position)
    return planes1.tobytes() + planes2.tobytes()


def selfplay_params(**values: object) -> SelfplayParams:
    """Parameters for games that are over soon."""
    params = SelfplayParams()
    for name, value in {"playouts": 24, "max_move": 60, **values}.items():
        setattr(params, name, value)
    return params


def search_params(**values: object) -> SearchParams:
    """Parameters of the trees."""
    params = SearchParams()
    for name, value in values.items():
        setattr(params, name, value)
    return params


def drive(
    pool: SelfplayPool,
    batch: int = 4,
    networks: Sequence[Network] | None = None,
    answer: Callable[[int, Position], Move | None] | None = None,
) -> list[FinishedGame]:
    """Play all games of a pool; networks[k] is network k, and `answer` the other program."""
    slot = PlaneSlot.zeros(batch)
    games: list[FinishedGame] = []
    while pool.playing:
        for share in range(pool.shares):
            for network, evaluator in enumerate(networks or [Hash()]):
                n = pool.gather(share, slot.input, batch, network)
                evaluator.run(slot, n)
                pool.apply(share, slot.logits, slot.values, network)
        for game in pool.take_waiting():
            assert answer is not None
            assert pool.answer(game.index, answer(game.index, game.position))
        games += pool.take_finished()
    return games


def scripted(opening: Position, moves: Sequence[str], **values: object) -> FinishedGame:
    """The game in which both sides play the moves of a list."""
    params = selfplay_params(**{"playouts": 1, "random": 0, "threshold": 1.0, **values})
    pool = SelfplayPool(params, search_params(leaf_mate_plies=0), 1)
    pool.add(7, opening)
    (game,) = drive(pool, 1, [Script(opening, moves)])
    return game


class Decoded:
    """A game as its bytes have it."""

    def __init__(self, game: FinishedGame) -> None:
        found = decode_hcpe3(np.frombuffer(game.data, np.uint8), True)
        assert not found.damages
        assert len(found.results) == 1
        self.start = found.starts[0].tobytes()
        self.result = int(found.results[0])
        self.opponent = int(found.opponents[0])
        self.moves = found.moves.tolist()
        self.evals = found.evals.tolist()
        ends = found.candidates.tolist()
        pairs = list(zip(found.candidate_moves.tolist(), found.candidate_visits.tolist(), strict=True))
        self.candidates = [dict(pairs[begin:end]) for begin, end in pairwise(ends)]
        self.hcps = [row.tobytes() for row in found.hcps]


class Heard(SelfplayListener):
    """Notes what it hears."""

    def __init__(self) -> None:
        self.games: list[GameSummary] = []
        self.chunks: list[Path] = []
        self.notes: list[str] = []
        self.ends = 0

    def note(self, text: str) -> None:
        self.notes.append(text)

    def game(self, game: GameSummary) -> None:
        self.games.append(game)

    def chunk(self, path: Path, info: ChunkInfo) -> None:
        self.chunks.append(path)

    def ended(self) -> None:
        self.ends += 1


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file() and path.suffix != ".lock"
    }


class HashNetwork:
    """The hash evaluator with another seed, behind the protocol of evaluators."""

    identity, batch_size, slots = "hash-9", 4, 1

    def __init__(self) -> None:
        self._hash = Hash(9)

    def allocate(self, capacity: int) -> PlaneSlot:
        return PlaneSlot.zeros(capacity)

    def run(self, slot: Slot, n: int) -> None:
        assert isinstance(slot, PlaneSlot)
        self._hash.run(slot, n)

    def close(self) -> None: ...


def journal_of(settings: SelfplaySettings, folder: Path, games: int) -> Path:
    """A journal with some games, of a run that was killed when they were over."""

    class Stop(SelfplayListener):
        def game(self, game: GameSummary) -> None:
            if len(list(folder.glob("*.games"))) and game.number == games - 1:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(settings, HASH, folder, games=games, parallel=1, listener=Stop())
    return folder / "selfplay-000001.games"
