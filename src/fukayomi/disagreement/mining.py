"""Finding positions where engines are wrong: choice, searches, confirmation, games played on, start positions.

A run is a folder. Each stage writes files that the next one reads: the chosen positions (`positions.jsonl`), the
searches and their confirmation as labels (`searched`, `confirmed`), the games played on as a match (`judging`), and at
the end all numbers (`disagreements.jsonl`) and the start positions (`starts`, `held-out`). A kill costs what is in
flight.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from fukayomi.arena.results.sources import read_game_records
from fukayomi.disagreement.games import ScoredGame, candidates, is_usable, sample, scales_of_games
from fukayomi.disagreement.judging import judge
from fukayomi.disagreement.model import Disagreement, GamePosition, Verdict, gap_of
from fukayomi.disagreement.searching import NAMES, check_players, disagree, scales_of, search, views
from fukayomi.disagreement.settings import (
    DISAGREEMENT_FILE,
    DisagreementError,
    DisagreementSettings,
    PlayerSettings,
    Rule,
)
from fukayomi.disagreement.starts import is_held_out, starts, write_starts
from fukayomi.engine.evaluators.backends.machine import usable_cpus
from fukayomi.engine.network import Network
from fukayomi.files.atomic import replace_file
from fukayomi.files.inputs import read_input
from fukayomi.listener import SILENT, Listener
from fukayomi.settings import first_problem
from fukayomi.shogi.record import Record
from fukayomi.tabular import Tabular, counted

POSITIONS_NAME = "positions.jsonl"
FOUND_NAME = "disagreements.jsonl"
Found = TypeVar("Found", bound=BaseModel)
LARGEST_FILE = 4 << 30
"""Bytes of a file of positions."""


class Chosen(BaseModel):
    """The first line of `positions.jsonl`: what was read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sources: tuple[str, ...]
    """Paths of the games."""
    games: int
    """Games that were read."""
    with_scores: int
    """Those of them with scores of both sides."""
    shown: int
    """Positions that the rule shows, before `per_game`; with rule search, those that are chosen."""
    scales: dict[str, float]
    """Scales of the players of the games that could be fitted, in centipawns."""


@dataclass(eq=False, repr=False)
class Disagreements(Tabular):
    """The positions where two players disagree. As a table it has a row for each verdict, by phase of the game."""

    folder: Path
    settings: DisagreementSettings
    chosen: Chosen
    searched: int
    """Positions that were chosen or searched."""
    mates: int
    """Those where a player has found a mate, or gave no answer."""
    differing: int
    """Those where the two disagree, before `per_opening` and `most`."""
    scales: dict[str, float]
    """Scales of the two players that could be fitted, in centipawns."""
    found: list[Disagreement] = field(default_factory=list[Disagreement])
    """Those that were kept, also if they were not confirmed; in the order of the games."""
    starts: int = 0
    """Start positions."""
    held_out: int = 0
    """Start positions that are held out."""

    def rows(self) -> Sequence[dict[str, Any]]:
        """One row for each verdict: positions of openings, middle games and endgames, and in all."""
        counts = Counter((each.verdict, each.phase) for each in self.found)
        phases = ("opening", "middle game", "endgame")
        return [
            {"verdict": str(verdict)}
            | {phase: counts[verdict, phase] for phase in phases}
            | {"positions": sum(counts[verdict, phase] for phase in phases)}
            for verdict in Verdict
            if any(each.verdict is verdict for each in self.found)
        ]

    def __len__(self) -> int:
        return len(self.found)

    def __repr__(self) -> str:
        return f"<Disagreements: {counted(len(self.found), 'position')}>"


def find_disagreements(
    sources: Sequence[Path | str | Record],
    folder: Path | str,
    settings: DisagreementSettings,
    *,
    listener: Listener = SILENT,
) -> Disagreements:
    """Find positions where two players disagree, judge them, and write start positions.

        >>> import tempfile
        >>> from fukayomi import Record
        >>> from fukayomi.disagreement import DisagreementSettings, find_disagreements
        >>> game = Record.from_text("position startpos moves 7g7f 3c3d 2g2f")
        >>> players = {name: {"network": "<5x64>", "clock": f"nodes={n}"} for name, n in (("a", 2), ("b", 8))}
        >>> settings = DisagreementSettings(**players, kind="either", gap=0.01, confirm=0, pairs=0)
        >>> found = find_disagreements([game], tempfile.mkdtemp(), settings)
        >>> found.chosen.games, found.searched
        (1, 1)

    Args:
        sources: Match folders, records in any format, folders and archives of them; or records.
        folder: Folder of the run; created if necessary. The same call goes on with what is in it.
        settings: Players, rule and limits.
        listener: Hears of the progress.

    Raises:
        ValueError: Settings, folder, games or players do not fit.
        EvaluatorError: A network failed.
        OSError: A file cannot be read or written, or another process works in the folder.
    """
    folder = Path(folder)
    with DISAGREEMENT_FILE.lock(folder):
        DISAGREEMENT_FILE.check(folder, settings, has_begun=(folder / POSITIONS_NAME).is_file())
        if DISAGREEMENT_FILE.path(folder).is_file():
            DISAGREEMENT_FILE.write(folder, settings.text())
        chosen, positions = _choose(sources, folder, settings, listener)
        return _Run(folder, settings, chosen, listener).finish(positions)


