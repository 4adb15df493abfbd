"""docs/how-to-add-a-network.md, followed step by step: its changes are made to a copy of the package."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import fukayomi

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to-add-a-network.md"


def change(root: Path, diff: str) -> None:
    """Make the change of one block of the page."""
    head, *lines = diff.splitlines(keepends=True)
    file = root / head.removeprefix("--- src/").strip()
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{file.name} has changed: {before}"
    file.write_text(text.replace(before, after), encoding="utf-8")


def test_a_network_is_added_by_the_steps_of_the_page(tmp_path: Path) -> None:
    package = tmp_path / "fukayomi"
    shutil.copytree(Path(fukayomi.__path__[0]), package, ignore=shutil.ignore_patterns("__pycache__"))
    page = PAGE.read_text(encoding="utf-8")
    diffs = re.findall(r"```diff\n(.*?)```", page, re.DOTALL)
    (check,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(diffs) > 5
    for diff in diffs:
        change(tmp_path, diff)
    script = tmp_path / "main.py"
    afterwards = """
import fukayomi
from fukayomi.nn import NetworkConfigError, save_dlshogi
print(fukayomi.__file__)
counted = sum(parameter.numel() for parameter in network.parameters())
print(network.config.block_kinds(), 0.9 < network.config.parameters() / counted <= 1)
try:
    save_dlshogi(network, "model.npz")
except NetworkConfigError as error:
    print(error)
"""
    script.write_text("import torch\ntorch.set_num_threads(1)\n" + check + afterwards, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script.name],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": "", "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        str(package / "__init__.py"),
        "['bottleneck', 'bottleneck', 'bottleneck'] True",
        "dlshogi has no network with bottleneck 4",
    ]
