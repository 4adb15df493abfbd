"""OpenCL on a device, PoCL's CPU where there is no other: whole networks beside ONNX Runtime, layers beside oneDNN.

    python benchmarks/opencl.py [--json] [--shape 10x192] [--batch 32] [--seconds 1] [--repeats 5] [--device 0]
    python benchmarks/opencl.py --agreement GAMES... [--networks '<5x64>' 10x192 FILE.onnx ...] [--positions 4096]

Each network and each layer is run in turn with its peer in every repeat. Rates are positions per second of CPU time on
a CPU, by the clock on a GPU; medians of the repeats. The networks have random parameters: their speed does not depend
on them. `ratio_to_ort_fp32` is of the whole network to ONNX Runtime in fp32 on the CPU, with all CPUs. Layers are 3x3
(Winograd), 1x1, 1x9, 9x1 and dense, each with bias and ReLU, the first with a residual; the peer is the same in torch,
whose CPU kernels are oneDNN's.

--agreement compares best moves and win rates with ONNX Runtime's fp32 instead, on positions drawn from games: records
or training data of any format. A network is an embedded one, a file, or a shape, to which the embedded one is grown.
"""

# pyright: reportUnknownMemberType=false

import argparse
import json
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyopencl as cl
import torch
import torch.nn.functional as F  # noqa: N812 - the usual name
from torch import Tensor

from fukayomi.engine import Network
from fukayomi.engine.evaluation import compare, evaluate
from fukayomi.engine.evaluators.backends.opencl.devices import OpenClDevice, ranked, starting_parameters
from fukayomi.engine.evaluators.backends.opencl.layers import Activation, Convolution, Layers, Value
from fukayomi.engine.evaluators.backends.opencl.network import Compiler, NetworkOnDevice, allocate
from fukayomi.engine.evaluators.timing import filled_slot, probe_positions, run_batches
from fukayomi.learning.int8 import draw_positions
from fukayomi.nn import export_onnx
from random_networks import grown_network, random_network

SQUARES = 81
HIDDEN = 256
SHAPE = re.compile(r"\d+x\d+")
"""Name of a grown network."""


def clock(device: OpenClDevice) -> Callable[[], float]:
    """Seconds of CPU time on a CPU, else of the clock."""
    return time.perf_counter if device.is_gpu else time.process_time


def networks(
    shape: str, batch: int, device: OpenClDevice, number: int, seconds: float, repeats: int
) -> dict[str, float]:
    """Positions a second of a network, by backend and precision."""
    now = clock(device)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{shape}.onnx"
        export_onnx(random_network(shape), path)
        named = {
            "ort_fp32": Network(
                path, device="cpu", precision="fp32", batch_size=batch, threads=torch.get_num_threads()
            ),
            "native_fp32": Network(
                path, device="native", precision="fp32", batch_size=batch, threads=torch.get_num_threads()
            ),
            "opencl_fp32": Network(path, device="opencl", precision="fp32", batch_size=batch, gpu=number),
            "opencl_fp16": Network(path, device="opencl", precision="fp16", batch_size=batch, gpu=number),
        }
        slots = {name: [filled_slot(each.evaluator, batch, probe_positions())] for name, each in named.items()}
        rates: dict[str, list[float]] = {name: [] for name in named}
        for turn in range(repeats + 1):
            for name, network in named.items():
                start = now()
                done = run_batches(network.evaluator, slots[name], batch, seconds if turn else 0) * batch
                if turn:  # the first prepares
                    rates[name].append(done / (now() - start))
        for network in named.values():
            network.close()
    return {name: statistics.median(found) for name, found in rates.items()}


