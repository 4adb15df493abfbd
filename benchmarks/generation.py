"""A generation of the learning loop by device and precision: games per second of CPU time, in turn.

    python benchmarks/generation.py [--json] [--preset NAME] [--playouts 32] [--games 32] [--repeats 3]

Fukayomi's own code in fp32, and ONNX Runtime in fp32 and int8, play with the generator of `fukayomi learn`, on a
thread, from the same network and seed: `<5x64>`, or with `--preset` the first network of that preset, whose
settings of self-play are then taken. `int8_file` is what a generation pays for its int8 file, seconds of CPU time.
Rates are medians of the repeats; CPU time, because other programs disturb it less. Ratios are to ONNX Runtime in fp32.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from fukayomi._native import cpu_instructions
from fukayomi.engine.network import embedded_network
from fukayomi.learning.int8 import export_int8
from fukayomi.loop import LoopSettings, build_settings
from fukayomi.loop.generation import play_here
from fukayomi.loop.learner import create_network
from fukayomi.loop.run import Run
from fukayomi.loop.settings import GeneratorSettings

KINDS = [("cpu", "fp32"), ("cpu", "int8"), ("native", "fp32")]
"""Devices and precisions; the first is what the others are compared with."""
if cpu_instructions("int16"):
    KINDS.append(("native", "int16"))


def rates(settings: LoopSettings, network: Path, kind: tuple[str, str], games: int) -> tuple[float, float, float]:
    """Games, positions and evaluations per second of CPU time."""
    machine = GeneratorSettings.model_validate({"device": kind[0], "precision": kind[1], "devices": 1})
    with tempfile.TemporaryDirectory() as folder:
        begin = time.process_time()
        result = play_here(
            machine,
            settings.selfplay,
            network,
            Path(folder),
            seed=settings.seed,
            league=None,
            name="local",
            games=games,
        )
        seconds = time.process_time() - begin
    found = result.progress
    return found.games / seconds, found.positions / seconds, found.evaluations / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--preset", help="preset of fukayomi learn; <5x64> by default")
    parser.add_argument("--playouts", type=int, help="playouts of a move; 32, or those of the preset")
    parser.add_argument("--games", type=int, default=32, help="games of a generation")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    playouts = given.playouts or (None if given.preset else 32)
    settings = build_settings(
        {"preset": given.preset} if given.preset else {},
        {"selfplay": {"playouts": playouts} if playouts else {}},
    )
    with tempfile.TemporaryDirectory() as name:
        run = Run(settings, name)
        folder = run.folder
        if given.preset:
            create_network(run)
        network = folder.network(0) if given.preset else embedded_network()
        copy = folder.path / "network.onnx"
        copy.write_bytes(network.read_bytes())
        begin = time.process_time()
        export_int8(copy, folder.path / "network.int8.onnx")
        int8_file = time.process_time() - begin
        found: dict[str, list[tuple[float, float, float]]] = {" ".join(kind): [] for kind in KINDS}
        for _ in range(given.repeats):
            for kind in KINDS:
                found[" ".join(kind)].append(rates(settings, copy, kind, given.games))
    names = ("games_per_cpu_s", "positions_per_cpu_s", "evaluations_per_cpu_s")
    report = {
        kind: dict(zip(names, map(statistics.median, zip(*each, strict=True)), strict=True))
        for kind, each in found.items()
    }
    base, *others = found
    ratios = {kind: [a[0] / b[0] for a, b in zip(found[kind], found[base], strict=True)] for kind in others}
    if given.json:
        print(json.dumps({**report, "ratios": ratios, "int8_file": int8_file}))
        return
    for kind, values in report.items():
        print(f"{kind}  " + "  ".join(f"{name} {value:.3f}" for name, value in values.items()))
    for kind, each in ratios.items():
        print(f"{kind}: {statistics.median(each):.2f} times the games of {base} ({min(each):.2f} to {max(each):.2f})")
    print(f"int8 file: {int8_file:.1f} s of CPU time")


if __name__ == "__main__":
    main()
