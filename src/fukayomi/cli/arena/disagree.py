"""``fukayomi positions disagree``: positions where engines are wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.arena.game.rules import split_command
from fukayomi.cli.arena.match_options import split_option
from fukayomi.cli.common.errors import INTERRUPTED, USAGE, exit_at_sigterm, fail
from fukayomi.cli.common.options import AsJson, given_options, options_of
from fukayomi.cli.common.progress import StageBars, rate_column
from fukayomi.cli.common.text import json_text, printable
from fukayomi.disagreement.settings import DISAGREEMENT_FILE, DisagreementSettings
from fukayomi.engine.settings import is_network_name
from fukayomi.settings import build, merged
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.disagreement.mining import Disagreements

NETWORK_SUFFIXES = (".onnx", ".sparse", ".safetensors")
PLAYER = "a USI engine by its command, or a network: a file in .onnx, .sparse or .safetensors, or '<5x64>'"


@dataclass(frozen=True)
class PlayerOptions:
    """The players that search, and play on."""

    a: Annotated[str | None, typer.Option(metavar="PLAYER", help=f"First player: {PLAYER}.")] = None
    b: Annotated[str | None, typer.Option(metavar="PLAYER", help=f"Second player: {PLAYER}.")] = None
    a_clock: Annotated[str | None, typer.Option(metavar="CLOCK")] = None
    """Limit of each search of player a, and of its moves in the games: nodes=1000, movetime=100ms, or byoyomi=100ms for
    engines that know neither."""
    b_clock: Annotated[str | None, typer.Option(metavar="CLOCK")] = None
    """The same for player b."""
    option: Annotated[list[str] | None, typer.Option(metavar="a:KEY=VALUE")] = None
    """A USI option of the engine a or b; repeat for several."""
    config: Annotated[Path | None, typer.Option(metavar="FILE.toml")] = None
    """Settings as in DIR/disagree.toml; options take precedence."""


@options_of(
    DisagreementSettings, "rule", "kind", "gap", "margin_cp", "difference_cp", "min_ply", "max_ply", "per_game",
    "per_opening", "seed", panel="Which positions",
)  # fmt: skip
class FindOptions:
    """Which positions are found."""


@options_of(
    DisagreementSettings,
    "confirm",
    "most",
    "pairs",
    "max_plies",
    "held_out",
    "concurrency",
    panel="How they are judged",
)
class JudgeOptions:
    """How they are judged."""

    as_json: AsJson = False


def disagree(
    folder: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder of the run; it resumes there.")],
    players: PlayerOptions,
    find: FindOptions,
    judge: JudgeOptions,
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="IN...",
            help="Match folders, records of games, folders and archives of them.",
            show_default="those of DIR",
        ),
    ] = None,
) -> None:
    """Find positions where two players disagree, play on to see who is right, and write start positions.

    \b
    fukayomi positions disagree games/ -o found --a '<5x64>' --a-clock nodes=50 \\
      --b '<5x64>' --b-clock nodes=1600
    fukayomi positions disagree match/ -o found --a own.onnx \\
      --a-clock nodes=1000 --b YaneuraOu --b-clock nodes=100000
    fukayomi positions disagree floodgate/2025 -o found --rule winner

    With --a and --b, both players search --per-game positions of each game. They disagree where their win rates differ
    by --gap; the scale of each player's scores is fitted to the results of the games. Both search the disagreements
    again with --confirm times the limit. From those that remain they play --pairs pairs of games with colours swapped.
    The interval of the score says who was wrong: a-blind or b-blind. Otherwise the position is unresolved, or volatile
    if in most pairs the same player won from both sides.

    Without players, the scores of the games are compared: each with the score of the opponent's move before it.
    --rule margin and --rule winner are dlshogi's two rules for important positions.

    DIR gets disagreements.jsonl with all numbers, and start positions for matches and self-play in starts.sfen and
    starts.hcp: the disagreements, the positions 1, 2 and 4 plies before them, and those after other moves that the
    policy likes at least as much as the move played. held-out.sfen and held-out.hcp have those of games that are kept
    for measurements. After Ctrl-C or a kill, the same command continues.
    """
    from fukayomi.disagreement.mining import find_disagreements

    exit_at_sigterm()
    settings = _settings(folder, players, find, judge)
    try:
        with StageBars(rate_column("positions")) as listener:
            found = find_disagreements(list(sources or []), folder, settings, listener=listener)
    except KeyboardInterrupt:
        fail(f"stopped; run the same command again to go on: {printable(str(folder))} has what is done", INTERRUPTED)
    if judge.as_json:
        typer.echo(json_text(as_json(found)))
    else:
        _print(found)


def _settings(folder: Path, players: PlayerOptions, find: FindOptions, judge: JudgeOptions) -> DisagreementSettings:
    """Those of DIR, replaced by those of --config, replaced by those on the command line."""
    found = reduce(merged, DISAGREEMENT_FILE.layers(folder, players.config), {})
    found |= given_options(find) | given_options(judge, "as_json")
    options = _options(players.option or [])
    for name, player, clock in (("a", players.a, players.a_clock), ("b", players.b, players.b_clock)):
        given: dict[str, Any] = {} if player is None else _player(player)
        if player is not None and (before := found.get(name)):
            found[name] = {key: value for key, value in before.items() if key not in ("command", "network")}
        if clock is not None:
            given["clock"] = clock
        if options[name]:
            given["options"] = options[name]
        if given and not (found.get(name) or "command" in given or "network" in given):
            fail(f"--{name} is missing: give the command of an engine, or a network", USAGE)
        if given:
            found[name] = merged(found.get(name) or {}, given)
            if "clock" not in found[name]:
                fail(f"--{name}-clock is missing: give for example --{name}-clock nodes=1000", USAGE)
    return build(DisagreementSettings, found)


def _player(text: str) -> dict[str, Any]:
    """A network by its name or ending, otherwise the command of an engine."""
    if is_network_name(text):
        return {"network": text}
    if text.endswith(NETWORK_SUFFIXES):
        return {"network": str(Path(text).absolute())}
    return {"command": split_command(text, Path.cwd())}


def _options(given: Sequence[str]) -> dict[str, dict[str, str]]:
    """The USI options of both players."""
    found: dict[str, dict[str, str]] = {"a": {}, "b": {}}
    for text in given:
        name, rest = split_option("--option", text, ":", "a:KEY=VALUE")
        key, value = split_option("--option", rest, "=", "a:KEY=VALUE")
        if name not in found:
            fail(f"--option {text}: there are players a and b, not {name!r}", USAGE)
        found[name][key] = value
    return found


def as_json(found: "Disagreements") -> dict[str, Any]:
    """The result as JSON values."""
    return {
        "folder": str(found.folder),
        "games": found.chosen.games,
        "games_with_scores": found.chosen.with_scores,
        "shown": found.chosen.shown,
        "searched": found.searched,
        "mates": found.mates,
        "differing": found.differing,
        "kept": len(found),
        "scales": found.scales,
        "verdicts": found.rows(),
        "starts": found.starts,
        "held_out": found.held_out,
    }


def _print(found: "Disagreements") -> None:
    chosen, folder = found.chosen, printable(str(found.folder))
    typer.echo(f"{counted(chosen.games, 'game')}, {chosen.with_scores:,} with scores of both sides")
    if found.settings.a is None:
        typer.echo(f"{counted(chosen.shown, 'position')} by the rule {found.settings.way}, {len(found):,} kept")
    else:
        typer.echo(
            f"{counted(found.searched, 'position')} searched, {counted(found.differing, 'disagreement')}; without a "
            f"view, for a mate or a missing answer: {found.mates:,}"
        )
    if found.scales:
        scales = ", ".join(f"{printable(name)} {scale:.0f}" for name, scale in found.scales.items())
        typer.echo(f"centipawns of a win rate of 73 %: {scales}")
    if len(found):
        typer.echo(f"\n{found}\n")
    typer.echo(
        f"{counted(found.starts, 'start position')} in {folder}/starts.sfen and .hcp, {found.held_out:,} held out; all "
        f"numbers in {folder}/disagreements.jsonl"
    )
