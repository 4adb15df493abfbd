"""Verbs on small files, in this process or in one that is killed: small blocks, and a checkpoint after each."""

import sys
from functools import partial
from pathlib import Path

import numpy as np
from game_samples import random_games

from fukayomi.data.conditions import FilterConditions
from fukayomi.data.convert.blocks import Inputs, open_inputs
from fukayomi.data.formats import format as format_module
from fukayomi.data.formats import games as games_module
from fukayomi.data.formats import hcpe3
from fukayomi.data.formats.games import record_from_game
from fukayomi.data.formats.hcpe3 import Games, join_games
from fukayomi.data.formats.psv import hcpe_to_psv
from fukayomi.data.formats.table import as_rows
from fukayomi.data.jobs import job
from fukayomi.data.jobs.job import Summary
from fukayomi.data.verbs import filter, fix_eval, merge, sample, shuffle, split
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi.formats import write_csa
from fukayomi.shogi.record import Result

SUFFIXES = ("hcpe", "psv", "hcpe3", "csa")
VERBS = ("split", "sample", "shuffle", "merge", "filter", "fix-eval")
BAD = {("fix-eval", "csa")}  # records have no evaluations to fix


def make_games(count: int, seed: int, most_moves: int = 20) -> Games:
    """Games whose evaluations know their results, on a scale of 300 or so."""
    games = random_games(count, seed, most_moves)
    rng = np.random.default_rng(seed)
    results = (games.results & 3)[games.game_of_ply()]
    mover_is_white = games.hcps[:, 0] & 1
    good = np.where(results == 0, 0, np.where(results == 1 + mover_is_white, 1, -1))
    games.evals[:] = rng.normal(250 * good, 400).round()
    return games


def make_inputs(folder: Path, suffix: str, games: int = 60, most_moves: int = 20) -> list[Path]:
    """Two files in one format; the second repeats some games of the first."""
    first, second = make_games(games, 1, most_moves), make_games(games // 2, 2, most_moves)
    second = join_games([*second, *list(first)[: games // 6]])
    paths = []
    for number, content in enumerate((first, second)):
        path = folder / f"in{number}.{suffix}"
        path.write_bytes(as_bytes(content, suffix))
        paths.append(path)
    return paths


def as_bytes(games: Games, suffix: str) -> bytes:
    """The games in one of the formats."""
    if suffix == "hcpe3":
        return games.write()
    if suffix == "csa":
        return "/\n".join(write_csa(record_from_game(game, f"{index}")) for index, game in enumerate(games)).encode()
    rows = as_rows(games)
    rows.records["gameResult"] &= 3
    return (rows.records if suffix == "hcpe" else hcpe_to_psv(rows.records, rows.plies)).tobytes()


def run(verb: str, inputs: Inputs, out: Path, listener: Listener = SILENT) -> Summary:
    """One verb; `out` is its first output, and `other` beside it the second."""
    match verb:
        case "split":
            other = out.with_stem("other")
            return split(inputs, [out, other], shares=(3, 1), run=7, seed=5, listener=listener)
        case "sample":
            return sample(inputs, out, 20, seed=5, listener=listener)
        case "shuffle":
            return shuffle(inputs, out, seed=5, memory=40_000, listener=listener)
        case "merge":
            return merge(inputs, out, unique_games=inputs.kind in ("hcpe3", "records"), listener=listener)
        case "filter":
            conditions = FilterConditions(results=(Result.BLACK_WIN, Result.DRAW))
            return filter(inputs, out, conditions, listener=listener)
        case _:
            return fix_eval(inputs, out, listener=listener)


def small_steps() -> None:
    """Many blocks even of small files, and a checkpoint after each."""
    job.CHECKPOINT_SECONDS = 0
    format_module.ROWS_AT_ONCE = 150
    games_module.RECORDS_AT_ONCE = 10
    hcpe3.scan_hcpe3 = partial(hcpe3.scan_hcpe3, read_at_once=2500)


if __name__ == "__main__":
    name, target, *paths = sys.argv[1:]
    small_steps()
    opened = open_inputs([Path(path) for path in paths])
    print("ready", flush=True)
    run(name, opened, Path(target))
