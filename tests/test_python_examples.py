"""The examples of docs/python.md have types that a strict checker accepts."""

import doctest
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from places import ROOT

HEAD = "# pyright: reportUnknownMemberType=false, reportUnusedExpression=false, reportUnusedVariable=false\n"
"""Types of torch and Matplotlib are incomplete; a doctest shows what an expression gives."""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("basedpyright") is None, reason="needs basedpyright")
def test_the_examples_pass_a_strict_type_checker(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    examples = [each for each in doctest.DocTestParser().get_examples(text) if each.exc_msg is None]
    assert text.count("\n### ") == 24
    (tmp_path / "examples.py").write_text(HEAD + "".join(each.source for each in examples), encoding="utf-8")
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "extraPaths": [str(ROOT / "src")]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "-p", str(tmp_path), "--pythonpath", sys.executable]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout
    assert "0 errors" in run.stdout
