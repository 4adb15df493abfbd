"""An ONNX file with dlshogi's inputs and outputs, in ONNX Runtime: what it must be, and one call that runs it.

    input1         float [N, 62, 9, 9]
    input2         float [N, 57, 9, 9]
    output_policy  float [N, 2187], logits
    output_value   float [N, 1], the win probability of the side to move

All may be float16, float32 or float64; callers see float32. N is free, or a number, and then the positions go through
the network in batches of that number.
"""

from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
from numpy.typing import NDArray

from fukayomi._native import FEATURES1, FEATURES2, POLICY_LABELS
from fukayomi.engine.evaluators import EvaluatorError

ort = cast(Any, onnxruntime)  # it has no types
INPUTS = {"input1": (FEATURES1, 9, 9), "input2": (FEATURES2, 9, 9)}
OUTPUTS = ("output_policy", "output_value")
FLOATS = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}
CPU = "CPUExecutionProvider"
LARGEST_FILE = 2 << 30
LARGEST_BATCH = 1024
"""Largest fixed N."""
Floats = NDArray[np.float32]


class _Node(Protocol):
    """An input or output of a session; ONNX Runtime has no types for Python."""

    name: str
    type: str
    shape: list[int | str | None]


class _Session(Protocol):
    """The part of ort.InferenceSession that is used here."""

    def get_inputs(self) -> list[_Node]: ...
    def get_outputs(self) -> list[_Node]: ...
    def get_providers(self) -> list[str]: ...
    def run(self, names: list[str], feed: dict[str, NDArray[Any]]) -> list[NDArray[Any]]: ...


class OnnxModel:
    """A network in a session of ONNX Runtime.

    Args:
        path: The ONNX file.
        provider: ONNX Runtime's name of what runs it.
        provider_options: Its options.
        threads: CPU threads for one batch; 0: all.

    Raises:
        EvaluatorError: The file is not a network for shogi.
    """

    path: Path
    provider: str
    """What runs it; the CPU if the given provider cannot be started."""
    fixed_batch: int
    """The file's N; 0: free."""

    def __init__(
        self, path: Path, *, provider: str = CPU, provider_options: dict[str, str] | None = None, threads: int = 0
    ) -> None:
        self.path = path
        try:
            if path.stat().st_size > LARGEST_FILE:
                raise EvaluatorError(f"{path}: larger than {LARGEST_FILE >> 30} GiB, the limit of ONNX files")
        except OSError as error:
            raise EvaluatorError(f"cannot read the network {path}: {error.strerror}") from error
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # errors come as exceptions, which say more
        providers: list[Any] = [(provider, provider_options or {})]
        if provider != CPU:
            providers.append(CPU)
        try:
            self._session = cast(_Session, ort.InferenceSession(str(path), options, providers=providers))
        except Exception as error:  # ONNX Runtime's errors have no common base
            raise EvaluatorError(f"{path}: ONNX Runtime cannot load it: {error}") from error
        self.provider = self._session.get_providers()[0]
        self._types, self.fixed_batch = _check_interface(path, self._session)

    def run(self, features1: Floats, features2: Floats) -> tuple[Floats, Floats]:
        """Policy [N, 2187] and win probabilities [N] of N positions.

        Args:
            features1: float32 [N, 62, 9, 9].
            features2: float32 [N, 57, 9, 9].

        Raises:
            EvaluatorError: The network failed, or its outputs have another shape.
        """
        count, size = len(features1), self.fixed_batch
        if size in (0, count):
            return self._run(features1, features2)
        parts = [
            self._run(_rows(features1, start, size), _rows(features2, start, size)) for start in range(0, count, size)
        ]
        policy, values = (np.concatenate(outputs)[:count] for outputs in zip(*parts, strict=True))
        return policy, values

    def _run(self, features1: Floats, features2: Floats) -> tuple[Floats, Floats]:
        """As `run`, for one batch of the session."""
        count = len(features1)
        feed = {
            name: features.astype(self._types[name], copy=False)
            for name, features in zip(INPUTS, (features1, features2), strict=True)
        }
        try:
            policy, values = self._session.run(list(OUTPUTS), feed)
        except Exception as error:  # as above
            raise EvaluatorError(f"{self.path}: ONNX Runtime failed: {error}") from error
        if policy.shape[:1] != (count,) or policy.size != count * POLICY_LABELS or values.size != count:
            raise EvaluatorError(
                f"{self.path}: output_policy and output_value must be [N, {POLICY_LABELS}] and [N, 1]; "
                f"for {count} positions they are {list(policy.shape)} and {list(values.shape)}"
            )
        with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite
            policy, values = policy.astype(np.float32, copy=False), values.astype(np.float32, copy=False)
        return policy.reshape(count, POLICY_LABELS), values.reshape(count)

    def check_numbers(self, policy: Floats, values: Floats) -> None:
        """Check that outputs of `run` are finite logits and probabilities; raises EvaluatorError if they are not."""
        if not np.isfinite(policy).all():
            raise EvaluatorError(f"{self.path}: output_policy has a number that is not finite")
        if not ((values >= 0) & (values <= 1)).all():
            raise EvaluatorError(
                f"{self.path}: output_value must be a win probability, from 0 to 1; it is {values.min()} to "
                f"{values.max()}. A network that ends in a logit must be exported with a sigmoid"
            )


