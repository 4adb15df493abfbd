"""Strength over time: matches of the networks that were kept, and ratings from all games of a run."""

from pathlib import Path

from fukayomi.arena.match.store import read_settings
from fukayomi.arena.ratings.options import ELO_SCALE
from fukayomi.arena.ratings.rating import Ratings
from fukayomi.arena.results.match_db import DATABASE
from fukayomi.arena.results.player_ratings import rate
from fukayomi.listener import SILENT, Listener
from fukayomi.loop.folder import RunFolder
from fukayomi.loop.journal import Journal, KeptNetwork, Measured, network_name
from fukayomi.loop.matches.play import Contest, Contestant
from fukayomi.loop.settings import LoopSettings, StrengthSettings

SEEDS = 1 << 32
"""Distance of the seeds of measurements from those of the gate: with the same seed the same games would count twice."""


def measure(settings: LoopSettings, folder: RunFolder, journal: Journal, listener: Listener) -> Measured:
    """Let the network that generates games play anchors and earlier networks, if it is a new one and the time has come.

    Raises:
        LoopError, ValueError: A network or an anchor cannot play.
        KeyboardInterrupt: The user stopped the match.
    """
    generation, _ = journal.next_step
    strength, networks = settings.strength, journal.networks
    newest = networks[-1]
    measured = {each.network for each in journal.all(Measured) if each.games}
    is_due = generation % strength.every == 0 or generation == settings.generations
    earlier = _earlier(journal, strength)
    has_opponents = bool(earlier or strength.anchors)
    if not is_due or not strength.games or not has_opponents or newest.name in measured or newest.generation == 0:
        return Measured(generation=generation, network=newest.name, games=0, opponents=())
    precision = settings.generator.precision_on(strength.device)
    opponents = [Contestant(each.name, folder.verified(each), precision) for each in earlier]
    opponents += [  # not in the run's precision: ratings of different runs can then be compared
        Contestant(each.name, each.network, None, each.command, each.options, each.nodes) for each in strength.anchors
    ]
    match = folder.matches / f"strength-{generation:04}"
    with Contest([Contestant(newest.name, folder.verified(newest), precision), *opponents], strength) as contest:
        result = contest.play(
            match, games=strength.games * len(opponents), seed=_seed(match, settings.seed + generation + SEEDS),
            listener=listener,
        )  # fmt: skip
    return Measured(
        generation=generation, network=newest.name, games=result.standings.games,
        opponents=tuple(each.name for each in opponents),
    )  # fmt: skip


def rate_networks(folder: RunFolder, listener: Listener = SILENT) -> Ratings | None:
    """Ratings of the networks and anchors from all matches of a run; None without games.

    The first network has 0; if it has not played, the mean of all players is 0. Points are Elo.

    Args:
        folder: Folder of the run.
        listener: Told, possibly twice, of each match that cannot be read; and if the first network has not played.
    """
    matches = sorted(path.parent for path in folder.matches.glob(f"*/{DATABASE}"))
    if not matches:
        return None
    first = network_name(0)
    try:
        return rate(matches, anchors={first: 0.0}, scale=ELO_SCALE, listener=listener)
    except ValueError:
        try:
            ratings = rate(matches, scale=ELO_SCALE, listener=listener)
        except ValueError:  # no game yet
            return None
    listener.note(f"{first} has played no game that counts: rating 0 is the mean of all players")
    return ratings


def _seed(match: Path, seed: int) -> int:
    """The seed of a match, which keeps that with which it began: earlier versions had others."""
    begun = read_settings(match)
    return seed if begun is None else begun.seed


def _earlier(journal: Journal, strength: StrengthSettings) -> list[KeptNetwork]:
    """The networks before the newest one that are opponents, the newest first."""
    before = journal.networks[:-1][::-1]
    found = before[: strength.earlier]
    return [*found, before[-1]] if strength.first and before and before[-1] not in found else found
