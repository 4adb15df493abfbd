"""Networks in int8: quantised on positions of games, and compared with float32 on others."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from fukayomi import _native
from fukayomi.data.convert.reading import read_rows
from fukayomi.data.formats.hcpe import HCPE
from fukayomi.engine.choice import load
from fukayomi.engine.evaluation import Agreement, compare, sample_positions
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.backend import Plan
from fukayomi.engine.evaluators.backends.machine import usable_cpus
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.protocol import NetworkEvaluator
from fukayomi.files.atomic import replace_file
from fukayomi.learning.models import ModelFileError, OnnxNetwork, features_of, load_network, residual
from fukayomi.listener import SILENT, Listener
from fukayomi.nn.config import Activation
from fukayomi.nn.export import export_onnx
from fukayomi.nn.quantization import QuantizationError, quantize_onnx
from fukayomi.shogi import Position

CALIBRATION_POSITIONS = 512
COMPARED_POSITIONS = 4096
MOST_LOST = 0.03
"""Share of positions in which int8 may take another best move than float32, and is still as good as float32."""


@dataclass(frozen=True)
class Int8Export:
    """Result of `export_int8`."""

    path: Path
    """The file written."""
    calibration_positions: int
    """Positions on which the activations were measured."""
    agreement: Agreement
    """Agreement of the file with the network in float32, on positions that were not used to make it."""

    @property
    def keeps_best_moves(self) -> bool:
        """True if no more than `MOST_LOST` of the best moves are other ones."""
        return 1 - self.agreement.top1 <= MOST_LOST


def export_int8(
    network: Path | str,
    path: Path | str,
    calibration: Sequence[str | PathLike[str]] = (),
    *,
    positions: int = CALIBRATION_POSITIONS,
    seed: int = 0,
    activation: Activation | None = None,
    listener: Listener = SILENT,
) -> Int8Export:
    """Write a network as an ONNX file that computes in int8, and compare it with float32.

    The engine finds such a file as NAME.int8.onnx beside NAME.onnx, and takes it where it is faster (DNN_Precision).

    Args:
        network: A checkpoint, a .safetensors or an .onnx file, or dlshogi's .npz or .pth.
        path: The file to write.
        calibration: Files with positions of games, on which the size of the activations is measured: hcpe, hcpe2,
            hcpe3, psv, avg, or records. By default the network plays games against itself.
        positions: How many of them to use, drawn at random.
        seed: Random seed.
        activation: Activation of a network of dlshogi whose file does not say it.
        listener: Follows the work.

    Raises:
        QuantizationError: The network cannot be quantised, or there are too few positions.
        CheckpointError, ParameterFileError, ModelFileError: The network's file is missing, damaged or something else.
        DataFileError, SourceError: A calibration file is damaged or has no positions.
        OSError: A file cannot be read or written.
    """
    network, path = Path(network), Path(path)
    wanted = positions + COMPARED_POSITIONS
    found = draw_positions([Path(file) for file in calibration], wanted, seed=seed, listener=listener)
    with tempfile.TemporaryDirectory(prefix="fukayomi-") as folder:
        source = network
        if network.suffix.lower() != ".onnx":
            source = Path(folder, "float32.onnx")
            purpose = "have an ONNX file in int8 (its own, .sparse, is in integers)"
            export_onnx(residual(load_network(network, activation=activation), network, purpose), source)
        try:
            reference = _evaluator(source)
            if not calibration:
                listener.progress("playing games to calibrate on", 0, None)
                found = sample_positions(reference, wanted, seed)
            chosen, others = _divide(found, positions, seed)
            listener.progress("quantising", 0, None)
            content = quantize_onnx(source, *features_of(chosen, OnnxNetwork(source).features2))
            quantized = Path(folder, "int8.onnx")
            quantized.write_bytes(content)
            listener.progress("comparing with float32", 0, None)
            agreement = compare(_evaluator(quantized), reference, others)
        except EvaluatorError as error:
            raise ModelFileError(str(error)) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content)
    return Int8Export(path, len(chosen), agreement)


def draw_positions(files: Sequence[Path], count: int, *, seed: int = 0, listener: Listener = SILENT) -> list[Position]:
    """Positions of files, drawn at random without replacement; all of them if there are fewer.

    Args:
        files: hcpe, hcpe2, hcpe3, psv, avg, or records.
        count: Number of positions.
        seed: Random seed; the same seed gives the same positions.
        listener: Follows the bytes of each file, and hears of records that cannot be read.

    Raises:
        DataFileError, SourceError: A file is damaged, or has no positions.
        OSError: A file cannot be read.
    """
    random = np.random.default_rng(seed)
    rows, keys = np.zeros(0, HCPE), np.zeros(0)
    for file in files:
        for part in read_rows(file, listener=listener):
            rows, keys = np.concatenate([rows, part]), np.concatenate([keys, random.random(len(part))])
            kept = np.sort(np.argsort(keys, kind="stable")[:count])
            rows, keys = rows[kept], keys[kept]
    if files and not len(rows):
        raise QuantizationError(f"no positions to calibrate on in {', '.join(map(str, files))}")
    return [_native.position_from_hcp(hcp.tobytes()) for hcp in rows["hcp"]]


def _divide(found: list[Position], positions: int, seed: int) -> tuple[list[Position], list[Position]]:
    """Positions to calibrate on and others to compare on, both in random order; half of them each if they are few."""
    order = np.random.default_rng(seed).permutation(len(found)).tolist()
    count = min(positions, len(found) // 2)
    return [found[n] for n in order[:count]], [found[n] for n in order[count : count + COMPARED_POSITIONS]]


def _evaluator(path: Path) -> NetworkEvaluator:
    """The file as it is, in ONNX Runtime on the CPU."""
    return load(NetworkFile(path), Plan("cpu", "fp32", threads=usable_cpus(), slots=1, batch_size=64))
