"""Tables of docs/measurements/learning-tables.md: what settings, data and kinds of networks give, over several seeds.

    .venv/bin/fukayomi data convert GAMES -o games.hcpe3
    .venv/bin/fukayomi data split games.hcpe3 -o train.hcpe3 -o test.hcpe3 --every 50
    .venv/bin/python studies/learning_tables.py train.hcpe3 --test test.hcpe3 --out out/tables --jobs 2

Every run is kept in OUT; run the same command again to resume, or with other tables. Runs that several tables need are
made once. Without --only all tables are made; --gpu has larger networks and more data on CUDA.

Figures are means over the seeds with 95 % intervals: Student's t of the seeds, with the bootstrap interval of the test
positions in quadrature. Differences are paired by seed and by test position. "(noise)" is behind those whose interval
contains 0. With a test set in hcpe, which does not know plies, duplicates are not tested by ply.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from learning_report import MEASURES, Cell, Table, fit_curve, mean_of, metrics_of, shares, text_of
from learning_runs import Found, Job, Run, measure_speeds
from learning_scales import CPU, GPU, TINY
from learning_study import RANDOM, Study
from work_folder import pieces_of_work

from fukayomi.data.formats.format import DataFileError
from fukayomi.learning import Dataset, DeviceError
from fukayomi.nn import NetworkConfig

FOLLOWING_HEADS = ("short-term-value", "wdl", "plies-left", "reply")
"""Heads that are compared on games as they were played."""
COMMONEST = 3
"""Strategies whose shares are added up."""


def compared(study: Study, title: str, arms: Mapping[str, Run], tests: Mapping[str, str] | None = None) -> Table:
    """Train arms and compare each with the first one: metrics, their differences, and the time of a run."""
    tests = tests or study.tests()
    trained = study.train(arms)
    rows = study.compare(arms, tests)
    unit = "CPU_s_a_run" if study.device == "cpu" else "s_a_run"
    columns = (*(() if len(tests) == 1 else ("test",)), *MEASURES, unit)
    table, first = Table(title, columns), next(iter(arms))
    for test in tests:
        for minus in (None, first):
            for name in arms:
                if name == minus:
                    continue
                cells = metrics_of(rows, name, minus, test) | {"test": test}
                if test == next(iter(tests)):
                    pairs = zip(trained[name], trained[first], strict=True)
                    cells[unit] = mean_of([mine["seconds"] - (base["seconds"] if minus else 0) for mine, base in pairs])
                table.rows.append((f"{name} − {minus}" if minus else name, cells, minus is not None))
    table.notes.append(
        f"{study.scale.seeds} seeds, {study.base().settings.steps:,} steps of {study.base().settings.batch} positions."
    )
    return table


def averages(study: Study) -> list[Table]:
    """With and without averaged weights and dropout, at a constant learning rate as in the seed, and with a cosine."""
    tables: list[Table] = []
    for schedule in ("constant", "cosine"):
        plain = replace(study.base(), settings=study.scale.settings.changed(schedule=schedule))
        dropout = replace(plain, network=plain.network.changed(dropout=study.scale.dropout))
        ema = {"ema_interval": study.scale.averaging}
        arms = {
            "neither": plain,
            "averaged weights": replace(plain, settings=plain.settings.changed(**ema)),
            f"dropout {study.scale.dropout}": dropout,
            "both": replace(dropout, settings=dropout.settings.changed(**ema)),
        }
        tables.append(compared(study, f"Averaged weights and dropout, {schedule} learning rate", arms))
    return tables


def val_lambda(study: Study) -> list[Table]:
    """Results and evaluations as targets of the value."""
    base = study.base()
    arms = {
        f"val_lambda {text}": replace(base, settings=base.settings.changed(val_lambda=value))
        for text, value in (("1/3", base.settings.val_lambda), ("0", 0.0), ("0.7", 0.7), ("1", 1.0))
    }
    return [compared(study, "The share of the evaluation in the value's target", arms)]


def optimizers(study: Study) -> list[Table]:
    """AdamW, Muon and SGD, each with several learning rates."""
    base = study.base()
    arms = {f"{base.settings.optimizer} {base.settings.lr:g}": base} | {
        f"{name} {rate:g}": replace(base, settings=base.settings.changed(optimizer=name, lr=rate, weight_decay=decay))
        for name, rate, decay in study.scale.optimizers
    }
    table = compared(study, "Optimisers and their learning rates", arms)
    decays = {name: decay for name, _, decay in study.scale.optimizers}
    table.notes.append(f"Weight decay: {', '.join(f'{name} {decay:g}' for name, decay in decays.items())}.")
    return [table]


def positions(study: Study) -> list[Table]:
    """Numbers of positions, each seen equally often, or with the same number of steps; numbers of blocks."""
    base, scale = study.base(), study.scale
    sized = {f"{size:,}": replace(base, data=study.drawn(size)) for size in scale.sizes}
    per_position = scale.settings.total_steps(0) / scale.positions
    passes = {
        name: replace(run, settings=run.settings.changed(steps=max(1, round(size * per_position))))
        for (name, run), size in zip(sized.items(), scale.sizes, strict=True)
    }
    once = fitted(study, "Positions, each seen as often", passes)
    once.notes[0] = (
        f"{scale.seeds} seeds; each position is seen {per_position * scale.settings.batch:.2f} times, "
        f"so twice the positions are twice the steps."
    )
    found = [once, fitted(study, "Positions, with the same number of steps", sized)]
    if scale.blocks:
        arms = {f"{n} blocks": replace(base, network=base.network.changed(blocks=n)) for n in scale.blocks}
        found.append(compared(study, "Blocks, with the same number of steps", arms))
    return found


def fitted(study: Study, title: str, arms: Mapping[str, Run]) -> Table:
    """A table of numbers of positions, with curves through the accuracies."""
    table = compared(study, title, arms)
    rows = study.compare(arms, study.tests())
    for measure in ("policy_accuracy", "value_accuracy"):
        fits = [
            fit_curve(
                study.scale.sizes,
                [
                    next(each[measure] for each in seed if each["network"] == name and not each["minus"])
                    for name in arms
                ],
            )
            for seed in rows
        ]
        a, b, c = (mean_of(values) for values in zip(*fits, strict=True))
        table.notes.append(
            f"{measure.replace('_', ' ')} = a − b (positions / {max(study.scale.sizes):,})^−c, fitted to each seed: "
            f"a = {text_of(a, False)}, b = {text_of(b, False)}, c = {text_of(c, False)}"
        )
    return table


def kinds(network: NetworkConfig, interval: int) -> dict[str, NetworkConfig]:
    """A ResNet, with large kernels, and with a Transformer block too."""
    large = network.changed(large_kernel_interval=interval, stem="branches")
    return {
        "ResNet": network,
        "large kernels": large,
        "large kernels, Transformer": large.changed(transformer_blocks=1),
    }


def networks(study: Study) -> list[Table]:
    """Kinds of blocks at equal size and at equal time, and how fast they are."""
    scale, base = study.scale, study.base()
    arms = {
        name: replace(base, network=config)
        for name, config in kinds(scale.network, scale.large_kernel_interval).items()
    }
    table = compared(study, f"Kinds of blocks, {scale.network.blocks}x{scale.network.channels}", arms)
    table.notes.append(
        f"Every {scale.large_kernel_interval} blocks one has large kernels; the last is the Transformer."
    )
    trained, timed = study.train(arms), dict(arms)
    cost = {name: statistics.mean(each["seconds"] for each in trained[name]) for name in arms}
    for name, run in arms.items():
        steps = max(1, round(scale.settings.total_steps(0) * cost["ResNet"] / cost[name]))
        timed[name] = replace(run, settings=run.settings.changed(steps=steps))
    equal = compared(study, "Kinds of blocks, with the steps that take equal time", timed)
    equal.notes[:] = [f"{name}: {run.settings.steps:,} steps." for name, run in timed.items()]
    return [table, equal, speeds(study)]


def speeds(study: Study) -> Table:
    """Positions per second of kinds of networks."""
    scale = study.scale
    sizes = {
        f"{name}, {channels} channels": config
        for channels in scale.speed_channels
        for name, config in kinds(
            scale.network.changed(blocks=scale.speed_blocks, channels=channels, transformer_blocks=0), 5
        ).items()
    }
    arguments = (tuple(sizes.items()), scale.speed_batch, scale.speed_seconds, scale.speed_rounds, study.device)
    (found,) = study.do([Job("measured: positions per second", measure_speeds, arguments)])
    table = Table(
        f"Positions per second of the engine's evaluator, {scale.speed_blocks} blocks", ("positions_per_s", "ratio")
    )
    for name, rates in found["positions_per_s"].items():
        base = found["positions_per_s"][f"ResNet, {name.rpartition(', ')[2]}"]
        ratios = [mine / other for mine, other in zip(rates, base, strict=True)]
        table.rows.append((name, {"positions_per_s": mean_of(rates), "ratio": mean_of(ratios)}, False))
    table.notes.append(
        f"Batches of {scale.speed_batch}, {scale.speed_rounds} rounds in turn; ratios to the ResNet of a round."
    )
    return table


def duplicates(study: Study) -> list[Table]:
    """Duplicates averaged or not."""
    count = study.scale.duplicated
    base = replace(study.base(), data=study.drawn(count))
    arms = {"as they are": base, "averaged": replace(base, data=study.averaged(count))}
    tests = study.tests_by_ply()
    table = compared(study, "Duplicate positions averaged or not, by ply of the test", arms, tests)
    if len(tests) == 1:
        table.notes.append("The test set does not know plies: give one in hcpe3 or psv.")
    drawn, left = (len(Dataset(study.folder / "data" / run.data)) for run in arms.values())
    table.notes.append(f"{drawn:,} positions are {left:,} different ones. Both runs have the same number of steps.")
    return [table]


def visits(study: Study) -> list[Table]:
    """The most visited move, or the shares of all visits."""
    scale = study.scale
    shares_run = replace(study.base(), data=study.labelled(scale.labelled, scale.label_nodes))
    arms = {"single moves": replace(shares_run, temperature=0.0), "shares of visits": shares_run}
    table = compared(study, "Single moves and shares of visits", arms)
    table.notes.append(f"{scale.labelled:,} positions, labelled by <5x64> with {scale.label_nodes} nodes.")
    counted: dict[str, Callable[[Found], float]] = {
        "distinct games": lambda found: found["distinct_games"] / found["games"],
        "distinct positions at ply 32": lambda found: found["distinct_positions"] or 0.0,
        "commonest strategy": lambda found: shares(found["strategies"], 1),
        f"{COMMONEST} commonest": lambda found: shares(found["strategies"], COMMONEST),
    }
    return [
        table,
        played(study, "Games of these networks with themselves", arms, counted, scale.random_games, scale.random_nodes),
    ]


def heads(study: Study) -> list[Table]:
    """Each head that only training has, alone, beside none."""
    scale, base = study.scale, study.base()
    bases = {
        "Heads, from whole games": (replace(base, data=study.games(scale.positions)), FOLLOWING_HEADS),
        "The head soft-policy, from shares of visits": (
            replace(base, data=study.labelled(scale.labelled, scale.label_nodes)), ("soft-policy",),
        ),
    }  # fmt: skip
    tables: list[Table] = []
    for title, (plain, names) in bases.items():
        arms = {"none": plain} | {name: replace(plain, network=plain.network.changed(heads=(name,))) for name in names}
        tables.append(compared(study, title, arms))
        weights = {name: getattr(scale.settings, f"{name.replace('-', '_')}_weight") for name in names}
        tables[-1].notes.append(f"Weights: {', '.join(f'{name} {weight:g}' for name, weight in weights.items())}.")
    tables[-1].notes.append(f"{scale.labelled:,} positions, labelled by <5x64> with {scale.label_nodes} nodes.")
    return tables


def colour(study: Study) -> list[Table]:
    """With and without the plane that tells the colour."""
    base, scale = study.base(), study.scale
    arms = {"without": base, "with the plane": replace(base, network=base.network.changed(colour_plane=True))}
    table = compared(study, "With and without the plane of the colour to move", arms)
    counted: dict[str, Callable[[Found], float]] = {
        "Black wins": lambda found: found["black"] / max(1, found["black"] + found["white"]),
        "draws": lambda found: found["draws"] / max(1, found["games"]),
    }
    return [
        table,
        played(
            study,
            "The first move's wins in games of a network with itself",
            arms,
            counted,
            scale.colour_games,
            scale.colour_nodes,
        ),
    ]


def played(
    study: Study,
    title: str,
    arms: Mapping[str, Run],
    counted: Mapping[str, Callable[[Found], float]],
    games: int,
    nodes: int,
) -> Table:
    """Matches of trained networks with themselves: shares, and their differences to the first arm's."""
    found = study.play(arms, games, nodes)
    table, (first, *others) = Table(title, tuple(counted)), arms
    for name in arms:
        table.rows.append(
            (name, {key: mean_of([of(each) for each in found[name]]) for key, of in counted.items()}, False)
        )
    for name in others:
        pairs = list(zip(found[name], found[first], strict=True))
        cells: dict[str, Cell] = {
            key: mean_of([of(mine) - of(base) for mine, base in pairs]) for key, of in counted.items()
        }
        table.rows.append((f"{name} − {first}", cells, True))
    options = " ".join(f"{name}={value}" for name, value in RANDOM)
    table.notes.append(f"{games} games a seed at {nodes} nodes a move from the start position, {options}.")
    return table


