"""Interface for the reports of generating games."""

from dataclasses import dataclass, field
from pathlib import Path

from fukayomi.listener import Forwarder, Listener
from fukayomi.selfplay.chunk import ChunkInfo
from fukayomi.selfplay.journal import GameSummary


@dataclass(frozen=True)
class SelfplayRun:
    """Description of the games that are about to be generated."""

    out: Path
    """Folder of the chunks."""
    games: int | None
    """Games to play, those that other processes have played before included; None: as many as the positions take."""
    positions: int | None
    """Positions with targets to make; None: no number."""
    parallel: int
    """Games at once."""
    devices: int
    network: str
    """Its name."""


@dataclass(slots=True)
class SelfplayProgress:
    """Counts of a run so far. Those of games include what was there when the run was resumed."""

    games: int = 0
    """Games that are over."""
    kept: int = 0
    """Games that are written."""
    positions: int = 0
    """Positions with targets in them."""
    plies: int = 0
    """Moves in them."""
    black_wins: int = 0
    white_wins: int = 0
    draws: int = 0
    reasons: dict[str, int] = field(default_factory=dict[str, int])
    """Games by how they ended."""
    searches: int = 0
    """Moves that were searched for."""
    playouts: int = 0
    evaluations: int = 0
    played_out: int = 0
    """Games in which a side would have resigned, but played on."""
    wrong_resignations: int = 0
    """Of these, how many that side did not lose."""
    opponents: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """By opponent: games, wins of the network that learns, draws."""
    done: float = 0.0
    """Share of the run that is done, 0 to 1."""
    begun: float = 0.0
    """Share that was done when this process began."""
    playing: int = 0
    """Games that are being played now."""
    elapsed_s: float = 0.0
    """Since this process began."""
    new_positions: int = 0
    """Positions of this process alone, for rates."""
    new_playouts: int = 0
    new_games: int = 0

    @property
    def positions_per_s(self) -> float:
        return self.new_positions / max(self.elapsed_s, 1e-9)

    @property
    def games_per_hour(self) -> float:
        return 3600 * self.new_games / max(self.elapsed_s, 1e-9)

    @property
    def remaining_s(self) -> float | None:
        """At the rate so far; None if nothing is known yet."""
        new = self.done - self.begun
        return self.elapsed_s * (1 - self.done) / new if new > 0 and self.new_games else None

    def add_chunk(self, info: ChunkInfo) -> None:
        """Count the games of a chunk that was there. What its sidecar does not say is left out."""
        if info.part != "with_opponents":  # the other part has counted them
            self.games += info.numbers or info.games
        self.kept += info.games
        self.positions += info.positions
        self.plies += info.plies
        self.black_wins += info.results.black_wins
        self.white_wins += info.results.white_wins
        self.draws += info.results.draws
        self.played_out += info.wrong_resignations[0]
        self.wrong_resignations += info.wrong_resignations[1]
        for reason, count in info.results.by_reason().items():
            self.reasons[reason] = self.reasons.get(reason, 0) + count
        for name, (wins, draws, losses) in info.opponents.items():
            counts = self.opponents.setdefault(name, [0, 0, 0])
            for which, count in enumerate((wins + draws + losses, wins, draws)):
                counts[which] += count

    def add(self, game: GameSummary, *, is_new: bool) -> None:
        """Count a game."""
        self.games += 1
        self.searches += game.searches
        self.playouts += game.playouts
        self.evaluations += game.evaluations
        self.played_out += game.is_played_out
        self.wrong_resignations += game.is_wrong_resignation
        self.reasons[game.reason] = self.reasons.get(game.reason, 0) + 1
        self.black_wins += game.winner == "black"
        self.white_wins += game.winner == "white"
        self.draws += game.winner is None
        if game.is_kept:
            self.kept += 1
            self.positions += game.positions
            self.plies += game.plies
        if game.opponent:
            counts = self.opponents.setdefault(game.opponent_name, [0, 0, 0])
            counts[0] += 1
            counts[1] += game.winner is not None and game.winner != game.opponent
            counts[2] += game.winner is None
        if is_new:
            self.new_games += 1
            self.new_playouts += game.playouts
            self.new_positions += game.positions if game.is_kept else 0


class SelfplayListener(Listener):
    """Follows the generation of games. Every method does nothing: override those you need.

    >>> class Lengths(SelfplayListener):
    ...     def game(self, game):
    ...         print(game.number, game.plies, game.reason)
    """

    def started(self, run: SelfplayRun) -> None:
        """Called before the first game."""

    def game(self, game: GameSummary) -> None:
        """Called after each game of this process."""

    def state(self, state: SelfplayProgress) -> None:
        """Called about twice a second, and at the end. The object changes afterwards."""

    def chunk(self, path: Path, info: ChunkInfo) -> None:
        """Called after a chunk was written."""

    def ended(self) -> None:
        """Called once after `started`, when the run ends, is stopped, or fails."""


SILENT = SelfplayListener()
"""Reports nothing; the default."""


class PlainListener(Forwarder, SelfplayListener):
    """Tells a listener of no particular kind how far the run is."""

    def __init__(self, listener: Listener) -> None:
        super().__init__(listener)
        self._run: SelfplayRun | None = None

    def started(self, run: SelfplayRun) -> None:
        self._run = run

    def state(self, state: SelfplayProgress) -> None:
        assert self._run is not None
        done, total = (state.games, self._run.games) if self._run.games else (state.positions, self._run.positions)
        self._listener.progress("self-play", done, total)
