"""Duplicates removed from 20 million synthetic records, in rows a CPU-second and peak memory, beside pandas and polars.

    python benchmarks/dedup.py [--json] [--rows N] [--mode MODE] [--folder DIR]
    python benchmarks/dedup.py --line [--picture FILE] [--json] [--mode MODE] [--folder DIR]

Of the records 70 % are of positions of their own, and 30 % are drawn by a power law from a pool of positions a
hundredth as large. Everything is counted, in processes of their own: starting, reading hcpe, reducing, writing hcpe.

- ours: `fukayomi data uniq --mode mean` (or another), which spreads the rows over files and holds little in memory;
- pandas: the article's group-by over 33 columns, of a tenth of the records, as its memory does not allow more;
- polars: its streaming engine, with the position as four 64-bit columns, all in memory.

The three count the same groups, or the program stops. Needs disk for twice the records: 38 bytes each.

With --line ours alone is measured at 2, 20 and 100 million records, the line through the three (least squares of the
relative errors) is drawn on to 2.6 billion, the training data of the largest published network, and how far each
measurement is from the line is told.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types are incomplete.)

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.formats.hcpe import HCPE

AT_ONCE = 1_000_000
LINE_ROWS = (2_000_000, 20_000_000, 100_000_000)
GOAL_ROWS = 2_600_000_000
PANDAS_SHARE = 10

PANDAS = """
import sys
import numpy as np, pandas as pd
from fukayomi.data.formats.hcpe import HCPE
source, target, rows = sys.argv[1:]
hcpes = np.fromfile(source, HCPE, int(rows))
df = pd.concat([pd.DataFrame(hcpes["hcp"]), pd.DataFrame(hcpes[["eval", "bestMove16", "gameResult", "dummy"]])], axis=1)
df2 = df.groupby([*range(32), "bestMove16"], as_index=False).mean()
df2.loc[df2["gameResult"] >= 1.5, "gameResult"] = 2
df2.loc[(df2["gameResult"] > 0) & (df2["gameResult"] < 2), "gameResult"] = 1
out = np.zeros(len(df2), HCPE)
out["hcp"] = df2[list(range(32))]
for name in ("eval", "bestMove16", "gameResult"):
    out[name] = df2[name]
out.tofile(target)
print(len(out))
"""

POLARS = """
import sys
import numpy as np, polars as pl
from fukayomi.data.formats.hcpe import HCPE
source, target, rows = sys.argv[1:]
hcpes = np.fromfile(source, HCPE, int(rows))
words = np.ascontiguousarray(hcpes["hcp"]).view("<u8")
columns = {f"k{n}": np.ascontiguousarray(words[:, n]) for n in range(4)}
columns |= {name: np.ascontiguousarray(hcpes[name]) for name in ("bestMove16", "eval", "gameResult")}
keys = ["k0", "k1", "k2", "k3", "bestMove16"]
frame = pl.DataFrame(columns)
del hcpes, words, columns
means = frame.lazy().group_by(keys).agg(pl.col("eval").mean(), pl.col("gameResult").mean()).collect(engine="streaming")
del frame
out = np.zeros(len(means), HCPE)
out["hcp"] = np.stack([means[name].to_numpy() for name in keys[:4]], axis=1).view(np.uint8)
out["bestMove16"], out["eval"] = means["bestMove16"].to_numpy(), means["eval"].to_numpy()
result = means["gameResult"].to_numpy()
out["gameResult"] = np.where(result >= 1.5, 2, result > 0)
out.tofile(target)
print(len(out))
"""


def write_records(path: Path, rows: int, seed: int = 1) -> None:
    """Synthetic records: positions are random bytes, which cost as much as real ones once they are hashed."""
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, 256, (max(1, rows // 100), 32), np.uint8)
    with path.open("wb") as file:
        for begin in range(0, rows, AT_ONCE):
            count = min(AT_ONCE, rows - begin)
            records = np.zeros(count, HCPE)
            records["hcp"] = rng.integers(0, 256, (count, 32), np.uint8)
            drawn = rng.random(count) < 0.3
            records["hcp"][drawn] = pool[(len(pool) * rng.random(int(drawn.sum())) ** 3).astype(np.int64)]
            records["eval"] = rng.integers(-3000, 3000, count)
            records["bestMove16"] = rng.integers(1000, 1007, count)
            records["gameResult"] = rng.integers(0, 3, count)
            file.write(records.tobytes())


def measure(command: list[str]) -> dict[str, float | str]:
    """Run a program to its end; its output, CPU seconds, wall seconds and peak memory."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode()
    if process.returncode:
        sys.exit(f"{command[0]} ended with exit code {process.returncode}")
    scale = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB here
    return {
        "text": text,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "user_s": usage.ru_utime,
        "wall_s": time.monotonic() - start,
        "peak_gib": usage.ru_maxrss * scale / 2**30,
    }


