"""The choice of backend, precision, threads, batches in flight and batch size: by measuring, once.

The best values differ so much between computers and networks that no rule would find them.

- Each backend computes its precisions for a moment. A lower precision is taken only where it is clearly faster than the
  higher ones and agrees with fp32; of two backends that are about as fast, the first in the list.
- Two batches at once on half of the CPUs each are preferred to one on all of them: they need not wait for each other,
  and one is gathered while the other is evaluated. Where other programs use the CPUs too, threads that share a batch
  wait for the slowest of them, several times as long as they work. More batches on fewer CPUs each where it is clearly
  faster.
- Of batch sizes with about the same speed the smallest is taken: small batches make the better search.

Speeds on CPUs are counted in CPU time: what the network would reach with the CPUs to itself. So the choice does not
depend on what else the computer does in the meantime. Only batches that several CPUs share go by the clock, and so does
whether to use the CPUs together or apart.

The choice is kept in the cache folder, so that a network is measured when it is first loaded, and not again. A file
holds one choice with everything on which it depends: the network, what the user asked for, the computer, the versions
of the libraries, and what was tuned. A file that is damaged, or holds something else, counts as none.
"""

import contextlib
import hashlib
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, cast

from fukayomi.engine.evaluation import Agreement, Evaluation, compare, evaluate
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.backend import (
    BACKENDS,
    PRECISIONS,
    Backend,
    Model,
    Plan,
    cache_folder,
    get_backend,
    has_devices,
    versions,
)
from fukayomi.engine.evaluators.backends.machine import gpu_names, this_machine, usable_cpus
from fukayomi.engine.evaluators.backends.native import Native, refusal
from fukayomi.engine.evaluators.backends.network_file import (
    PARAMETER_SUFFIXES,
    SAFETENSORS_SUFFIX,
    SPARSE_SUFFIX,
    NetworkFile,
)
from fukayomi.engine.evaluators.library_calls import LIBRARY_CALLS
from fukayomi.engine.evaluators.protocol import NetworkEvaluator
from fukayomi.engine.evaluators.timing import PROBES, filled_slot, probe_positions, run_batches
from fukayomi.errors import InvalidValueError, by_extra
from fukayomi.files.atomic import replace_file
from fukayomi.files.inputs import read_input
from fukayomi.listener import SILENT, Listener
from fukayomi.tabular import counted

