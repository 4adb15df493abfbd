"""Strength over time: matches of the networks that were kept, and ratings from all games of a run."""

from fukayomi.arena.ratings.options import ELO_SCALE
from fukayomi.arena.ratings.rating import Ratings
from fukayomi.arena.results.match_db import DATABASE
from fukayomi.arena.results.player_ratings import rate
from fukayomi.listener import Listener
from fukayomi.loop.folder import RunFolder
from fukayomi.loop.journal import Journal, KeptNetwork, Measured, network_name
from fukayomi.loop.matches.play import Contest, Contestant
from fukayomi.loop.settings import LoopSettings, StrengthSettings


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
    precision = settings.generator.precision_on(strength.device)
    opponents = [Contestant(each.name, folder.verified(each), precision) for each in _earlier(journal, strength)]
    opponents += [  # not in the run's precision: ratings of different runs can then be compared
        Contestant(each.name, each.network, None, each.command, each.options, each.nodes) for each in strength.anchors
    ]
    if not is_due or not strength.games or not opponents or newest.name in measured or newest.generation == 0:
        return Measured(generation=generation, network=newest.name, games=0, opponents=())
    with Contest([Contestant(newest.name, folder.verified(newest), precision), *opponents], strength) as contest:
        result = contest.play(
            folder.matches / f"strength-{generation:04}", games=strength.games * len(opponents),
            seed=settings.seed + generation, listener=listener,
        )  # fmt: skip
    return Measured(
        generation=generation, network=newest.name, games=result.standings.games,
        opponents=tuple(each.name for each in opponents),
    )  # fmt: skip


def rate_networks(folder: RunFolder) -> Ratings | None:
    """Ratings of the networks and anchors from all matches of a run; None without games.

    The first network has 0, if it has played; points are Elo.
    """
    matches = sorted(path.parent for path in folder.matches.glob(f"*/{DATABASE}"))
    if not matches:
        return None
    first = network_name(0)
    try:
        return rate(matches, anchors={first: 0.0}, scale=ELO_SCALE)
    except ValueError:
        try:
            return rate(matches, scale=ELO_SCALE)
        except ValueError:  # no game yet
            return None


def _earlier(journal: Journal, strength: StrengthSettings) -> list[KeptNetwork]:
    """The networks before the newest one that are opponents, the newest first."""
    before = journal.networks[:-1][::-1]
    found = before[: strength.earlier]
    return [*found, before[-1]] if strength.first and before and before[-1] not in found else found
