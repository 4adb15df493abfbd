"""Strength over time: matches of the networks that were kept, and ratings from all games of a run."""

from fukayomi.arena.ratings.options import ELO_SCALE
from fukayomi.arena.ratings.rating import Ratings
from fukayomi.arena.results.match_db import DATABASE
from fukayomi.arena.results.player_ratings import rate
from fukayomi.listener import SILENT, Listener
from fukayomi.loop.journal import Journal, KeptNetwork, Measured, network_name
from fukayomi.loop.matches.play import Contest, Contestant, check_match
from fukayomi.loop.run import Run, RunFolder, check_network, check_program, naming
from fukayomi.loop.settings import StrengthSettings, check_family

SEEDS = 1 << 32
"""Distance of the seeds of measurements from those of the gate: with the same seed the same games would count twice."""


def check_strength(run: Run) -> None:
    """See that this machine can play the measurements, and that the files and programs of the anchors are there.

    Raises:
        LoopError: It cannot; the message names the setting.
    """
    check_match(run, "strength")
    strength = run.settings.strength
    for anchor in strength.anchors if strength.games else ():
        with naming(f"strength, anchor, {anchor.name}"):
            if anchor.network is not None:
                check_network(anchor.network)
                check_family(anchor.network, "strength", strength.device)
            else:
                check_program(anchor.command or "")


def measure(run: Run) -> Measured:
    """Let the network that generates games play anchors and earlier networks, if it is a new one and the time has come.

    Raises:
        LoopError, ValueError: A network or an anchor cannot play.
        KeyboardInterrupt: The user stopped the match.
    """
    generation, _ = run.journal.next_step
    strength, newest = run.settings.strength, run.journal.networks[-1]
    measured = {each.network for each in run.journal.all(Measured) if each.games}
    is_due = generation % strength.every == 0 or generation == run.settings.generations
    earlier = _earlier(run.journal, strength)
    has_opponents = bool(earlier or strength.anchors)
    if not is_due or not strength.games or not has_opponents or newest.name in measured or newest.generation == 0:
        return Measured(generation=generation, network=newest.name, games=0, opponents=())
    opponents = [Contestant.of(run, each, strength.device) for each in earlier]
    opponents += [  # not in the run's precision: ratings of different runs can then be compared
        Contestant(each.name, each.network, None, each.command, each.options, each.nodes) for each in strength.anchors
    ]
    with Contest([Contestant.of(run, newest, strength.device), *opponents], strength) as contest:
        result = contest.play(
            run.folder.matches / f"strength-{generation:04}", games=strength.games * len(opponents),
            seed=run.settings.seed + generation + SEEDS, listener=run.listener,
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


def _earlier(journal: Journal, strength: StrengthSettings) -> list[KeptNetwork]:
    """The networks before the newest one that are opponents, the newest first."""
    before = journal.networks[:-1][::-1]
    newest = before[: strength.earlier]
    return [*newest, before[-1]] if strength.first and before and before[-1] not in newest else newest