def compare(folder: Path, rows: int, mode: str, *, peers: bool) -> dict[str, float | int | str]:
    source, target = folder / "in.hcpe", folder / ("out.avg" if mode == "shares" else "out.hcpe")
    write_records(source, rows)
    command = ["fukayomi", "data", "uniq", str(source), "-o", str(target), "--mode", mode, "--json"]
    ours = measure([sys.executable, "-m", *command])
    kept = json.loads(str(ours["text"]))["kept"]
    found: dict[str, float | int | str] = {
        "mode": mode,
        "rows": rows,
        "kept": kept,
        "rows_per_cpu_s": round(rows / float(ours["cpu_s"])),
        "peak_gib": round(float(ours["peak_gib"]), 3),
        "cpu_s": round(float(ours["cpu_s"]), 2),
        "user_s": round(float(ours["user_s"]), 2),
        "wall_s": round(float(ours["wall_s"]), 1),
    }
    target.unlink()
    if not peers:
        return found
    polars = measure([sys.executable, "-c", POLARS, str(source), str(folder / "polars.hcpe"), str(rows)])
    if mode != "shares" and int(str(polars["text"])) != kept:
        sys.exit(f"polars finds {polars['text']} groups, not {kept}")
    part = max(1, rows // PANDAS_SHARE)
    pandas = measure([sys.executable, "-c", PANDAS, str(source), str(folder / "pandas.hcpe"), str(part)])
    for name, peer, count in (("pandas", pandas, part), ("polars", polars, rows)):
        rate = count / float(peer["cpu_s"])
        found[f"ratio_to_{name}"] = round(rows / float(ours["cpu_s"]) / rate, 2)
        found[f"{name}_rows"] = count
        found[f"{name}_rows_per_cpu_s"] = round(rate)
        found[f"{name}_peak_gib"] = round(float(peer["peak_gib"]), 3)
    return found


def draw_line(folder: Path, mode: str, picture: Path | None) -> dict[str, object]:
    """CPU seconds against rows, and what they are at GOAL_ROWS if they go on like that."""
    runs = [compare(folder, rows, mode, peers=False) for rows in LINE_ROWS]
    rows, seconds = np.array(LINE_ROWS, float), np.array([float(run["cpu_s"]) for run in runs])
    (start, each), *_ = np.linalg.lstsq(np.stack([1 / seconds, rows / seconds], axis=1), np.ones(len(rows)), rcond=None)
    if picture is not None:
        _paint(picture, rows, seconds, start, each)
    return {
        "mode": mode,
        "rows": list(LINE_ROWS),
        "cpu_s": seconds.tolist(),
        "peak_gib": [run["peak_gib"] for run in runs],
        "start_cpu_s": round(start, 2),
        "cpu_s_per_million": round(each * 1e6, 4),
        "relative_errors": np.round((start + each * rows) / seconds - 1, 3).tolist(),
        "goal_rows": GOAL_ROWS,
        "goal_cpu_s": round(start + each * GOAL_ROWS),
    }


def _paint(picture: Path, rows: NDArray[np.float64], seconds: NDArray[np.float64], start: float, each: float) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot(xlabel="rows", ylabel="CPU seconds", xscale="log", yscale="log")
    drawn = np.geomspace(float(rows[0]) / 2, GOAL_ROWS, 100)
    axes.plot(drawn, start + each * drawn, label=f"{start:.1f} s + {each * 1e6:.2f} s a million rows")
    axes.plot(rows, seconds, "o", label="measured")
    axes.plot(GOAL_ROWS, start + each * GOAL_ROWS, "x", label=f"2.6 billion: {start + each * GOAL_ROWS:,.0f} s")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(picture, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rows", type=int, default=20_000_000, help="how many records (default 20 million)")
    parser.add_argument("--mode", default="mean", help="of fukayomi data uniq (default mean)")
    parser.add_argument("--folder", type=Path, help="where the files go (default: a temporary folder)")
    parser.add_argument("--alone", action="store_true", help="without pandas and polars")
    parser.add_argument("--line", action="store_true", help="at 2, 20 and 100 million records, and what follows")
    parser.add_argument("--picture", type=Path, help="with --line: draw it (matplotlib)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        missing = [peer for peer in ("pandas", "polars") if find_spec(peer) is None]
        if missing and not (args.alone or args.line):
            print(f"without peers: pip install {' '.join(missing)}", file=sys.stderr)
        if args.line:
            result = draw_line(Path(name), args.mode, args.picture)
        else:
            result = compare(Path(name), args.rows, args.mode, peers=not args.alone and not missing)
    if args.json:
        print(json.dumps(result))
        return
    for key, value in result.items():
        print(f"{key:24} {value:>14,}" if isinstance(value, int) else f"{key:24} {value!s:>14}")


if __name__ == "__main__":
    main()