def read_disagreements(folder: Path | str) -> list[Disagreement]:
    """The disagreements of a folder.

    Raises:
        DisagreementError: There are none, or the file is damaged.
    """
    return _read_models(Path(folder) / FOUND_NAME, Disagreement)


def _choose(
    sources: Sequence[Path | str | Record], folder: Path, settings: DisagreementSettings, listener: Listener
) -> tuple[Chosen, list[GamePosition]]:
    """The positions that may disagree: those of the folder, or new ones."""
    path = folder / POSITIONS_NAME
    names = tuple(each.name if isinstance(each, Record) else str(each) for each in sources)
    if path.is_file():
        head, *rest = read_input(path, LARGEST_FILE).splitlines() or [b""]
        chosen = _parse(head, Chosen, path, 1)
        if names and chosen.sources != names:
            raise DisagreementError(
                f"{path} has positions of {', '.join(chosen.sources)}, not of {', '.join(names)}: choose another folder"
            )
        return chosen, [_parse(line, GamePosition, path, number) for number, line in enumerate(rest, 2)]
    if not sources:
        raise DisagreementError("there are no games: give match folders, records, or folders of them")
    if settings.a is not None and settings.b is not None:
        check_players((settings.a, settings.b))  # a run with mistakes does not begin
    games = [ScoredGame.of(record) for record in _records(sources, listener)]
    if not games:
        raise DisagreementError("the sources have no games with moves")
    with_scores = sum(game.has_both_scores for game in games)
    if settings.way is not Rule.SEARCH and not with_scores:
        raise DisagreementError("no game has scores of both sides: give players a and b, which search positions")
    scales = scales_of_games(games)
    if settings.way is Rule.SEARCH:
        positions = sample(_counted(games, listener), settings)
        shown = len(positions)
    else:
        by_game = [candidates(game, settings, scales) for game in _counted(games, listener)]
        shown = sum(count for count, _ in by_game)
        positions = _unique(each for _, part in by_game for each in part)
    chosen = Chosen(sources=names, games=len(games), with_scores=with_scores, shown=shown, scales=scales)
    DISAGREEMENT_FILE.write(folder, settings.text())
    _write_models(path, [chosen, *positions])
    return chosen, positions


def _records(sources: Sequence[Path | str | Record], listener: Listener) -> Iterable[Record]:
    for source in sources:
        if isinstance(source, Record):
            yield source
        else:
            yield from read_game_records([Path(source)], listener=listener)


def _counted(games: Sequence[ScoredGame], listener: Listener) -> Iterable[ScoredGame]:
    for number, game in enumerate(games):
        listener.progress("choosing", number, len(games))
        yield game
    listener.progress("choosing", len(games), len(games))


def _unique(found: Iterable[GamePosition]) -> list[GamePosition]:
    """Each position once; those without a king or a choice are left out."""
    seen = dict[str, GamePosition]()
    for each in found:
        position = each.position()
        if is_usable(position):
            seen.setdefault(position.sfen().rpartition(" ")[0], each)
    return list(seen.values())


