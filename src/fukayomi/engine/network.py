"""Networks: finding the file, loading it, evaluating positions with it."""

import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.backend import Plan
from fukayomi.engine.settings import (
    ANALYSIS_CANDIDATES,
    ANALYSIS_NODES,
    ANALYSIS_TIME_MS,
    DEFAULT_NAMES,
    INTERNAL_NETWORK,
    SPARSE_ANALYSIS_NODES,
    Device,
    UsiSettings,
    is_network_name,
    read_suggestions,
    usi_options,
)
from fukayomi.errors import InvalidValueError
from fukayomi.shogi import Position
from fukayomi.usi.options import Options, Suggestion
from fukayomi.usi.text import shorten

if TYPE_CHECKING:
    from fukayomi.engine.analysis.game_analysis import SearchLimits
    from fukayomi.engine.evaluation import Evaluation
    from fukayomi.engine.evaluator_pool import EvaluatorPool
    from fukayomi.engine.evaluators.protocol import Evaluator, NetworkEvaluator, NetworkModel

NETWORKS = Path(__file__).parent / "networks"
STUBS = ("<hash>", "<uniform>")
"""Names that stand for evaluators without a network, for tests and measurements."""
SUGGESTIONS_BYTES = 1 << 16
"""Largest file of options beside a network."""


