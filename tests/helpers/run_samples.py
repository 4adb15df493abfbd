"""Folders of runs and matches as the programs leave them, made without engines and networks."""

import json
import os
from pathlib import Path
from typing import Any

import match_samples
import selfplay_chunks

from fukayomi.arena.game.openings import Opening
from fukayomi.arena.match.settings import MatchSettings, ScheduledGame, schedule
from fukayomi.arena.match.store import MatchStore
from fukayomi.loop.journal import Games, Gated, Ingested, Journal, KeptNetwork, Measured, Played, Started, Trained
from fukayomi.loop.settings import build_settings
from fukayomi.shogi.record import Result, Termination

OPENINGS = match_samples.openings_of(4)


def training_run(folder: Path, *, steps: int = 400, loss: float = 5.0, every: int = 10, **training: Any) -> Path:
    """A training run with a curve that falls, and its settings."""
    folder.mkdir(parents=True)
    values: dict[str, Any] = {"steps": 1000, "batch": 64, "lr": 0.01} | training
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    data = (folder / "games.hcpe").absolute()
    text = f'train = ["{data}"]\n\n[network]\nblocks = 2\n\n[training]\n' + "\n".join(lines) + "\n"
    (folder / "config.toml").write_text(text)
    (folder / "log.jsonl").touch()
    (folder / "times.jsonl").touch()
    return train_on(folder, every, steps, loss=loss, every=every)


def train_on(folder: Path, first: int, last: int, *, loss: float = 5.0, every: int = 10) -> Path:
    """More lines of a run, as its listener writes them."""
    with (folder / "log.jsonl").open("a") as log, (folder / "times.jsonl").open("a") as times:
        for step in range(first, last + 1, every):
            value = loss / (1 + step / 100)
            train = {"step": step, "policy_loss": value, "total_loss": 2 * value, "learning_rate": 0.01}
            log.write(json.dumps({"train": train}) + "\n")
            if step % (10 * every) == 0:
                test = {"step": step, "positions": 99, "policy_loss": 1.1 * value, "policy_accuracy": 1 / (1 + value)}
                log.write(json.dumps({"test": test}) + "\n")
            times.write(json.dumps({"step": step, "seconds": step / 4}) + "\n")
    return folder


class SampleMatch:
    """A match that is being played: `play` adds games to it. Odd games are won by Black, even ones drawn."""

    def __init__(self, folder: Path, settings: MatchSettings, openings: list[Opening] = OPENINGS) -> None:
        self.folder = folder
        self._store = MatchStore(folder, settings, openings)
        self._games = schedule(settings, openings)

    def play(self, count: int, favourite: str = "", loser: str = "") -> "SampleMatch":
        """Play the next games; the favourite wins two of three, the loser loses on time in one of two."""
        for _ in range(count):
            game: ScheduledGame = next(self._games)
            played = match_samples.play(game)
            if favourite and game.number % 3:
                played.record.result = Result.BLACK_WIN if game.black == favourite else Result.WHITE_WIN
            if loser in (game.black, game.white) and game.number % 4 in (1, 2):
                played.record.result = Result.WHITE_WIN if game.black == loser else Result.BLACK_WIN
                played.record.termination = Termination.TIME_UP
            self._store.add(game, played)
        return self

    def close(self) -> Path:
        """End the process, as far as the folder can tell."""
        self._store.close()
        return self.folder


def match(folder: Path, *names: str, games: int = 12, favourite: str = "", **fields: Any) -> Path:
    """A match that is over."""
    settings = match_samples.settings_of(*names, games=games, **fields)
    return SampleMatch(folder, settings).play(games, favourite).close()


def selfplay(folder: Path, chunks: int = 3) -> Path:
    """Chunks of two random games each, with games against an opponent; the folder is called games."""
    folder.mkdir(parents=True)
    for number in range(1, chunks + 1):
        games = selfplay_chunks.random_games(2, seed=number)
        changes: dict[str, Any] = {"opponents": {"past": (1, 0, 1)}, "wrong_resignations": (4, 1)}
        selfplay_chunks.deliver(folder.parent, games, sequence=number, **changes)
        os.utime(folder / f"w1-{number:06}.json", (1_750_000_000 + 60 * number,) * 2)
    return folder


def learning_run(folder: Path, generations: int = 3) -> Path:
    """A learning run: its journal, its matches, its learner and its chunks."""
    folder.mkdir(parents=True)
    settings = build_settings(
        {"generations": 9, "network": {"name": "resnet1x16_relu_fcl16"}, "learner": {"threads": 1}}
    )
    (folder / "run.toml").write_text(settings.text())
    journal = Journal(folder)
    journal.record(Started(network=_network(0)))
    for generation in range(1, generations + 1):
        next_generation(folder, journal, generation)
    training_run(folder / "learner", steps=100 * generations)
    selfplay(folder / "games")
    return folder


def next_generation(folder: Path, journal: Journal, generation: int) -> None:
    """One more generation, which beats the one before."""
    _generation(journal, generation)
    with (folder / "log.jsonl").open("a") as log:
        for step, seconds in (("selfplay", 60.0), ("train", 30.0)):
            log.write(json.dumps({"time": 1.0, "generation": generation, "step": step, "seconds": seconds}) + "\n")
    newest, opponent = (f"network-{number:04}" for number in (generation, generation - 1))
    match(folder / "matches" / f"strength-{generation:04}", newest, opponent, games=12, favourite=newest)


def _network(generation: int) -> KeptNetwork:
    name = f"network-{generation:04}.onnx"
    return KeptNetwork(generation=generation, file=name, sha256="0" * 64, steps=100 * generation)


def _generation(journal: Journal, generation: int) -> None:
    results = {"black_wins": 50, "white_wins": 40, "draws": 10, "mates": 60, "resignations": 30, "repetitions": 10}
    games = Games(
        games=100, positions=5000, plies=9000 + 100 * generation, results=results, wrong_resignations=(20, 1)
    )  # fmt: skip
    opponents = {"random": (8, 1, 3)}
    journal.record(Played(generation=generation, network="0" * 64, chunks=(), opponents=opponents, **dict(games)))
    journal.record(
        Ingested(
            generation=generation, chunks=1, positions=5000 * generation, quarantined=0, played=games,
            opponents=opponents,
        )
    )  # fmt: skip
    measured = {"policy_loss": 3.0 / generation, "policy_accuracy": 0.1 * generation, "value_accuracy": 0.6}
    journal.record(
        Trained(
            generation=generation, steps=100 * generation, budget=0.0, seen_positions=5000 * generation, window=5000,
            network=_network(generation), fresh=measured, test=None, losses={"policy_loss": 3.0}, paid=(),
        )
    )  # fmt: skip
    journal.record(
        Gated(generation=generation, pairs=(), llr=None, decision="none", passed=None, kept=True)
    )  # fmt: skip
    journal.record(Measured(generation=generation, network=f"network-{generation:04}", games=12, opponents=()))