def _rows(features: Floats, start: int, size: int) -> Floats:
    """Rows from `start` on, filled up with zeros to `size` rows."""
    rows = features[start : start + size]
    if len(rows) == size:
        return rows
    return np.concatenate([rows, np.zeros((size - len(rows), *rows.shape[1:]), np.float32)])


def _check_interface(path: Path, session: _Session) -> tuple[dict[str, Any], int]:
    """Check inputs and outputs as far as the file declares them.

    Returns:
        The type of each input, and the fixed batch size of the file; 0 if it takes any.

    Raises:
        EvaluatorError: The file is not a network for shogi.
    """
    inputs = {node.name: node for node in session.get_inputs()}
    outputs = {node.name: node for node in session.get_outputs()}
    if set(inputs) != set(INPUTS) or not set(OUTPUTS) <= set(outputs):
        raise EvaluatorError(
            f"{path}: a network for shogi has the inputs {', '.join(INPUTS)} and the outputs {', '.join(OUTPUTS)}; "
            f"this one has {', '.join(inputs)} and {', '.join(outputs)}"
        )
    for name in OUTPUTS:
        if outputs[name].type not in FLOATS:
            raise EvaluatorError(f"{path}: {name} must be float16, float32 or float64; it is {outputs[name].type}")
    batches = {_fixed_batch(path, inputs[name], shape) for name, shape in INPUTS.items()} - {0}
    if len(batches) > 1:
        raise EvaluatorError(f"{path}: the inputs have different batch sizes: {', '.join(map(str, sorted(batches)))}")
    return {name: FLOATS[node.type] for name, node in inputs.items()}, max(batches, default=0)


def _fixed_batch(path: Path, node: _Node, shape: tuple[int, ...]) -> int:
    """The batch size that an input declares; 0 if it takes any."""
    batch, *rest = node.shape or [None]
    fits = len(rest) == len(shape) and all(
        has == wanted or not isinstance(has, int) for has, wanted in zip(rest, shape, strict=True)
    )
    if not fits or node.type not in FLOATS:
        hint = "; it expects dlshogi's extra planes for entering kings" if rest[:1] == [119] else ""
        raise EvaluatorError(
            f"{path}: {node.name} must be float [N, {', '.join(map(str, shape))}]; it is {node.type} {node.shape}{hint}"
        )
    if not isinstance(batch, int) or batch < 0:
        return 0
    if not 1 <= batch <= LARGEST_BATCH:
        raise EvaluatorError(
            f"{path}: {node.name} has a fixed batch size of {batch}; 1 to {LARGEST_BATCH}, or a free one, can be used"
        )
    return batch
