"""The verbs of daily use: files of training data in, others out; each goes on where a kill left it."""

from fukayomi.data.convert.blocks import Inputs, VerbError, open_inputs
from fukayomi.data.jobs.work import Summary
from fukayomi.data.verbs.filter import Conditions, filter_data
from fukayomi.data.verbs.fix_eval import fix_eval
from fukayomi.data.verbs.merge import merge
from fukayomi.data.verbs.sample import sample
from fukayomi.data.verbs.shuffle import shuffle
from fukayomi.data.verbs.split import Deal, Unit, split

__all__ = [
    "Conditions",
    "Deal",
    "Inputs",
    "Summary",
    "Unit",
    "VerbError",
    "filter_data",
    "fix_eval",
    "merge",
    "open_inputs",
    "sample",
    "shuffle",
    "split",
]
