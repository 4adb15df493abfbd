"""A generation of the learning loop in fp32 and in int8: games per second of CPU time, in turn.

    python benchmarks/generation.py [--json] [--preset NAME] [--playouts 32] [--games 32] [--repeats 3]

Both play with the generator of `fukayomi learn`, on a thread, from the same network and seed: the embedded network, or
with `--preset` the first network of that preset, whose settings of self-play are then taken. `int8_file` is what a
generation pays for its int8 file, seconds of CPU time. Rates are medians of the repeats; CPU time, because other
programs disturb it less.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from fukayomi.engine.network import embedded_network
from fukayomi.learning.int8 import export_int8
from fukayomi.listener import SILENT
from fukayomi.loop import LoopSettings, build_settings
from fukayomi.loop.folder import RunFolder
from fukayomi.loop.generation import play_here
from fukayomi.loop.learner import create_network
from fukayomi.loop.settings import GeneratorSettings

PRECISIONS = ("fp32", "int8")


def rates(settings: LoopSettings, network: Path, precision: str, games: int) -> tuple[float, float, float]:
    """Games, positions and evaluations per second of CPU time."""
    machine = GeneratorSettings.model_validate({"precision": precision, "devices": 1})
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
    parser.add_argument("--preset", help="preset of fukayomi learn; the embedded network by default")
    parser.add_argument("--playouts", type=int, help="playouts of a move; 32, or those of the preset")
    parser.add_argument("--games", type=int, default=32, help="games of a generation")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    playouts = given.playouts or (None if given.preset else 32)
    settings = build_settings(
        {"preset": given.preset} if given.preset else {},
        {"generator": {"precision": "fp32"}, "selfplay": {"playouts": playouts} if playouts else {}},
    )
    with tempfile.TemporaryDirectory() as name:
        folder = RunFolder(name)
        if given.preset:
            create_network(settings, folder, SILENT)
        network = folder.network(0) if given.preset else embedded_network()
        copy = folder.path / "network.onnx"
        copy.write_bytes(network.read_bytes())
        begin = time.process_time()
        export_int8(copy, folder.path / "network.int8.onnx")
        int8_file = time.process_time() - begin
        found: dict[str, list[tuple[float, float, float]]] = {precision: [] for precision in PRECISIONS}
        for _ in range(given.repeats):
            for precision in PRECISIONS:
                found[precision].append(rates(settings, copy, precision, given.games))
    names = ("games_per_cpu_s", "positions_per_cpu_s", "evaluations_per_cpu_s")
    report = {
        precision: dict(zip(names, map(statistics.median, zip(*each, strict=True)), strict=True))
        for precision, each in found.items()
    }
    ratios = [int8[0] / fp32[0] for fp32, int8 in zip(found["fp32"], found["int8"], strict=True)]
    if given.json:
        print(json.dumps({**report, "ratio": statistics.median(ratios), "ratios": ratios, "int8_file": int8_file}))
        return
    for precision, values in report.items():
        print(f"{precision}  " + "  ".join(f"{name} {value:.3f}" for name, value in values.items()))
    print(f"int8 / fp32: {statistics.median(ratios):.2f} times the games ({min(ratios):.2f} to {max(ratios):.2f})")
    print(f"int8 file: {int8_file:.1f} s of CPU time")


if __name__ == "__main__":
    main()
