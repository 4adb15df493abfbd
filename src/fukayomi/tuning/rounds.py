"""What is played in a round: an ordinary match of pairs of engines, one for each proposal, and what its games say."""

from collections.abc import Sequence
from pathlib import Path

from fukayomi.arena.game.player import PlayerFailedError
from fukayomi.arena.game.rules import GameTerms, Tournament
from fukayomi.arena.game.usi_player import UsiPlayer
from fukayomi.arena.match.settings import MatchSettings
from fukayomi.arena.match.state import MatchState
from fukayomi.arena.match.store import read_settings
from fukayomi.tuning.parameters import Proposal
from fukayomi.tuning.settings import TuneError, TuneSettings, fitted
from fukayomi.usi.options import OptionError


def round_folder(folder: Path, number: int) -> Path:
    """Folder of the match of a round, from 1."""
    return folder / "rounds" / f"{number:05}"


def ask_engine(settings: TuneSettings) -> tuple[TuneSettings, tuple[str, ...]]:
    """Start the engine once, and see whether it takes its options and the ranges of the parameters.

    Returns:
        The settings with all starts, and warnings about what the engine is not told.

    Raises:
        TuneError: It does not start, or it does not take an option.
    """
    engine = settings.engine
    with UsiPlayer(engine, settings.clock) as player:
        try:
            warnings = player.check_options(settings.rules, GameTerms.of(settings.rules, ponder=False))
        except OptionError as error:
            raise TuneError(str(error)) from error
        except PlayerFailedError as error:
            raise TuneError(f"engine {error}") from error
        return fitted(settings, player.declared_options), warnings


def match_settings(
    settings: TuneSettings, number: int, proposals: Sequence[Proposal], sides: tuple[str, str]
) -> MatchSettings:
    """The match of a round.

    Args:
        settings: The settings.
        number: The round, from 1.
        proposals: What is compared.
        sides: What distinguishes the names of both sides.
    """
    before = (number - 1) * settings.batch
    engines = tuple(
        settings.engine.changed(name=f"{place}{side}", options=settings.options(points))
        for place, proposal in enumerate(proposals, before + 1)
        for side, points in zip(sides, (proposal.first, proposal.second), strict=True)
    )
    return MatchSettings(
        engines=engines,
        games=2 * settings.pairs_each * len(proposals),
        clock=settings.clock,
        tournament=Tournament.PAIRS,
        openings=settings.openings,
        opening_start=before * settings.pairs_each,
        opening_plies=settings.opening_plies,
        opening_order=settings.opening_order,
        seed=settings.seed,
        rules=settings.rules,
        concurrency=settings.concurrency,
        cores_per_game=settings.cores_per_game,
        restart=settings.restart,
        log=settings.log,
        event=f"round {number}",
    )


def check_played(folder: Path, match: MatchSettings) -> None:
    """Check that the engines of a round that was played had the options that the results before it lead to.

    Raises:
        TuneError: They had others.
    """
    stored = read_settings(folder)
    if stored is None or [(each.name, each.options) for each in stored.engines] != [
        (each.name, each.options) for each in match.engines
    ]:
        raise TuneError(
            f"{folder}: the values of this round do not follow from the games before it. Put the rounds back as they "
            "were; or remove this folder and those after it, and they are played again"
        )


def results(state: MatchState, proposals: int) -> list[float | None]:
    """The results of a round: mean difference of points in a pair of games; None where no pair counts."""
    engines = state.settings.engines
    found: list[float | None] = [None] * proposals
    places = {(engines[2 * place].name, engines[2 * place + 1].name): place for place in range(proposals)}
    for meeting in state.standings.meetings():
        pairs = meeting.counts.pairs
        if sum(pairs):
            half_points = sum(half * count for half, count in enumerate(pairs)) / sum(pairs)
            found[places[meeting.first, meeting.second]] = half_points - 2
    return found
