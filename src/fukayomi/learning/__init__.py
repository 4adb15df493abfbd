"""Training data as arrays and batches, training, and evaluation of networks.

`Dataset` reads positions and games (hcpe, hcpe2, hcpe3, psv, avg); here, three positions of our own:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from fukayomi import Dataset, Position
    >>> from fukayomi.data import write_data
    >>> from fukayomi.data.formats.psv import psv_record
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = [
    ...     psv_record(Position().sfen(), move, score_cp=60, ply=1, result=1)
    ...     for move in ("7g7f", "2g2f", "5g5f")
    ... ]
    >>> write_data(folder / "games.psv", rows)
    3
    >>> data = Dataset(folder / "games.psv")
    >>> for batch in data.batches(2):
    ...     planes, constant_planes = batch.features()
    ...     print(planes.shape, constant_planes.shape, batch.policy().shape, batch.values.shape)
    (2, 62, 9, 9) (2, 57, 9, 9) (2, 2187) (2,)
    (1, 62, 9, 9) (1, 57, 9, 9) (1, 2187) (1,)

`train` and `evaluate` need the extra train. They are silent; a `TrainingListener` follows a run:

    >>> from fukayomi.learning import TrainingSettings, evaluate, train
    >>> from fukayomi.nn import NetworkConfig
    >>> network = NetworkConfig(blocks=1, channels=8, value_hidden=8)
    >>> result = train(network, data, folder / "run", test=data, settings=TrainingSettings(steps=5, batch=3))
    >>> result.finished, result.history.to_polars().shape
    (True, (1, 9))
    >>> evaluate(result.checkpoint, data).positions
    3
"""

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy

if TYPE_CHECKING:
    from fukayomi.learning.averaging import NetworkAverage, average_networks
    from fukayomi.learning.checkpoint import CheckpointError
    from fukayomi.learning.curves.pictures import Run, Runs, runs
    from fukayomi.learning.curves.readers import CurveError
    from fukayomi.learning.data.batch import Batch
    from fukayomi.learning.data.dataset import Dataset, Sample
    from fukayomi.learning.data.tensors import TensorBatch
    from fukayomi.learning.devices import DeviceError
    from fukayomi.learning.evaluation import evaluate
    from fukayomi.learning.evaluation_table import EvaluationTable, evaluate_networks
    from fukayomi.learning.int8 import Int8Export, export_int8
    from fukayomi.learning.labelling.labelling import label_positions
    from fukayomi.learning.labelling.settings import LabelError, LabelSettings
    from fukayomi.learning.layers import LayerError, LayerInfo
    from fukayomi.learning.listeners import JsonLinesListener, TensorBoardListener, TrainingListener
    from fukayomi.learning.loss import compute_losses
    from fukayomi.learning.metrics import Metrics
    from fukayomi.learning.models import export_network, load_model, load_network
    from fukayomi.learning.reanalysis.reanalysis import Reanalysis, reanalyze
    from fukayomi.learning.reanalysis.settings import ReanalysisError, ReanalysisSettings, Root, Selection
    from fukayomi.learning.settings import ModelFileError, TrainingError, TrainingSettings
    from fukayomi.learning.training.run_folder import DivergenceError
    from fukayomi.learning.training.trainer import TrainingResult
    from fukayomi.learning.training.training import train

__all__ = [
    "Batch",
    "CheckpointError",
    "CurveError",
    "Dataset",
    "DeviceError",
    "DivergenceError",
    "EvaluationTable",
    "Int8Export",
    "JsonLinesListener",
    "LabelError",
    "LabelSettings",
    "LayerError",
    "LayerInfo",
    "Metrics",
    "ModelFileError",
    "NetworkAverage",
    "Reanalysis",
    "ReanalysisError",
    "ReanalysisSettings",
    "Root",
    "Run",
    "Runs",
    "Sample",
    "Selection",
    "TensorBatch",
    "TensorBoardListener",
    "TrainingError",
    "TrainingListener",
    "TrainingResult",
    "TrainingSettings",
    "average_networks",
    "compute_losses",
    "evaluate",
    "evaluate_networks",
    "export_int8",
    "export_network",
    "label_positions",
    "load_model",
    "load_network",
    "reanalyze",
    "runs",
    "train",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        ".averaging": ("NetworkAverage", "average_networks"),
        ".checkpoint": ("CheckpointError",),
        ".curves.readers": ("CurveError",),
        ".curves.pictures": ("Run", "Runs", "runs"),
        ".data.batch": ("Batch",),
        ".data.dataset": ("Dataset", "Sample"),
        ".data.tensors": ("TensorBatch",),
        ".devices": ("DeviceError",),
        ".evaluation": ("evaluate",),
        ".evaluation_table": ("EvaluationTable", "evaluate_networks"),
        ".int8": ("Int8Export", "export_int8"),
        ".listeners": ("JsonLinesListener", "TensorBoardListener", "TrainingListener"),
        ".labelling.labelling": ("label_positions",),
        ".labelling.settings": ("LabelError", "LabelSettings"),
        ".layers": ("LayerError", "LayerInfo"),
        ".loss": ("compute_losses",),
        ".metrics": ("Metrics",),
        ".models": ("export_network", "load_model", "load_network"),
        ".reanalysis.reanalysis": ("Reanalysis", "reanalyze"),
        ".reanalysis.settings": ("ReanalysisError", "ReanalysisSettings", "Root", "Selection"),
        ".settings": ("ModelFileError", "TrainingError", "TrainingSettings"),
        ".training.run_folder": ("DivergenceError",),
        ".training.trainer": ("TrainingResult",),
        ".training.training": ("train",),
    },
)
