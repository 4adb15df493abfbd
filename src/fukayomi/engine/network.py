"""Networks: finding the file, loading it, evaluating positions with it."""

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.settings import INTERNAL_NETWORK, UsiSettings, read_suggestions, usi_options
from fukayomi.shogi import Position
from fukayomi.usi.options import Options

if TYPE_CHECKING:
    from fukayomi.engine.evaluation import Evaluation
    from fukayomi.engine.evaluator_pool import EvaluatorPool
    from fukayomi.engine.evaluators.protocol import Evaluator

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
        >>> [move.usi() for move in evaluation.policies[0]][:2]
        ['2g2f', '7g7f']

    Args:
        model: ONNX file with dlshogi's inputs and outputs, or any object with the methods of
            `fukayomi.engine.evaluators.protocol.Evaluator`. By default the network that comes with the package.
        device: Library and device that run it, a value of DNN_Provider: "cpu" (ONNX Runtime), "openvino", "cuda",
            "tensorrt". "auto" takes the fastest; what is left open is measured when the network is first loaded on a
            computer.
        precision: "fp32", "bf16", "int8" or "fp16". "auto" takes a lower one where it is clearly faster and agrees with
            fp32; for results that are the same on every computer, name device and precision.
        threads: CPU threads for one batch; 0: measured.
        batch_size: Positions per batch; 0: measured.

    Raises:
        EvaluatorError: The file is missing or is no network for shogi, or cannot be run so on this computer.
        ValueError: The device or precision is unknown, or a number is out of range.
    """

    name: str
    """What it is called: name of the file, "embedded network", or the class of the evaluator."""
    settings: UsiSettings
    """Options of the search, with those that a file beside the network suggests (``network.onnx.ini``)."""
    problems: tuple[str, ...]
    """Lines of that file that cannot be used, and why."""
    evaluator: "Evaluator"
    """Evaluates batches of positions."""

    def __init__(
        self,
        model: "str | Path | Evaluator | None" = None,
        *,
        device: str = "auto",
        precision: str = "auto",
        threads: int = 0,
        batch_size: int = 0,
    ) -> None:
        if model is not None and not isinstance(model, str | Path):
            self.name, self.settings, self.problems, self.evaluator = type(model).__name__, UsiSettings(), (), model
            return
        options = usi_options()
        given = {
            "DNN_Provider": device,
            "DNN_Precision": precision,
            "Threads": str(threads),
            "DNN_Batch_Size": str(batch_size),
        }
        for option in options.declared:
            if option.name in given and given[option.name] != option.default:
                options.set(option.name, given[option.name])
        options.set("DNN_Model", INTERNAL_NETWORK if model is None else str(model))
        self.problems = tuple(take_suggestions(options))
        self.settings = options.settings
        self.name = _name(self.settings.model)
        self.evaluator = load_evaluator(self.settings)

    @cached_property
    def pool(self) -> "EvaluatorPool":
        """The threads that evaluate the batches of all searches with this network."""
        from fukayomi.engine.evaluator_pool import EvaluatorPool

        return EvaluatorPool([self.evaluator])

    @property
    def identity(self) -> str:
        """Hash of the network with precision and device; it changes when the evaluations may."""
        return self.evaluator.identity

    def evaluate(self, positions: Position | Iterable[Position]) -> "Evaluation":
        """Evaluate positions in batches: win rates and move probabilities, without search.

        Args:
            positions: One position or many.

        Raises:
            EvaluatorError: The network failed.
        """
        from fukayomi.engine.evaluation import evaluate

        return evaluate(self.evaluator, [positions] if isinstance(positions, Position) else list(positions))

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


def _name(model: str) -> str:
    if model == INTERNAL_NETWORK:
        return "embedded network"
    return model.strip("<>") if model in STUBS else Path(model).name


def embedded_network() -> Path:
    """The network that comes with the package.

    Raises:
        EvaluatorError: The package holds no network, or several.
    """
    from fukayomi.engine.evaluators.network_file import INT8_SUFFIX

    networks = sorted(path for path in NETWORKS.glob("*.onnx") if not path.name.endswith(INT8_SUFFIX))
    if len(networks) != 1:
        found = ", ".join(path.name for path in networks) or "none"
        raise EvaluatorError(f"{NETWORKS} must hold exactly one network, found {found}: name an ONNX file")
    return networks[0]


def find_network(model: str) -> Path:
    """The file that the option DNN_Model names: the embedded network, or a path.

    Raises:
        EvaluatorError: There is no such file, or it is a checkpoint.
    """
    if model in ("", INTERNAL_NETWORK):
        return embedded_network()
    try:
        path = Path(model).expanduser()
        full, is_file = path.absolute(), path.is_file()
    except OSError as error:  # a folder that cannot be read, a name that is too long
        raise EvaluatorError(f"cannot read the network {model}: {error.strerror}") from error
    except RuntimeError as error:  # of expanduser
        raise EvaluatorError(f"cannot read the network {model}: {error}") from error
    if not is_file:
        raise EvaluatorError(f"no file {full}")
    return path


def take_suggestions(options: Options[UsiSettings]) -> list[str]:
    """Set the options that the file beside the network suggests (``network.onnx.ini``), except those the user has set.

    Returns:
        The problems of that file: lines that cannot be read, options that do not exist.

    Raises:
        EvaluatorError: There is no such network.
    """
    pairs: list[tuple[str, str]] = []
    problems: list[str] = []
    if options.settings.model not in STUBS:
        network = find_network(options.settings.model)
        path = network.with_name(network.name + ".ini")
        try:
            if path.is_file() and path.stat().st_size > SUGGESTIONS_BYTES:
                problems = [f"{path} is ignored: it has more than {SUGGESTIONS_BYTES} bytes"]
            elif path.is_file():
                pairs, problems = read_suggestions(path.read_text("utf-8", "replace"), str(path))
        except OSError as error:
            problems = [f"cannot read {path}: {error.strerror}"]
    return problems + options.suggest(pairs)


def load_evaluator(settings: UsiSettings) -> "Evaluator":
    """Load the evaluator that the options name. Takes seconds, and imports heavy libraries.

    Raises:
        EvaluatorError: It cannot be loaded; the message says why.
    """
    if settings.model in STUBS:
        from fukayomi.engine.evaluators.stubs import hash_evaluator, uniform_evaluator

        make = hash_evaluator if settings.model == "<hash>" else uniform_evaluator
        return make(settings.batch_size or 16)
    from fukayomi.engine.choice import load
    from fukayomi.engine.evaluators.network_file import NetworkFile

    return load(NetworkFile(find_network(settings.model)), settings.plan())