class Network:
    """A network that judges positions: the chance of winning, and the probability of each move.

    It is loaded at once, which takes less than a second, and some seconds when it is measured. Several `Engine`s may
    share it. Close it, or use it in a `with` statement.

        >>> from fukayomi.engine import Network
        >>> from fukayomi.shogi import Position
        >>> with Network() as network:
        ...     evaluation = network.evaluate(Position())
        >>> len(evaluation.policies[0]), round(sum(evaluation.policies[0].values()), 3)
        (30, 1.0)

    Several networks may search one tree together: each evaluates its part of the positions, or all of them evaluate
    each position and their weighted mean counts. `evaluate` then asks the first, or all.

        >>> with Network(["<internal>", "<hash>"], weights=[3, 1]) as ensemble:
        ...     ensemble.evaluate(Position()).winrates.shape
        (1,)

    Args:
        model: ONNX file with dlshogi's inputs and outputs, file of a sparse network (.sparse) or of parameters
            (.safetensors); a module in torch that maps dlshogi's planes, float32 [N, 62, 9, 9] and [N, 57, 9, 9], to
            the logits of policy [N, 2187] and value [N, 1], of which it takes a copy; or an evaluator of your own
            (`PlaneEvaluator`); or several of these. By default a network that comes with the package
            (`find_network`); "<5x64>" is the one of this name.
        device: Library and device that run it, a value of DNN_Provider: "native" (our own code on the CPU), "cpu" (ONNX
            Runtime), "openvino", "torch-cuda", "cuda", "tensorrt". "auto" takes the fastest; what is left open is
            measured when the network is first loaded on a computer.
        precision: "fp32", "fp16", "bf16", "int16" or "int8". "auto" takes a lower one where it is clearly faster and
            agrees with fp32; for results that are the same on every computer, name device and precision.
        threads: CPU threads for one batch; 0: measured.
        batch_size: Positions per batch; 0: measured.
        gpu: Number of the GPU, from 0, where a network runs on one; with "opencl" of the device, the best first. Of
            several networks the others take the GPUs after it.
        weights: Weights of several networks whose mean counts; only their ratios matter. None: each position is
            evaluated by one of them.
        cache_mb: Memory in MiB for evaluations of positions that may come again, which all engines with the network
            share; 0: none. Without a cache, the same search after other searches finds exactly the same.
        review_model: Where the network is a sparse one: a residual network that has the last word about the moves of
            positions that a search visits often, a value of Review_Model; "": none. None: what the file beside the
            network says.

    Raises:
        EvaluatorError: The file is missing or is no network for shogi, or cannot be run so on this computer.
        ValueError: The device or precision is unknown, a number is out of range, the weights do not fit, or the
            model is something else.
    """

    name: str
    """Name: that of the file, "embedded network" (with its name, where there are several), or the class of
    the evaluator."""
    settings: UsiSettings
    """Options of the search, with those that a file beside the network suggests (``network.onnx.ini``,
    ``network.sparse.ini``)."""
    problems: tuple[str, ...]
    """Lines of that file that cannot be used, and why."""
    evaluators: "tuple[Evaluator, ...]"
    """They evaluate batches of positions; more than one where several networks share the positions out."""

    def __init__(
        self,
        model: "NetworkModel | Sequence[NetworkModel] | None" = None,
        *,
        device: str = "auto",
        precision: str = "auto",
        threads: int = 0,
        batch_size: int = 0,
        gpu: int = 0,
        weights: Sequence[float] | None = None,
        cache_mb: int = 64,
        review_model: str | None = None,
    ) -> None:
        options = usi_options()
        given = {
            "DNN_Provider": device,
            "DNN_Precision": precision,
            "Threads": str(threads),
            "DNN_Batch_Size": str(batch_size),
            "DNN_GPU": str(gpu),
            "Eval_Cache": str(cache_mb),
        }
        for option in options.declared:
            if option.name in given and given[option.name] != option.default:
                options.set(option.name, given[option.name])
        if review_model is not None:
            options.set("Review_Model", review_model)
        models = list(model) if isinstance(model, Sequence) and not isinstance(model, str) else [model]
        if not models:
            raise InvalidValueError("a search needs at least one network")
        self.problems = ()
        first = INTERNAL_NETWORK if models[0] is None else models[0]
        is_one = all(each is models[0] or each == models[0] for each in models)
        has_file = is_one and isinstance(first, str | Path) and first not in STUBS
        if isinstance(first, str | Path):
            options.set("DNN_Model", str(first))
            self.problems = tuple(take_suggestions(options))
        self.settings = options.settings
        plan = self.settings.plan()
        self._file = find_network(str(first), plan) if has_file else None
        for given in models:
            _look_for(INTERNAL_NETWORK if given is None else given, plan)
        reviewer = "" if weights is not None else self.settings.reviewer()
        loaded = [
            _load(INTERNAL_NETWORK if given is None else given, replace(plan, gpu=gpu + n), len(models), reviewer)
            for n, given in enumerate(models)
        ]
        self.name = ", ".join(_name(INTERNAL_NETWORK if given is None else given, plan) for given in models)
        self.evaluators = _joined(loaded, weights)

    @property
    def evaluator(self) -> "Evaluator":
        """The evaluator, or the first of several."""
        return self.evaluators[0]

    @cached_property
    def sha256(self) -> str | None:
        """The SHA-256 of the network's file; None if it has no file of its own, or there are different networks."""
        from fukayomi.engine.evaluators.backends.network_file import NetworkFile

        return None if self._file is None else NetworkFile(self._file).sha256

    @cached_property
    def pool(self) -> "EvaluatorPool":
        """The threads that evaluate the batches of all searches with this network."""
        from fukayomi.engine.evaluator_pool import EvaluatorPool

        return EvaluatorPool(self.evaluators, cache_mb=self.settings.cache_mb)

    @property
    def analysis_nodes(self) -> int:
        """The nodes of a search in an analysis that nobody limits: 800; 6 400 of a sparse network, in less time."""
        from fukayomi.engine.evaluators.backends.network_file import NetworkFile

        is_sparse = self._file is not None and NetworkFile(self._file).is_sparse
        return SPARSE_ANALYSIS_NODES if is_sparse else ANALYSIS_NODES

    def analysis_limits(
        self, nodes: int | None = None, time_ms: int | None = None, multipv: int = ANALYSIS_CANDIDATES
    ) -> "SearchLimits":
        """The limits of each search in the analysis of a game.

        Args:
            nodes: Maximum number of positions to evaluate.
            time_ms: Maximum time (ms). Without any limit: `analysis_nodes` or 350 ms, whichever comes first.
            multipv: Number of candidates to keep.
        """
        from fukayomi.engine.analysis.game_analysis import SearchLimits

        if nodes is None and time_ms is None:
            nodes, time_ms = self.analysis_nodes, ANALYSIS_TIME_MS
        return SearchLimits(nodes, time_ms, multipv)

    @property
    def identity(self) -> str:
        """Hash of the network with precision and device; it changes when the evaluations may."""
        return ", ".join(evaluator.identity for evaluator in self.evaluators)

    def evaluate(self, positions: Position | str | Iterable[Position | str]) -> "Evaluation":
        """Evaluate positions in batches: win rates and move probabilities, without search.

        Args:
            positions: One position or many; each may be text, as `Position` takes it: an SFEN, or "startpos".

        Raises:
            EvaluatorError: The network failed.
        """
        from fukayomi.engine.evaluation import evaluate

        several = [positions] if isinstance(positions, Position | str) else positions
        return evaluate(self.evaluator, [Position(each) if isinstance(each, str) else each for each in several])

    def close(self) -> None:
        """End the searches with this network and free it."""
        self.pool.close()

    def __enter__(self) -> "Network":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __str__(self) -> str:
        return f"{self.name} ({self.identity})"

    def __repr__(self) -> str:
        return f"<Network {self}>"


