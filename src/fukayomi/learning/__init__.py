"""Training data as arrays and batches, training, and evaluation of networks.

    from fukayomi.learning import Dataset, TrainingSettings, evaluate, train
    from fukayomi.nn import NetworkConfig

    data, test = Dataset("train.hcpe3"), Dataset("test.hcpe")
    for batch in data.batches(1024):
        planes, hands = batch.features()  # float32 [1024, 62, 9, 9] and [1024, 57, 9, 9]

    settings = TrainingSettings(epochs=2, batch=256)
    result = train(NetworkConfig(blocks=5, channels=64), data, "run", test=test, settings=settings)
    print(result.history)  # a table; result.history.to_polars() is a DataFrame
    print(evaluate(result.checkpoint, test))

`Dataset` needs NumPy only; `train` and `evaluate` need ``pip install 'fukayomi[train]'``. Nothing is printed: pass a
`TrainingListener` to follow a run.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fukayomi.learning.batch import Batch
    from fukayomi.learning.checkpoint import CheckpointError
    from fukayomi.learning.dataset import Dataset, Sample
    from fukayomi.learning.devices import DeviceError
    from fukayomi.learning.evaluation import evaluate
    from fukayomi.learning.listener import TrainingListener, TrainingListeners
    from fukayomi.learning.metrics import Metrics
    from fukayomi.learning.models import load_model
    from fukayomi.learning.result import TrainingResult
    from fukayomi.learning.settings import TrainingError, TrainingSettings
    from fukayomi.learning.tensorboard import TensorBoardListener
    from fukayomi.learning.training import train

__all__ = [
    "Batch",
    "CheckpointError",
    "Dataset",
    "DeviceError",
    "Metrics",
    "Sample",
    "TensorBoardListener",
    "TrainingError",
    "TrainingListener",
    "TrainingListeners",
    "TrainingResult",
    "TrainingSettings",
    "evaluate",
    "load_model",
    "train",
]

_MODULES = {
    "Batch": "batch",
    "CheckpointError": "checkpoint",
    "Dataset": "dataset",
    "DeviceError": "devices",
    "Metrics": "metrics",
    "Sample": "dataset",
    "TensorBoardListener": "tensorboard",
    "TrainingError": "settings",
    "TrainingListener": "listener",
    "TrainingListeners": "listener",
    "TrainingResult": "result",
    "TrainingSettings": "settings",
    "evaluate": "evaluation",
    "load_model": "models",
    "train": "training",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
