"""The results of `gpu_check.py` as tables in Markdown."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

Row = dict[str, Any]
STATISTICS = ("mean", "median", "minimum", "maximum")


def page(document: Row) -> str:
    """The page of a document."""
    parts: dict[str, Row] = document["parts"]
    blocks = [f"# GPU check\n\n*{document['begun'][:10]}, device `{document['device']}`*"]
    states = [
        [name, part["state"], f"{part['seconds']:.0f}", "; ".join(_lacking(part))] for name, part in parts.items()
    ]
    blocks.append(_table(["part", "state", "seconds", "not measured"], states))
    for name, part in parts.items():
        measured = [row for row in part["rows"] if "problem" not in row]
        if measured:
            blocks += [f"## {TITLES[name]}", BODIES[name](measured)]
    return "\n\n".join(blocks) + "\n"


def _lacking(part: Row) -> list[str]:
    problems = [f"{row['name']}: {row['problem']}" for row in part["rows"] if "problem" in row]
    return [_cell(text) for text in [*problems, *filter(None, [part["problem"]]), *part["left_out"]]]


def _cell(value: object) -> str:
    """Text that is one cell of a table."""
    if isinstance(value, bool | str) or value is None:
        return " ".join(("" if value is None else str(value)).replace("|", "/").split())
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _of(columns: dict[str, str]) -> Callable[[list[Row]], str]:
    """A table of the rows that have all the keys; title by key. Notes stand in its place."""

    def table(rows: list[Row]) -> str:
        whole = [[row[key] for key in columns] for row in rows if all(key in row for key in columns)]
        notes = [f"{row['note']}." for row in rows if "note" in row]
        return " ".join(notes) or _table([*columns.values()], whole)

    return table


def _machine(rows: list[Row]) -> str:
    (row,) = rows
    libraries = ", ".join(f"{name} {version}" for name, version in row["libraries"].items())
    facts = [
        ["cards", "; ".join(row["cards"]) or "none"],
        ["CPU", f"{row['cpu']}, {row['cpus']} usable ({row['cpu_class']})"],
        ["Python", row["python"]],
        ["torch", ", ".join(f"{key} {value}" for key, value in row["torch"].items())],
        ["libraries", libraries],
        ["commit", row["commit"]],
    ]
    backends = [[each["name"], each["title"], each["problem"] or "can run"] for each in row["backends"]]
    return f"{_table(['', ''], facts)}\n\n{_table(['backend', 'library and device', 'missing'], backends)}"


def _tests(rows: list[Row]) -> str:
    outcomes = [row["outcome"] for row in rows]
    skipped = [[row["name"], row.get("reason", "")] for row in rows if row["outcome"] == "skipped"]
    counts = ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in dict.fromkeys(outcomes))
    return f"{counts}." + (f"\n\n{_table(['skipped', 'reason'], skipped)}" if skipped else "")


def _play(rows: list[Row]) -> str:
    speeds = [
        [
            row["network"], row["ceiling_per_s"], row["ceiling_batch_size"], row["search_per_s"], row["search_share"],
            row["at_once_per_s"], row["at_once_share"], row["identity"].split("-", 1)[-1],
        ]
        for row in rows
    ]  # fmt: skip
    columns = ["network", "alone/s", "batch", "in play/s", "share", "many at once/s", "share", "as"]
    searches = [
        [
            row["network"],
            row["searches"],
            *(row[kind][name] for kind in ("evaluations", "playouts") for name in STATISTICS),
        ]
        for row in rows
    ]
    titles = [f"{kind}/s, {name}" for kind in ("evaluations", "playouts") for name in STATISTICS]
    seeds = [
        [row["network"], row["seeds"]["card"], *(row["seeds"][name] for name in STATISTICS)]
        for row in rows
        if row["seeds"]
    ]
    blocks = [_table(columns, speeds), _table(["network", "searches", *titles], searches)]
    if seeds:
        blocks += ["NPS of dlshogi on other cards:", _table(["network", "card", *STATISTICS], seeds)]
    return "\n\n".join(blocks)


def _training(rows: list[Row]) -> str:
    by_name = {row["name"]: row for row in rows}
    said: list[str] = []
    if "peak" in by_name:
        said.append(f"A product of matrices in {by_name['peak']['dtype']}: {by_name['peak']['tflops']} TFLOP/s.")
    if "loader" in by_name:
        said.append(f"The loader alone: {by_name['loader']['positions_per_s']:,} positions/s on two cores.")
    return f"{' '.join(said)}\n\n{_networks_in_training(rows)}"


_networks_in_training = _of(
    {
        "network": "network", "batch": "batch", "positions_per_s": "positions/s", "bare_positions_per_s": "bare loop",
        "ratio_to_bare_loop": "time beside it", "gflop_per_position": "GFLOP", "share_of_peak": "share of the peak",
    }
)  # fmt: skip
TITLES = {
    "machine": "The computer",
    "tests": "Tests",
    "agreement": "Agreement with ONNX Runtime in fp32",
    "play": "Playing",
    "training": "Training",
    "selfplay": "Self-play",
    "devices": "Several devices",
    "train": "A network",
}
BODIES: dict[str, Callable[[list[Row]], str]] = {
    "machine": _machine,
    "tests": _tests,
    "agreement": _of(
        {
            "name": "backend and precision", "positions": "positions", "top1": "same best move", "kl": "KL",
            "value_error": "mean error of the win rate", "max_value_error": "largest",
        }
    ),
    "play": _play,
    "training": _training,
    "selfplay": _of(
        {
            "name": "network", "games": "games at once", "playouts": "playouts", "alone_per_s": "alone/s",
            "selfplay_per_s": "self-play/s", "share_of_evaluator": "share", "games_per_hour": "games an hour",
        }
    ),
    "devices": _of(
        {"name": "devices", **{name: f"evaluations/s, {name}" for name in STATISTICS}, "ratio_to_one": "ratio"}
    ),
    "train": _of(
        {
            "name": "", "trained": "trained on", "policy_loss": "policy loss", "policy_accuracy": "policy accuracy",
            "value_accuracy": "value accuracy", "total_loss": "loss",
        }
    ),
}  # fmt: skip
