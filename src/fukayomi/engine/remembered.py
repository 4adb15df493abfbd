"""Measurements of a network on this computer, kept in the cache folder so that it is measured once.

A file holds one choice with everything on which it depends: the network, what the user asked for, the computer, the
versions of the libraries. A file that is damaged, or holds something else, counts as none.
"""

import contextlib
import hashlib
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, cast

from fukayomi.engine.evaluators.backends.backend import BACKENDS, PRECISIONS, Plan, cache_folder, get_backend, versions
from fukayomi.engine.evaluators.backends.machine import this_machine
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.errors import InvalidValueError
from fukayomi.files.atomic import replace_file
from fukayomi.files.inputs import read_input

FORMAT = 2
"""A higher one where there is something new to measure, so that the choices of before are not taken."""
LARGEST_FILE = 1 << 16
LARGEST_NUMBER = 4096
LONGEST_REASON = 500


@dataclass(frozen=True, slots=True)
class Choice:
    """Choice of the way in which a network is run."""

    plan: Plan
    """Nothing in it is left open."""
    evaluations_per_s: float = 0.0
    """Positions per second, as measured; 0: not measured."""
    reason: str = ""
    """Reason for this choice; "" where there was no choice."""


def recall(network: NetworkFile, wanted: Plan) -> Choice | None:
    """The choice made before, or None."""
    key = _key(network, wanted)
    try:
        document: Any = json.loads(read_input(_path(key), LARGEST_FILE))
        return _parse(document) if document["key"] == key else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def remember(network: NetworkFile, wanted: Plan, choice: Choice) -> None:
    """Keep a choice. Where nothing can be written, nothing is kept."""
    key = _key(network, wanted)
    path = _path(key)
    document = {"key": key, **asdict(choice)}
    with contextlib.suppress(OSError, RuntimeError):  # the latter where there is no home
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, json.dumps(document, indent=1).encode())


def _key(network: NetworkFile, wanted: Plan) -> dict[str, Any]:
    """All that decides which choice is best, as it comes back from JSON."""
    libraries = {library for name in BACKENDS for library in get_backend(name).libraries}
    machine = asdict(this_machine())
    key = {
        "format": FORMAT,
        "network": network.digest,
        "int8": None if network.int8 is None else network.int8.digest,
        "wanted": asdict(wanted),
        "machine": machine,
        "libraries": versions(sorted(libraries)),
    }
    return cast("dict[str, Any]", json.loads(json.dumps(key)))


def _path(key: dict[str, Any]) -> Path:
    name = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:32]
    return cache_folder() / "choices" / f"{name}.json"


def _parse(document: dict[str, Any]) -> Choice:
    """The choice in a document; raises ValueError, TypeError or KeyError if it is none."""
    values = document["plan"]
    plan = Plan(**{field.name: values[field.name] for field in fields(Plan)})
    numbers = (plan.threads, plan.slots, plan.batch_size)
    if not all(type(number) is int and 1 <= number <= LARGEST_NUMBER for number in numbers):
        raise InvalidValueError("numbers out of range")
    if type(plan.gpu) is not int or not 0 <= plan.gpu <= LARGEST_NUMBER:
        raise InvalidValueError("no such GPU")
    if plan.backend not in BACKENDS or plan.precision not in PRECISIONS:
        raise InvalidValueError("no such backend or precision")
    return Choice(plan, float(document["evaluations_per_s"]), str(document["reason"])[:LONGEST_REASON])