def _name(model: "NetworkModel", wanted: Plan) -> str:
    if not isinstance(model, str | Path):
        return type(model).__name__
    if str(model) in STUBS:
        return str(model).strip("<>")
    if not is_network_name(str(model)):
        return Path(model).name
    networks = embedded_networks()
    if str(model) in DEFAULT_NAMES and len(networks) == 1:
        return "embedded network"
    taken = find_network(str(model), wanted)
    return "embedded network " + next(name for name, path in networks.items() if path == taken).strip("<>")


def embedded_networks() -> dict[str, Path]:
    """The networks that come with the package, by name: a residual one in ONNX and, if there is one, a sparse one.

    The name is the first word after ``fukayomi-`` in the file's: ``fukayomi-5x64.onnx`` is ``<5x64>``,
    ``fukayomi-sparse-384x384.sparse`` is ``<sparse>``.

    Raises:
        EvaluatorError: The package does not hold one in ONNX, or holds several of a family.
    """
    from fukayomi.engine.evaluators.backends.network_file import INT8_SUFFIX, SPARSE_SUFFIX

    residual = sorted(path for path in NETWORKS.glob("*.onnx") if not path.name.endswith(INT8_SUFFIX))
    sparse = sorted(NETWORKS.glob(f"*{SPARSE_SUFFIX}"))
    if len(residual) != 1 or len(sparse) > 1:
        found = ", ".join(path.name for path in (*residual, *sparse)) or "none"
        raise EvaluatorError(
            f"{NETWORKS} must hold one network in ONNX, and at most one {SPARSE_SUFFIX} file; found {found}: name a "
            "network's file"
        )
    return {f"<{path.stem.split('-')[1]}>": path for path in (*residual, *sparse)}


def embedded_network(wanted: Plan | None = None) -> Path:
    """The network that comes with the package for this computer.

    Args:
        wanted: How it is to be run. None: the residual one, which can be trained further and which every backend runs.
            Otherwise the sparse one, if there is one and it runs so: in integers on a CPU, where there is no GPU that
            runs the residual one.

    Raises:
        EvaluatorError: As `embedded_networks`.
    """
    residual, *sparse = embedded_networks().values()
    if not sparse or wanted is None or wanted.precision not in ("auto", "int8"):
        return residual
    if wanted.backend == "auto":
        from fukayomi.engine.choice import has_gpu
        from fukayomi.engine.evaluators.backends.network_file import NetworkFile

        return residual if has_gpu(NetworkFile(residual)) else sparse[0]
    return sparse[0] if wanted.backend == "native" else residual


def same_everywhere(model: str) -> str:
    """The name of a network where games, labels and ratings must not depend on the computer: "embedded" is the residual
    one there.

    >>> same_everywhere("embedded"), same_everywhere("<sparse>")
    ('<5x64>', '<sparse>')
    """
    return next(iter(embedded_networks())) if model in DEFAULT_NAMES else model


def find_network(model: str, wanted: Plan | None = None) -> Path:
    """The file that the option DNN_Model names: a path, or an embedded network.

    Args:
        model: A path; "embedded", "<internal>" or "": the embedded network that is taken unasked; "<5x64>": the one of
            this name (`embedded_networks`).
        wanted: How it is to be run, on which the network that is taken unasked depends (`embedded_network`).

    Raises:
        EvaluatorError: There is no such file or name.
    """
    if model in DEFAULT_NAMES:
        return embedded_network(wanted)
    if is_network_name(model):
        networks = embedded_networks()
        if model not in networks:
            raise EvaluatorError(f"no embedded network {model}; there are {', '.join((INTERNAL_NETWORK, *networks))}")
        return networks[model]
    try:
        path = Path(model).expanduser()
        full, is_file = path.absolute(), path.is_file()
    except OSError as error:  # a folder that cannot be read, a name that is too long
        raise EvaluatorError(f"cannot read the network {model}: {error.strerror}") from error
    except RuntimeError as error:  # of expanduser
        raise EvaluatorError(f"cannot read the network {model}: {error}") from error
    if not is_file:
        raise EvaluatorError(f"{full} is a folder; name a file" if path.is_dir() else f"no file {full}")
    return path