TABLES: dict[str, Callable[[Study], list[Table]]] = {
    "ema": averages, "val-lambda": val_lambda, "optimizers": optimizers, "positions": positions, "networks": networks,
    "duplicates": duplicates, "visits": visits, "heads": heads, "colour": colour,
}  # fmt: skip


def read_options(words: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+", help="training positions: hcpe3 files or hcpe files")
    parser.add_argument(
        "--test", type=Path, required=True, help="test set, of other games; hcpe3 knows plies and games"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of all runs and results")
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES), help="tables to make")
    parser.add_argument("--seeds", type=int, help="seeds of each run; 3 without it")
    parser.add_argument("--jobs", type=int, default=1, help="runs at once, each on one core, or all on one GPU")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--gpu", action="store_true", help="larger networks and more data, on CUDA")
    size.add_argument("--tiny", action="store_true", help="seconds instead of hours, to see whether everything works")
    parser.add_argument("--device", help='"cpu", "cuda", "cuda:1"; CUDA with --gpu, else the CPU')
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(words)
    if options.seeds is not None and options.seeds < 1:
        parser.error("--seeds must be 1 or more")
    if options.jobs < 1:
        parser.error("--jobs must be 1 or more")
    for path in (*options.data, options.test):
        if not path.is_file():
            parser.error(f"{path}: no such file")
    return options


def main(words: Sequence[str] | None = None) -> None:
    """Make the tables, and print them."""
    options = read_options(words)
    scale = TINY if options.tiny else GPU if options.gpu else CPU
    scale = replace(scale, seeds=options.seeds or scale.seeds)
    files = {str(path): path.stat().st_size for path in (*options.data, options.test)}
    made: dict[str, list[Table]] = {}
    try:
        with pieces_of_work(options.out, options.jobs, {"data and test, bytes": files}) as pool:
            study = Study(options, scale, pool)
            for name in options.only:
                made[name] = TABLES[name](study)
                for table in made[name] if not options.json else ():
                    print(f"{table.markdown()}\n", flush=True)
    except (DataFileError, DeviceError) as error:
        sys.exit(str(error))
    if options.json:
        print(json.dumps({name: [table.as_dict() for table in tables] for name, tables in made.items()}))


if __name__ == "__main__":
    main()