def agreements(
    names: Sequence[str], games: Sequence[Path], count: int, batch: int, number: int
) -> list[dict[str, str | float]]:
    """Agreement of each network in each precision with ONNX Runtime in fp32, on positions drawn from games."""
    positions = draw_positions(games, count)
    found: list[dict[str, str | float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            path: str | Path = name
            if SHAPE.fullmatch(name):
                path = Path(folder) / f"{name}.onnx"
                export_onnx(grown_network(name), path)
            with Network(path, device="cpu", precision="fp32", batch_size=batch, threads=1, cache_mb=0) as exact:
                reference = evaluate(exact.evaluator, positions)
            for precision in ("fp32", "fp16"):
                with Network(
                    path, device="opencl", precision=precision, batch_size=batch, gpu=number, cache_mb=0
                ) as network:
                    agreement = compare(network.evaluator, reference, positions)
                found.append({"network": Path(name).name, "precision": precision, **agreement.as_dict()})
    return found


def print_agreements(rows: Sequence[dict[str, str | float]]) -> None:
    """Print a table in Markdown."""
    print("| network | precision | positions | same best move | mean error of the win rate | largest |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row['network']} | {row['precision']} | {row['positions']:,} | {row['top1']:.2%} | "
            f"{row['value_error']:.1e} | {row['max_value_error']:.1e} |"
        )


def _convolution(layer: Convolution) -> Callable[[Tensor], Tensor]:
    """The same in torch."""
    kernels = torch.from_numpy(layer.weights).to(memory_format=torch.channels_last)
    bias, (height, width) = torch.from_numpy(layer.bias), layer.weights.shape[2:]

    def compute(x: Tensor) -> Tensor:
        y = F.conv2d(x, kernels, bias, padding=(height // 2, width // 2))
        return F.relu_(y if layer.residual is None else y.add_(x))

    return compute


def layers(channels: int) -> dict[str, tuple[Convolution, Callable[[Tensor], Tensor]]]:
    """A layer of each kind, and the same in torch."""
    draw = np.random.default_rng(0)
    found: dict[str, tuple[Convolution, Callable[[Tensor], Tensor]]] = {}
    for name, kernel in (("3x3", (3, 3)), ("1x1", (1, 1)), ("1x9", (1, 9)), ("9x1", (9, 1))):
        weights = draw.standard_normal((channels, channels, *kernel)).astype(np.float32) / channels
        bias, source = np.zeros(channels, np.float32), Value(channels, SQUARES)
        residual = source if name == "3x3" else None
        layer = Convolution(source, Value(channels, SQUARES), weights, bias, Activation.RELU, residual)

        found[name] = layer, _convolution(layer)
    weights = draw.standard_normal((HIDDEN, channels * SQUARES, 1, 1)).astype(np.float32) / channels
    bias = np.zeros(HIDDEN, np.float32)
    dense = Convolution(Value(channels, SQUARES), Value(HIDDEN, 1), weights, bias, Activation.RELU)
    found["dense"] = dense, lambda x: F.relu_(F.linear(x.flatten(1), torch.from_numpy(weights[:, :, 0, 0])))
    return found


def layer_rates(
    channels: int, batch: int, device: OpenClDevice, seconds: float, repeats: int
) -> dict[str, dict[str, float]]:
    """Positions a second of each layer, here and in torch."""
    now, found = clock(device), dict[str, dict[str, float]]()
    for name, (layer, peer) in layers(channels).items():
        nothing = Value(1, 1)
        network = Layers(layer.source, nothing, [layer], layer.out, np.zeros(2187, np.float32), nothing)
        on_device = NetworkOnDevice(device.handle, network, starting_parameters(device))
        memory = allocate(on_device, batch)
        for buffer in memory.numbers.values():  # what lies there by chance may be denormal, which is slow
            cl.enqueue_fill_buffer(memory.queue, buffer, np.float32(1), 0, buffer.size)
        calls = Compiler(on_device, memory, -(-batch // on_device.parameters.lanes)).compile()
        x = torch.ones(batch, channels, 9, 9).to(memory_format=torch.channels_last)

        def own(calls: list = calls, queue: cl.CommandQueue = memory.queue) -> None:  # pyright: ignore[reportMissingTypeArgument]
            for call in calls:
                call.enqueue(queue)
            queue.finish()

        def theirs(x: Tensor = x, peer: Callable[[Tensor], Tensor] = peer) -> None:
            with torch.inference_mode():
                peer(x)

        rates: dict[str, list[float]] = {"opencl": [], "torch": []}
        for turn in range(repeats + 1):
            for who, work in (("opencl", own), ("torch", theirs)):
                start, begin, done = now(), time.perf_counter(), 0
                while not done or (turn and time.perf_counter() - begin < seconds / 4):
                    work()
                    done += batch
                if turn:
                    rates[who].append(done / (now() - start))
        medians = {who: statistics.median(values) for who, values in rates.items()}
        found[name] = medians | {"ratio": medians["opencl"] / medians["torch"]}
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--shape", default="10x192", help="blocks x channels of the network")
    parser.add_argument("--batch", type=int, default=32, help="positions per batch")
    parser.add_argument("--seconds", type=float, default=1.0, help="duration of each measurement")
    parser.add_argument("--repeats", type=int, default=5, help="measurements of each")
    parser.add_argument("--device", type=int, default=0, help="number of the device, the best first")
    parser.add_argument("--agreement", nargs="+", type=Path, metavar="GAMES", help="files of positions to compare on")
    parser.add_argument("--networks", nargs="+", default=["<5x64>", "10x192"], metavar="NETWORK", help="to compare")
    parser.add_argument("--positions", type=int, default=4096, help="to compare on, drawn at random")
    arguments = parser.parse_args()
    if arguments.agreement:
        rows = agreements(
            arguments.networks, arguments.agreement, arguments.positions, arguments.batch, arguments.device
        )
        if arguments.json:
            print(json.dumps(rows, indent=1))
        else:
            print_agreements(rows)
        return
    device = ranked()[arguments.device]
    rates = networks(arguments.shape, arguments.batch, device, arguments.device, arguments.seconds, arguments.repeats)
    channels = int(arguments.shape.split("x")[1])
    document = {
        "device": str(device),
        "version": device.version,
        "shape": arguments.shape,
        "batch": arguments.batch,
        "positions_per_s": {name: round(rate, 1) for name, rate in rates.items()},
        "ratio_to_ort_fp32": round(rates["opencl_fp32"] / rates["ort_fp32"], 3),
        "layers": layer_rates(channels, arguments.batch, device, arguments.seconds, arguments.repeats),
    }
    if arguments.json:
        print(json.dumps(document, indent=1))
        return
    print(f"{device}, {device.version}")
    for name, rate in rates.items():
        print(f"{arguments.shape} {name:12} {rate:10,.1f} positions/s  {rate / rates['ort_fp32']:.2f} x ort_fp32")
    for name, found in document["layers"].items():
        print(f"{name:6} {channels} channels  {found['opencl']:12,.0f} positions/s  {found['ratio']:.2f} x torch")


if __name__ == "__main__":
    main()
