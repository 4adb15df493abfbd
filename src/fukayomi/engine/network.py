"""Finding a network and making an evaluator of it."""

from pathlib import Path
from typing import TYPE_CHECKING

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.settings import INTERNAL_NETWORK, Settings

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.protocol import Evaluator

NETWORKS = Path(__file__).parent / "networks"


def embedded_network() -> Path:
    """The network that comes with the package.

    Raises:
        EvaluatorError: there is none, or more than one.
    """
    networks = sorted(NETWORKS.glob("*.onnx"))
    if len(networks) != 1:
        found = ", ".join(path.name for path in networks) or "none"
        raise EvaluatorError(f"{NETWORKS} should hold one network, it has {found}: set DNN_Model to an ONNX file")
    return networks[0]


def find_network(model: str) -> Path:
    """The file that DNN_Model names: the embedded network, or a path.

    Raises:
        EvaluatorError: there is no such file.
    """
    if model in ("", INTERNAL_NETWORK):
        return embedded_network()
    path = Path(model).expanduser()
    if not path.is_file():
        raise EvaluatorError(
            f"there is no file {path.absolute()}: set DNN_Model to an ONNX file, or to {INTERNAL_NETWORK}"
        )
    return path


def suggestions_file(model: str) -> Path | None:
    """The file beside a network that suggests options for it (``network.onnx.ini``), if there is one."""
    if model in ("<hash>", "<uniform>"):
        return None
    network = find_network(model)
    path = network.with_name(network.name + ".ini")
    return path if path.is_file() else None


def load_evaluator(settings: Settings) -> "Evaluator":
    """Make the evaluator that the options ask for. Takes seconds, and imports heavy libraries.

    Raises:
        EvaluatorError: it cannot be made; the message says why.
    """
    if settings.model in ("<hash>", "<uniform>"):
        from fukayomi.engine.evaluators.stubs import hash_evaluator, uniform_evaluator

        make = hash_evaluator if settings.model == "<hash>" else uniform_evaluator
        return make(settings.batch_size or 16)
    path = find_network(settings.model)
    from fukayomi.engine.evaluators.onnx import OnnxEvaluator

    return OnnxEvaluator(
        path,
        provider=settings.provider,
        threads=settings.threads,
        batch_size=settings.batch_size,
        slots=settings.slots,
    )