class _Run:
    """One run, after the positions are chosen."""

    def __init__(self, folder: Path, settings: DisagreementSettings, chosen: Chosen, listener: Listener) -> None:
        self._folder, self._settings, self._listener = folder, settings, listener
        self._result = Disagreements(folder, settings, chosen, 0, 0, 0, dict(chosen.scales))
        self._players: tuple[PlayerSettings, PlayerSettings] | None = (
            None if settings.a is None or settings.b is None else (settings.a, settings.b)
        )

    def finish(self, positions: list[GamePosition]) -> Disagreements:
        """Do what is left to do."""
        result, settings = self._result, self._settings
        result.searched = len(positions)
        if settings.way is Rule.SEARCH:
            positions = self._search(positions)
        result.differing = len(positions)
        positions = _largest(positions, settings.per_opening, lambda each: (each.opening, each.gap))
        found = [Disagreement(**each.model_dump()) for each in positions]
        if self._players is not None:
            found = self._judge(self._confirm(found, self._players), self._players)
        result.found = found
        _write_models(self._folder / FOUND_NAME, found)
        self._write_starts(found)
        return result

    def _search(self, positions: list[GamePosition]) -> list[GamePosition]:
        """Those of the positions that the players judge differently after short searches."""
        assert self._players is not None
        said = self._said(positions, "searched", 1)
        scales = scales_of(positions, said)
        self._result.scales = scales
        found: list[GamePosition] = []
        for position, answers in zip(positions, said, strict=True):
            both = views(answers, scales)
            if both is None:
                self._result.mates += 1
                continue
            seen = position.model_copy(update=dict(zip(("a", "b"), both, strict=True)))
            if disagree(seen, self._settings):
                found.append(seen)
        return found

    def _confirm(self, found: list[Disagreement], players: tuple[PlayerSettings, PlayerSettings]) -> list[Disagreement]:
        """The disagreements with what both think after longer searches; shallow, if they agree then."""
        if not self._settings.confirm or not found:
            return found
        said = self._said(found, "confirmed", self._settings.confirm)
        scales = scales_of(found, said) | {
            name: self._result.scales[name] for name in NAMES if name in self._result.scales
        }
        confirmed: list[Disagreement] = []
        for each, answers in zip(found, said, strict=True):
            both = views(answers, scales)
            if both is None:  # a mate is proven: nothing is left to judge
                confirmed.append(each.model_copy(update={"verdict": Verdict.SHALLOW}))
                continue
            still = disagree(each.model_copy(update=dict(zip(("a", "b"), both, strict=True))), self._settings)
            confirmed.append(
                each.model_copy(
                    update={
                        "confirmed_a": both[0],
                        "confirmed_b": both[1],
                        "verdict": Verdict.UNJUDGED if still else Verdict.SHALLOW,
                    }
                )
            )
        return confirmed

    def _said(self, positions: Sequence[GamePosition], name: str, times: int):
        assert self._players is not None
        return search(
            positions, self._players, self._folder / name, times=times, concurrency=self._settings.concurrency,
            listener=self._listener,
        )  # fmt: skip

    def _judge(self, found: list[Disagreement], players: tuple[PlayerSettings, PlayerSettings]) -> list[Disagreement]:
        unjudged = [each for each in found if each.verdict is Verdict.UNJUDGED]
        judged = judge(
            _largest(unjudged, self._settings.most, lambda each: ("", gap_of(each.views))),
            players, self._settings, self._folder / "judging",
            concurrency=self._settings.concurrency or usable_cpus(), listener=self._listener,
        )  # fmt: skip
        by_line = {each.line: each for each in judged}
        kept = (each for each in found if each.verdict is not Verdict.UNJUDGED or each.line in by_line)
        return [by_line.get(each.line, each) for each in kept]

    def _write_starts(self, found: list[Disagreement]) -> None:
        settings = self._settings
        with Network(None if settings.a is None else settings.a.network) as policy:
            given = starts(found, policy, listener=self._listener)
        held = {each.game_key for each in found if is_held_out(each, settings.held_out, settings.seed)}
        learnt = [each for each in given if each.game_key not in held]
        kept = [each for each in given if each.game_key in held]
        write_starts(learnt, self._folder / "starts")
        write_starts(kept, self._folder / "held-out")
        self._result.starts, self._result.held_out = len(learnt), len(kept)


def _largest(positions: list[Found], most: int, key: Callable[[Found], tuple[str, float]]) -> list[Found]:
    """Of each group those with the largest gaps, in order; 0: all. The key gives the group and the gap."""
    if most == 0:
        return positions
    keys = [key(each) for each in positions]
    taken = Counter[str]()
    kept: set[int] = set()
    for number in sorted(range(len(positions)), key=lambda n: (-abs(keys[n][1]), n)):
        group, _ = keys[number]
        if taken[group] < most:
            taken[group] += 1
            kept.add(number)
    return [position for number, position in enumerate(positions) if number in kept]


def _write_models(path: Path, models: Iterable[BaseModel]) -> None:
    replace_file(path, "".join(each.model_dump_json(exclude_none=True) + "\n" for each in models).encode())


def _read_models(path: Path, kind: type[Found]) -> list[Found]:
    if not path.is_file():
        raise DisagreementError(f"{path.parent}: there is no {path.name}")
    return [_parse(line, kind, path, n) for n, line in enumerate(read_input(path, LARGEST_FILE).splitlines(), 1)]


def _parse(line: bytes, kind: type[Found], path: Path, number: int) -> Found:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        raise DisagreementError(
            f"{path}, line {number}: {first_problem(error)}. Remove the file: it is made again from the games"
        ) from error