FORMAT = 4
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
    allowed = map(get_backend, BACKENDS if wanted.backend == "auto" else [wanted.backend])
    tunable = [backend for backend in allowed if hasattr(backend, "tuned")]
    machine = asdict(this_machine())
    key = {
        "format": FORMAT,
        "network": network.digest,
        "int8": None if network.int8 is None else network.int8.digest,
        "wanted": asdict(wanted),
        "machine": machine,
        "libraries": versions(sorted(libraries)),
        "tuned": {backend.name: cast("Any", backend).tuned() for backend in tunable},
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


MEASURE_S = 0.08
"""Duration of each measurement."""
TRIAL_ROUNDS = 3
"""The best of so many counts, of backends and precisions in turn: a disturbance must not meet one of them alone."""
ROUNDS = 4
"""The same, of two settings of threads in turn."""
BATCH_ROUNDS = 5
"""The median of so many counts, of batch sizes in turn: they differ little, and a disturbance must not decide."""
SLOW_S = 0.5
"""A measurement that takes longer is not repeated, and larger batches are not tried."""
CLEARLY = 1.1
"""Speed ratio that a lower precision, or a backend further down the list, must reach."""
GOOD_ENOUGH = 0.9
"""Share of the best speed at which fewer threads per batch are preferred."""
BATCH_SHARE = 0.95
"""Share of the best speed at which a smaller batch is preferred."""
MOST_SLOTS = 16
"""Batches in flight: with more the search sees too little of what it knows."""
DEVICE_SLOTS = 4
"""Batches in flight on a device that is faster than two CPUs gather: a search and self-play evaluated 1.4 times as many
positions a second with four as with two, and fewer with six (docs/measurements/gpu.md)."""
TWO_GATHER_PER_S = 100_000
"""Positions that two CPUs gather in a second, with time left to wait for the device."""
CPU_BATCH, GPU_BATCH = 8, 128
"""Batch sizes with which backends are compared."""
LEAST_TOP1, LARGEST_VALUE_ERROR = 0.75, 0.03
"""A lower precision that agrees less with fp32 is not chosen: the file is of another network, or the CPU's int8
arithmetic saturates. `fukayomi doctor` shows both for a network."""


@dataclass(frozen=True)
class Trial:
    """Speed of a network in one backend and precision."""

    backend: Backend
    precision: str
    evaluations_per_s: float = 0.0
    """Positions per second, in batches of the same size for all; 0: not measured."""
    agreement: Agreement | None = None
    """With fp32; None: nothing to compare with."""
    problem: str = ""
    """Reason why it was not measured."""

    @property
    def agrees(self) -> bool:
        """True if it agrees with fp32 well enough to be chosen unasked."""
        found = self.agreement
        return found is None or (found.top1 >= LEAST_TOP1 and found.value_error <= LARGEST_VALUE_ERROR)


def load(network: NetworkFile, wanted: Plan) -> NetworkEvaluator:
    """Load a network as is wanted; what is left open is measured, or remembered from the last time.

    Raises:
        EvaluatorError: It is no network for shogi, or cannot be run so on this computer.
    """
    candidates = find_candidates(network, wanted)
    if not has_devices(candidates[0][0]):
        wanted = replace(wanted, gpu=0)  # all devices are the same CPUs: the network is measured once for them
    known = _known(candidates, wanted)
    choice = known or recall(network, wanted)
    if choice is not None:
        try:
            return _evaluator(network, choice, wanted, _open_tried(network, choice.plan))
        except EvaluatorError:
            if known is not None:
                raise
    trials = measure(network, wanted, candidates) if len(candidates) > 1 else [Trial(*candidates[0])]
    try:
        choice, model = choose(network, wanted, trials)
    except EvaluatorError as error:
        if wanted.backend != "auto" or not candidates[0][0].on_gpu:
            raise
        return _without_gpu(network, wanted, f"no GPU is used: {error}")
    remember(network, wanted, choice)
    return _evaluator(network, choice, wanted, model)


def _without_gpu(network: NetworkFile, wanted: Plan, problem: str) -> NetworkEvaluator:
    """The network on the CPU, where all GPUs fail. It is not remembered: the next time a GPU may work again.

    Raises:
        EvaluatorError: It cannot be run there.
    """
    wanted = replace(wanted, gpu=0)
    trials = measure(network, wanted, find_candidates(network, wanted, with_gpus=False))
    choice, model = choose(network, wanted, trials)
    return _evaluator(network, replace(choice, reason="; ".join(filter(None, [problem, choice.reason]))), wanted, model)


def divided(network: NetworkFile, wanted: Plan, devices: int) -> Plan:
    """The plan for one of several networks that run at once: on the CPU each gets its share of the CPUs, on a device
    two batches in flight.

    Raises:
        EvaluatorError: The network cannot be run so on this computer.
    """
    if has_devices(find_candidates(network, wanted)[0][0]):
        return replace(wanted, slots=wanted.slots or 2)
    if wanted.threads:
        return wanted
    share = max(1, usable_cpus() // devices)
    slots = wanted.slots or (min(share, MOST_SLOTS) if network.is_sparse else 1)
    return replace(wanted, threads=max(1, share // slots), slots=slots)


def find_candidates(network: NetworkFile, wanted: Plan, *, with_gpus: bool = True) -> list[tuple[Backend, str]]:
    """The backends and precisions that are allowed and can run the network here, the most exact precision first.

    With "auto" they are the automatic ones, or the others for a file that only those can run; of these, those on a GPU,
    where there are any, otherwise those on the CPU.

    Args:
        network: The file.
        wanted: What the user asks for.
        with_gpus: False: with "auto" those on the CPU alone.

    Raises:
        EvaluatorError: There are none; the message says why, and what helps.
    """
    if wanted.backend == "auto":
        found: list[Backend] = []
        for is_automatic in (True, False):
            usable = [each for each in _usable(network, is_automatic=is_automatic) if with_gpus or not each.on_gpu]
            found = found or usable
        found = [backend for backend in found if backend.on_gpu] or found
    else:
        found = [get_backend(wanted.backend)]
        problem = found[0].problem()
        if problem is not None:
            raise EvaluatorError(f"DNN_Provider {wanted.backend}: {problem}")
    computable = [(backend, precision) for backend in found for precision in backend.precisions(network)]
    if not computable:
        raise EvaluatorError(unreadable(network, wanted.backend))
    allowed = [
        (backend, precision)
        for backend, precision in computable
        if wanted.precision == precision
        or (wanted.precision == "auto" and precision not in getattr(backend, "only_named", ()))
    ]
    if not allowed:
        network.of(wanted.precision)  # raises if the int8 file is missing
        possible = ", ".join(f"{backend.name} {precision}" for backend, precision in computable)
        raise EvaluatorError(
            f"DNN_Precision {wanted.precision} is not possible here for {network.path}, only {possible}"
        )
    return sorted(allowed, key=lambda pair: PRECISIONS.index(pair[1]))


def _usable(network: NetworkFile, *, is_automatic: bool) -> list[Backend]:
    """The backends of one of the two sorts that can run a network here."""
    # Precisions first: the other two look for devices, which takes a tenth of a second.
    backends = [backend for backend in map(get_backend, BACKENDS) if backend.precisions(network)]
    return [backend for backend in backends if backend.is_automatic == is_automatic and backend.problem() is None]


def has_gpu(network: NetworkFile) -> bool:
    """True if there is a GPU on which a network runs unasked, and not by OpenCL alone, as on a CPU's own graphics."""
    backends = [backend for backend, _ in find_candidates(network, Plan())] if gpu_names() else []
    return any(backend.on_gpu and backend.name != "opencl" for backend in backends)


def measure(
    network: NetworkFile,
    wanted: Plan,
    candidates: Sequence[tuple[Backend, str]],
    *,
    seconds: float | None = None,
    listener: Listener = SILENT,
) -> list[Trial]:
    """Measure backends and precisions; those that fail say why.

    Args:
        network: The file.
        wanted: Threads, batches in flight and batch size, where they are not open.
        candidates: What to measure. Agreement is with the first of them in fp32.
        seconds: Duration of each measurement; None: `MEASURE_S`.
        listener: Told of the measurements done so far.
    """
    trials: list[Trial] = []
    models: dict[int, tuple[Model, Plan]] = {}
    reference: Evaluation | None = None
    for number, (backend, precision) in enumerate(candidates):
        listener.progress("loading", number, len(candidates))
        plan = _start(backend, precision, wanted)
        try:
            model = _open_tried(network, plan)
            plan = replace(plan, batch_size=model.fixed_batch or plan.batch_size)
            given = NetworkEvaluator(network, model, plan, "")
            agreement = None if reference is None else compare(given, reference, probe_positions())
            if precision == "fp32" and reference is None:
                reference = evaluate(given, probe_positions())
        except EvaluatorError as error:
            trials.append(Trial(backend, precision, problem=str(error)))
        else:
            models[number] = model, plan
            trials.append(Trial(backend, precision, agreement=agreement))
    total = TRIAL_ROUNDS * len(models)
    for done, (number, (model, plan)) in enumerate([*models.items()] * TRIAL_ROUNDS):
        listener.progress("measuring", done, total)
        trial = trials[number]
        if trial.problem or (done >= len(models) and plan.batch_size * plan.slots / trial.evaluations_per_s > SLOW_S):
            continue
        try:
            speed = _speed(model, plan, seconds)
        except EvaluatorError as error:
            trials[number] = replace(trial, problem=str(error))
        else:
            trials[number] = replace(trial, evaluations_per_s=max(speed, trial.evaluations_per_s))
    for model, _ in models.values():
        model.close()
    return trials


def choose(network: NetworkFile, wanted: Plan, trials: Sequence[Trial]) -> tuple[Choice, Model]:
    """Choose among what was measured, then measure threads and batch sizes for it.

    Raises:
        EvaluatorError: Nothing could be measured.
    """
    best, reason = pick(trials)
    plan = _start(best.backend, best.precision, wanted)
    model = _open_tried(network, plan)
    if not (has_devices(best.backend) or wanted.threads or wanted.slots):
        plan, model = _share_cpus(network, plan, model)
    size, speed, model = _batch_size(network, plan, model, wanted.batch_size)
    if has_devices(best.backend) and not wanted.slots and speed > TWO_GATHER_PER_S:
        plan = replace(plan, slots=max(plan.slots, min(DEVICE_SLOTS, usable_cpus())))
    return Choice(replace(plan, batch_size=size), speed, reason), model


def pick(trials: Sequence[Trial]) -> tuple[Trial, str]:
    """The one to take, and why.

    Raises:
        EvaluatorError: Nothing could be measured; the message is that of the first.
    """
    measured = [trial for trial in trials if not trial.problem]
    if not measured:
        raise EvaluatorError(trials[0].problem)
    best = measured[0]
    for trial in measured[1:]:
        if trial.agrees and trial.evaluations_per_s >= CLEARLY * best.evaluations_per_s:
            best = trial
    return best, _reason(best, measured)


def _reason(best: Trial, measured: Sequence[Trial]) -> str:
    first = measured[0]
    words: list[str] = []
    if best is not first:
        ratio = best.evaluations_per_s / first.evaluations_per_s
        words.append(f"{ratio:.1f} times as fast as {first.backend.name} {first.precision}")
    if best.precision != "fp32" and best.agreement is not None:
        words.append(f"the best move of fp32 in {best.agreement.top1:.0%} of the positions")
    for trial in measured:
        if trial.agreement is not None and not trial.agrees:
            found = f"the best move of fp32 in only {trial.agreement.top1:.0%} of the positions"
            words.append(f"{trial.backend.name} {trial.precision} is refused: {found}")
    return "; ".join(words)


# ---------------------------------------------------------------------------------------------- opening


def _known(candidates: Sequence[tuple[Backend, str]], wanted: Plan) -> Choice | None:
    """The choice, if nothing is open."""
    if len(candidates) > 1 or not wanted.batch_size:
        return None
    backend, precision = candidates[0]
    if not (wanted.threads or wanted.slots or has_devices(backend) or usable_cpus() == 1):
        return None
    return Choice(replace(_start(backend, precision, wanted), batch_size=wanted.batch_size))


def _start(backend: Backend, precision: str, wanted: Plan) -> Plan:
    """The plan with which measuring begins: two batches in flight, unless the user says otherwise."""
    cpus = usable_cpus()
    threads = min(wanted.threads, cpus)  # more would only wait for each other: 64 on two CPUs take seconds for a batch
    slots = wanted.slots or (1 if threads or cpus == 1 else 2)
    if has_devices(backend):
        slots = wanted.slots or 2
    usual = max(backend.batches[0], GPU_BATCH if backend.on_gpu else CPU_BATCH)
    batch = min(wanted.batch_size or backend.batches[-1], usual)
    threads = threads or (1 if has_devices(backend) else max(1, cpus // slots))
    return Plan(backend.name, precision, threads, slots, batch, wanted.gpu)


def _open_tried(network: NetworkFile, plan: Plan) -> Model:
    """Open a network and run it on some positions: its outputs show what the file does not declare."""
    with LIBRARY_CALLS:
        try:
            model = get_backend(plan.backend).open(network, plan)
        except (ImportError, OSError) as error:  # the library is installed, but broken
            raise EvaluatorError(f"DNN_Provider {plan.backend} cannot be loaded: {error}") from error
        model.run(filled_slot(model, len(PROBES), probe_positions()), len(PROBES))
    return model


def _evaluator(network: NetworkFile, choice: Choice, wanted: Plan, model: Model) -> NetworkEvaluator:
    plan = replace(choice.plan, batch_size=model.fixed_batch or choice.plan.batch_size)
    limited = f" (Threads is {wanted.threads}, but there are no more CPUs)" if wanted.threads > plan.threads else ""
    description = (
        f"{network.path.name} on {get_backend(plan.backend).title} in {plan.precision}: "
        f"{counted(plan.threads, 'thread')}{limited}, batch {plan.batch_size}, {plan.slots} in flight"
    )
    return NetworkEvaluator(network, model, plan, f"{description}; {choice.reason}" if choice.reason else description)


def unreadable(network: NetworkFile, provider: str) -> str:
    """Reason why a backend, or with "auto" any, cannot read a network's file, and what helps.

    Args:
        network: The file.
        provider: Value of DNN_Provider.
    """
    path, option = network.path, f"DNN_Provider {provider}"
    if provider == Native.name:
        return refusal(network)
    if network.is_sparse:
        return refusal(network) if provider == "auto" else f"{path}: only DNN_Provider native runs sparse networks"
    if path.suffix not in PARAMETER_SUFFIXES:
        return f"{path}: {option} cannot read it"
    export = f"export it: fukayomi export {path} {path.with_suffix('.onnx')} (a sparse one: {SPARSE_SUFFIX})"
    if path.suffix != SAFETENSORS_SUFFIX:
        return f"{path} is a checkpoint, not a network; {export}"
    if provider == "auto":
        return f"{path}: only torch reads it. Install it ({by_extra('torch')}), or {export}"
    return f"{path}: {option} cannot read it. Set DNN_Provider torch ({by_extra('torch')}), or {export}"


# ---------------------------------------------------------------------------------------------- measuring


def _share_cpus(network: NetworkFile, plan: Plan, model: Model) -> tuple[Plan, Model]:
    """All CPUs for one batch at a time, or shared out among two batches, or more where that is clearly faster."""
    cpus = usable_cpus()
    if plan.slots == 1:
        return plan, model
    if network.is_sparse:  # it evaluates faster than one thread gathers
        plan = replace(plan, threads=1, slots=min(cpus, MOST_SLOTS))
        return plan, _open_tried(network, plan)
    plan, model = _faster(network, plan, model, replace(plan, threads=cpus, slots=1), 1 / GOOD_ENOUGH)
    slots = 2 * plan.slots
    while 2 < slots <= min(cpus, MOST_SLOTS):
        plan, model = _faster(network, plan, model, replace(plan, threads=cpus // slots, slots=slots), CLEARLY)
        slots = 2 * slots if plan.slots == slots else 0
    return plan, model


def _faster(network: NetworkFile, plan: Plan, model: Model, other: Plan, times: float) -> tuple[Plan, Model]:
    """The other plan, if it is so many times as fast by the clock; else the first."""
    other_model = _open_tried(network, other)
    speed = other_speed = 0.0
    for _ in range(ROUNDS):  # in turn, so that both meet the same disturbances
        begin = time.perf_counter()
        speed = max(speed, _speed(model, plan, by_clock=True))
        other_speed = max(other_speed, _speed(other_model, other, by_clock=True))
        if time.perf_counter() - begin > 2 * SLOW_S:
            break
    return (other, other_model) if other_speed > times * speed else (plan, model)


def _batch_size(network: NetworkFile, plan: Plan, model: Model, wanted: int) -> tuple[int, float, Model]:
    """The batch size, its speed and its model: the file's, the given one, or the smallest that is about as fast as any.

    A model that is compiled for the batch size of its plan is opened anew for each.
    """
    backend = get_backend(plan.backend)
    is_compiled = getattr(backend, "has_fixed_batch", False) and model.fixed_batch == plan.batch_size
    sizes: Sequence[int] = getattr(model, "batches", backend.batches)
    if wanted or (model.fixed_batch and not is_compiled):
        sizes = (wanted if is_compiled else model.fixed_batch or wanted,)
    models = {plan.batch_size: model} if is_compiled else dict.fromkeys(sizes, model)
    measured: dict[int, list[float]] = {}
    for _ in range(BATCH_ROUNDS):
        for size in sizes:
            used = replace(plan, batch_size=size)
            if size not in models:
                models[size] = _open_tried(network, used)
            speed = _speed(models[size], used)
            measured.setdefault(size, []).append(speed)
            if size * plan.slots / speed > SLOW_S:
                sizes = ()  # larger ones, and another round, would take too long
                break
    speeds = {size: statistics.median(found) for size, found in measured.items()}
    enough = BATCH_SHARE * max(speeds.values())
    size = min(size for size, speed in speeds.items() if speed >= enough)
    return size, speeds[size], models[size]


def _speed(model: Model, plan: Plan, seconds: float | None = None, *, by_clock: bool = False) -> float:
    """Positions per second with the plan's batches in flight."""
    # Threads that wait for others to finish their share of a batch may use no CPU time.
    by_clock = by_clock or get_backend(plan.backend).on_gpu or plan.threads > 1
    cpus = min(plan.slots * plan.threads, usable_cpus())
    batch = model.fixed_batch or plan.batch_size
    slots = [filled_slot(model, batch, probe_positions()) for _ in range(plan.slots)]
    run_batches(model, slots, batch, 0)  # the first run plans its memory
    start, cpu_start = time.perf_counter(), time.process_time()
    runs = run_batches(model, slots, batch, MEASURE_S if seconds is None else seconds)
    clock_s, cpu_s = time.perf_counter() - start, time.process_time() - cpu_start
    return runs * batch / max(clock_s if by_clock else cpu_s / cpus, 1e-9)
