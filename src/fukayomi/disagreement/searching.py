"""What players think of positions: searches as resumable jobs, one file of labels for each player."""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from fukayomi._native import MATE_CP, encode_hcp
from fukayomi.data.convert.blocks import VerbError
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.hcpe3 import read_hcpe3
from fukayomi.disagreement.games import Outcomes, Scales, fitted, scale_of
from fukayomi.disagreement.model import GamePosition, View, win_rate_of
from fukayomi.disagreement.settings import DisagreementError, DisagreementSettings, Kind, PlayerSettings
from fukayomi.engine.evaluators.backends.machine import usable_cpus
from fukayomi.engine.network import Network
from fukayomi.files.atomic import replace_file
from fukayomi.files.inputs import read_input
from fukayomi.learning.labelling.labelling import label_positions, open_labellers
from fukayomi.learning.labelling.settings import LabelError, LabelSettings, Plies
from fukayomi.listener import Forwarder, Listener
from fukayomi.shogi import BLACK, Move
from fukayomi.usi.client import UNDECLARED
from fukayomi.usi.engine import UsiEngine

POSITIONS_NAME = "positions.sfen"
LARGEST_LIST = 4 << 30
"""Bytes."""
NAMES = ("a", "b")


@dataclass(frozen=True, slots=True)
class Said:
    """What a search says."""

    score_cp: int
    """Centipawns from the side to move; ±30000 is a mate."""
    move: str
    """Best move in USI."""


@contextmanager
def opened(player: PlayerSettings) -> Generator[UsiEngine | Network]:
    """The player as what searches: a network without a cache, so that the same search finds the same again."""
    if player.network is None:
        yield UsiEngine(list(player.command), options=player.options, directory=player.directory)
    else:
        with Network(player.network, cache_mb=0) as network:
            yield network


def check_players(players: tuple[PlayerSettings, PlayerSettings]) -> None:
    """Start both players and end them, to see whether they work.

    Raises:
        DisagreementError: An engine does not start, or does not declare an option.
        ValueError: There is no such network.
        EvaluatorError: A network failed.
    """
    for name, player in zip(NAMES, players, strict=True):
        with _naming(name), opened(player) as engine, ExitStack() as stack:
            open_labellers(engine, _limits(player, 1), 1, stack)


@contextmanager
def _naming(name: str) -> Generator[None]:
    """Names the player in errors of its engine."""
    try:
        yield
    except LabelError as error:
        raise DisagreementError(f"player {name}: {str(error).removesuffix(UNDECLARED)}") from error
    except VerbError as error:
        raise DisagreementError(f"player {name} answers none of the positions: {error}") from error


def search(
    positions: Sequence[GamePosition],
    players: tuple[PlayerSettings, PlayerSettings],
    folder: Path,
    *,
    times: int,
    concurrency: int | None,
    listener: Listener,
) -> list[tuple[Said | None, Said | None]]:
    """Search positions with both players. A kill costs the searches in flight; finished ones stay in the folder.

    Args:
        positions: All of them different.
        players: a and b.
        folder: It gets the positions and a file of labels (hcpe3) for each player.
        times: Factor of the limits.
        concurrency: Searches at once; None: an engine on each processor core, and as many searches of a network as its
            batches hold.
        listener: Hears of the progress.

    Returns:
        For each position what a and b say; None: no answer.

    Raises:
        DisagreementError: An engine does not work.
        EvaluatorError: A network failed.
        OSError: A file cannot be read or written.
    """
    if not positions:
        return []
    folder.mkdir(exist_ok=True)
    listed, content = folder / POSITIONS_NAME, "".join(f"{position.line}\n" for position in positions).encode()
    if not listed.exists():
        replace_file(listed, content)
    elif read_input(listed, LARGEST_LIST) != content:
        raise DisagreementError(f"{listed} has other positions; remove {folder}, and they are searched again")
    keys = [encode_hcp(position.position()) for position in positions]
    found: list[dict[bytes, Said]] = []
    for name, player in zip(NAMES, players, strict=True):
        out = folder / f"{name}.hcpe3"
        if not out.exists():
            with _naming(name), opened(player) as engine:
                label_positions(
                    [listed], out, engine, _limits(player, times),
                    workers=concurrency or (None if isinstance(engine, Network) else usable_cpus()),
                    listener=_Stage(listener, f"{folder.name} {name}"),
                )  # fmt: skip
        found.append(_answers(out))
    return [(found[0].get(key), found[1].get(key)) for key in keys]


def _limits(player: PlayerSettings, times: int) -> LabelSettings:
    clock = player.clock
    return LabelSettings(
        nodes=times * clock.nodes[0] if clock.nodes else None,
        time_ms=None if clock.movetime_ms is None else times * clock.movetime_ms,
        byoyomi_ms=times * clock.byoyomi_ms if player.is_by_byoyomi else None,
        multipv=1 if player.network is None else None,
        plies=Plies.LAST,
    )


class _Stage(Forwarder):
    """Names the stages of a job by the search."""

    def __init__(self, listener: Listener, name: str) -> None:
        super().__init__(listener)
        self._name = name

    def progress(self, stage: str, done: int, total: int | None) -> None:
        self._listener.progress(self._name if stage == "labelling" else f"{self._name}: {stage}", done, total)


def _answers(path: Path) -> dict[bytes, Said]:
    """By position (hcp): what a file of labels says."""
    found: dict[bytes, Said] = {}
    remedy = f"remove {path}, and the positions are searched again"
    try:
        for games in read_hcpe3(path):
            for game in games:
                if len(game.moves):
                    found[game.start] = Said(int(game.evals[0]), Move.from_raw(int(game.moves[0])).usi())
    except DataFileError as error:
        raise DisagreementError(f"{error}. Or {remedy}") from error
    if not found:
        raise DisagreementError(f"{path} is empty: {remedy}")
    return found


def scales_of(positions: Sequence[GamePosition], said: Sequence[tuple[Said | None, Said | None]]) -> dict[str, float]:
    """The scales of the two players, by what they said and the results of the games."""
    outcomes = {name: Outcomes() for name in NAMES}
    for position, answers in zip(positions, said, strict=True):
        if position.black_points is None:
            continue
        is_black = position.position().turn == BLACK
        half = round(2 * (position.black_points if is_black else 1 - position.black_points))
        for name, answer in zip(NAMES, answers, strict=True):
            if answer is not None:
                outcomes[name].add("", answer.score_cp, half)
    return fitted(outcomes)


def views(said: tuple[Said | None, Said | None], scales: Scales) -> tuple[View, View] | None:
    """The answers as views; None if one is missing, or one player has found a mate."""
    found: list[View] = []
    for name, answer in zip(NAMES, said, strict=True):
        if answer is None or abs(answer.score_cp) >= MATE_CP:
            return None
        rate = win_rate_of(answer.score_cp, scale_of(scales, name))
        found.append(View(player=name, score_cp=answer.score_cp, win_rate=rate, move=answer.move))
    return found[0], found[1]


def disagree(position: GamePosition, settings: DisagreementSettings) -> bool:
    """True if the views of a position are a disagreement of the kind that is wanted."""
    if position.a is None or position.b is None:
        raise DisagreementError(f"{position.line}: nobody has judged it")
    gap = abs(position.gap) >= settings.gap
    move = position.a.move != position.b.move
    return {Kind.GAP: gap, Kind.MOVE: move, Kind.BOTH: gap and move, Kind.EITHER: gap or move}[settings.kind]