def take_suggestions(options: Options[UsiSettings]) -> list[str]:
    """Set the options that the file beside the network suggests, except those the user has set.

    The file of ``network.onnx`` is ``network.onnx.ini``, that of ``network.sparse`` is ``network.sparse.ini``.

    Returns:
        The problems of that file: lines that cannot be read, options that do not exist.

    Raises:
        EvaluatorError: There is no such network.
    """
    suggestions: list[Suggestion] = []
    problems: list[str] = []
    if options.settings.model not in STUBS:
        network = find_network(options.settings.model, options.settings.plan())
        path = network.with_name(network.name + ".ini")
        try:
            if path.is_file() and path.stat().st_size > SUGGESTIONS_BYTES:
                problems = [f"{path} is ignored: it has more than {SUGGESTIONS_BYTES} bytes"]
            elif path.is_file():
                suggestions, problems = read_suggestions(path)
        except OSError as error:
            problems = [f"cannot read {path}: {error.strerror}"]
    return problems + options.suggest(suggestions)


def load_evaluators(settings: UsiSettings) -> "tuple[Evaluator, ...]":
    """Load the evaluators that the options name: one for each device, or an ensemble. Takes seconds, and imports heavy
    libraries.

    Raises:
        EvaluatorError: One cannot be loaded; the message names its option and says why.
    """
    devices = settings.devices()
    is_ensemble = settings.ensemble and len(devices) > 1
    reviewer = "" if is_ensemble else settings.reviewer()
    loaded: list[Evaluator] = []
    for device in devices:
        with _naming(device):
            _look_for(device.model, device.plan)
    for device in devices:
        with _naming(device):
            loaded.append(_load(device.model, device.plan, len(devices), reviewer))
    return _joined(loaded, [device.weight for device in devices] if is_ensemble else None)


@contextmanager
def _naming(device: Device) -> Generator[None]:
    """Errors begin with the option that names the device's network."""
    try:
        yield
    except EvaluatorError as error:
        raise EvaluatorError(f"{device.option} {shorten(device.model)}: {error}") from error


def _look_for(model: "NetworkModel", wanted: Plan) -> None:
    """Fail if the network's file is missing: measuring the others before takes many seconds."""
    if isinstance(model, str | Path):
        if model not in STUBS:
            find_network(str(model), wanted)
    elif not (_is_module(model) or _is_evaluator(model)):
        raise InvalidValueError(
            f"a network is a file, a module in torch or an evaluator (fukayomi.PlaneEvaluator), not {model!r}"
        )


def _is_evaluator(model: object) -> "TypeGuard[Evaluator]":
    return not isinstance(model, type) and callable(getattr(model, "allocate", None))


def _is_module(model: object) -> bool:
    """Whether this is a module in torch, which has been imported then."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _load(model: "NetworkModel", plan: Plan, devices: int, reviewer: str) -> "Evaluator":
    """Load a network for one of so many devices that run at once, and the network that reviews a sparse one."""
    if _is_module(model):
        from fukayomi.engine.evaluators.backends.torch_model import TorchModuleEvaluator

        return TorchModuleEvaluator(cast("Any", model), plan)
    if not isinstance(model, str | Path):
        return cast("Evaluator", model)
    if model in STUBS:
        from fukayomi.engine.evaluators.protocol import hash_evaluator, uniform_evaluator

        make = hash_evaluator if model == "<hash>" else uniform_evaluator
        return make(plan.batch_size or 16)
    from fukayomi.engine.choice import divided, load
    from fukayomi.engine.evaluators.backends.network_file import NetworkFile

    network = NetworkFile(find_network(str(model), plan))
    evaluator = load(network, plan if devices == 1 else divided(network, plan, devices))
    if network.is_sparse and reviewer:
        _let_review(evaluator, reviewer)
    return evaluator


def _let_review(evaluator: "NetworkEvaluator", reviewer: str) -> None:
    """Load the network that Review_Model names, and have it review positions.

    Raises:
        EvaluatorError: There is no such network, or the native core cannot run it.
    """
    from fukayomi.engine.evaluators.backends.native import Native, refusal
    from fukayomi.engine.evaluators.backends.network_file import NetworkFile

    try:
        network = NetworkFile(find_network(reviewer))
        precisions = () if network.is_sparse else Native().precisions(network)
        if not precisions:
            raise EvaluatorError(
                f"{network.path} is a sparse network itself" if network.is_sparse else refusal(network)
            )
        plan = replace(evaluator.plan, precision=precisions[-1])
        evaluator.let_review(Native().open(network, plan), f"{network.path.name} in {plan.precision}")
    except EvaluatorError as error:
        raise EvaluatorError(
            f"Review_Model {shorten(reviewer)}: {error}; set it to a residual network in ONNX, or Review_Visits to 0"
        ) from error


def _joined(evaluators: "Sequence[Evaluator]", weights: Sequence[float] | None) -> "tuple[Evaluator, ...]":
    if weights is None:
        return tuple(evaluators)
    from fukayomi.engine.evaluators.protocol import EnsembleEvaluator

    return (EnsembleEvaluator(evaluators, weights),)
