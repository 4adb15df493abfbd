"""The document of a learning run: its state, its ratings over time, what its generations have in numbers."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fukayomi.arena.results.match_db import DATABASE
from fukayomi.web.runs.keeping import Keeper, Stamp, stamp_of
from fukayomi.web.runs.matches import match_stamp
from fukayomi.web.runs.training import flat_settings, read_settings

if TYPE_CHECKING:
    from fukayomi.arena.ratings.rating import Ratings
    from fukayomi.loop.run import RunFolder

FILES = ("run.toml", "journal.jsonl", "log.jsonl", "live.json", "lock")
"""Files whose change shows that the run has gone on."""


def learning_stamp(folder: Path) -> Stamp:
    """Changes when the run has gone on."""
    return (*stamp_of(folder / name for name in FILES), *_matches_stamp(folder))


def _matches_stamp(folder: Path) -> Stamp:
    return tuple(match_stamp(path.parent) for path in sorted((folder / "matches").glob(f"*/{DATABASE}")))


class LearningReader:
    """Reads learning runs; ratings are computed again only when there are new games."""

    def __init__(self) -> None:
        self._ratings: Keeper[tuple[Ratings | None]] = Keeper()

    def document(self, folder: Path) -> Any:
        """The state of a run, which may be under way.

        Raises:
            LoopError: The journal is damaged.
            ImportError: The packages of training are not installed.
        """
        from fukayomi.loop.journal import Journal, network_name
        from fukayomi.loop.report.status import read_series, read_status

        status = read_status(folder, self._rate)
        journal = Journal(folder)
        found = status.as_dict()
        del found["folder"]
        kept = {network.generation for network in journal.networks}
        networks = {network_name(row.generation) for row in status.history}
        return found | {
            "series": asdict(read_series(journal)),
            "kept": sorted(kept),
            "anchors": [asdict(player) for player in status.ratings if player.name not in networks],
            "settings": flat_settings(read_settings(folder / "run.toml")),
        }

    @property
    def _rate(self) -> "Callable[[RunFolder], Ratings | None]":
        from fukayomi.loop.matches import rate_networks

        def rate(folder: "RunFolder") -> "Ratings | None":
            return self._ratings.get(folder.path, _matches_stamp(folder.path), lambda: (rate_networks(folder),))[0]

        return rate
