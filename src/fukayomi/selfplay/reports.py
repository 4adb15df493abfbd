"""Listeners that write about a run: dlshogi's log lines, JSON lines, curves for TensorBoard."""

# pyright: reportUnknownMemberType=false

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from fukayomi.selfplay.chunk import ChunkInfo
from fukayomi.selfplay.journal import GameSummary
from fukayomi.selfplay.listener import SelfplayListener, SelfplayProgress, SelfplayRun

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

LOG_S = 10.0
"""Seconds between two log lines, as in dlshogi."""
CURVE_S = 30.0
"""Seconds between two points of a curve."""


class LogLines(SelfplayListener):
    """Writes the log lines of dlshogi's self-play: one now and then, and one at the end.

    Their "nodes" are positions with targets, and "nyugyoku" (入玉) are declaration wins.

    Args:
        write: Takes a line.
        interval_s: Seconds between two lines.
        now: The time, for tests.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        interval_s: float = LOG_S,
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        self._write, self._interval_s, self._now = write, interval_s, now
        self._last_s = time.monotonic()
        self._state: SelfplayProgress | None = None
        self._devices = 1

    def started(self, run: SelfplayRun) -> None:
        self._devices = run.devices

    def note(self, text: str) -> None:
        self._line(text, "warning")

    def state(self, state: SelfplayProgress) -> None:
        self._state = state
        if time.monotonic() - self._last_s >= self._interval_s:
            self._last_s = time.monotonic()
            self._line(progress_line(state, self._devices))

    def ended(self) -> None:
        if self._state is not None:
            self._line(final_line(self._state))

    def _line(self, text: str, level: str = "info") -> None:
        stamp = self._now().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        self._write(f"[{stamp}] [{level}] {text}")


def progress_line(state: SelfplayProgress, devices: int = 1) -> str:
    """dlshogi's line about a run that goes on, without date and level."""
    games, wins, draws = _opponents(state)
    remaining = state.remaining_s
    return (
        f"Progress:{100 * state.done:.2f}%, nodes:{state.positions}, nodes/sec:{state.positions_per_s:.2f}, "
        f"games:{state.games}, draw:{state.draws}, nyugyoku:{state.reasons.get('declaration', 0)}, "
        f"ply/game:{state.plies / max(1, state.kept):.2f}, "
        f"playouts/node:{state.playouts / max(1, state.searches):.2f} "
        f"gpu id:{' '.join(map(str, range(devices)))}, usi_games:{games}, usi_win:{wins}, usi_draw:{draws}, "
        f"Elapsed:{state.elapsed_s:.0f}[s], Remaining:{0 if remaining is None else remaining:.0f}[s]"
    )


def final_line(state: SelfplayProgress) -> str:
    """dlshogi's last line. A draw is left out of the win rate."""
    games, wins, draws = _opponents(state)
    rate = f", usi_winrate:{100 * wins / (games - draws):.2f}%" if games > draws else ""
    return (
        f"Made {state.positions} teacher nodes in {state.elapsed_s:.0f} seconds. games:{state.games}, "
        f"draws:{state.draws}, ply/game:{state.plies / max(1, state.kept):.4f}, usi_games:{games}, usi_win:{wins}, "
        f"usi_draw:{draws}{rate}"
    )


def _opponents(state: SelfplayProgress) -> tuple[int, int, int]:
    """Games against others, wins of the network that learns, draws."""
    counts = list(state.opponents.values()) or [[0, 0, 0]]
    games, wins, draws = map(sum, zip(*counts, strict=True))
    return games, wins, draws


def state_dict(state: SelfplayProgress) -> dict[str, Any]:
    """The counts and rates of a run, for programs."""
    return asdict(state) | {
        "positions_per_s": state.positions_per_s,
        "games_per_hour": state.games_per_hour,
        "remaining_s": state.remaining_s,
    }


class JsonLines(SelfplayListener):
    """Appends ``NAME.jsonl``: an object for each game, each chunk, and now and then the state of the run.

    Args:
        path: The file.
        interval_s: Seconds between two states.
    """

    def __init__(self, path: Path | str, interval_s: float = CURVE_S) -> None:
        self._path, self._interval_s = Path(path), interval_s
        self._file: TextIO | None = None
        self._last_s = -1e9
        self._state: SelfplayProgress | None = None

    def started(self, run: SelfplayRun) -> None:
        self._file = self._path.open("a", encoding="utf-8")
        self._write("run", {**asdict(run), "out": str(run.out)})

    def game(self, game: GameSummary) -> None:
        self._write("game", asdict(game))

    def chunk(self, path: Path, info: ChunkInfo) -> None:
        self._write(
            "chunk", {"file": path.name, "games": info.games, "positions": info.positions, "sha256": info.sha256}
        )

    def note(self, text: str) -> None:
        self._write("note", text)

    def state(self, state: SelfplayProgress) -> None:
        self._state = state
        if time.monotonic() - self._last_s >= self._interval_s:
            self._last_s = time.monotonic()
            self._write("state", state_dict(state))

    def ended(self) -> None:
        if self._state is not None:
            self._write("state", state_dict(self._state))
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, kind: str, value: Any) -> None:
        if self._file is not None:
            self._file.write(json.dumps({kind: value}, ensure_ascii=False) + "\n")
            self._file.flush()


class TensorBoard(SelfplayListener):
    """Writes curves over the number of games: speed, lengths, results, wrong resignations.

    Args:
        folder: Where TensorBoard looks for them.
        interval_s: Seconds between two points.
    """

    def __init__(self, folder: Path | str, interval_s: float = CURVE_S) -> None:
        self._folder, self._interval_s = Path(folder), interval_s
        self._writer: SummaryWriter | None = None
        self._last_s = -1e9
        self._state: SelfplayProgress | None = None

    def started(self, run: SelfplayRun) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(self._folder))

    def state(self, state: SelfplayProgress) -> None:
        self._state = state
        if time.monotonic() - self._last_s >= self._interval_s:
            self._point(state)

    def ended(self) -> None:
        if self._writer is not None:
            if self._state is not None:
                self._point(self._state)
            self._writer.close()

    def _point(self, state: SelfplayProgress) -> None:
        self._last_s = time.monotonic()
        if self._writer is None or state.games == 0:
            return
        values = {
            "positions_per_s": state.positions_per_s,
            "plies_a_game": state.plies / max(1, state.kept),
            "playouts_a_move": state.playouts / max(1, state.searches),
            "draws": state.draws / state.games,
            "black_wins": state.black_wins / state.games,
            **{reason: count / state.games for reason, count in state.reasons.items()},
        }
        if state.played_out:
            values["wrong_resignations"] = state.wrong_resignations / state.played_out
        for name, (games, wins, draws) in state.opponents.items():
            if games > draws:
                values[f"win_rate/{name}"] = wins / (games - draws)
        for name, value in values.items():
            self._writer.add_scalar(f"selfplay/{name}", value, state.games)
