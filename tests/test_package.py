"""The package as it is installed: its version, its programs, its stub, its examples, and what starting it costs."""

import ast
import doctest
import importlib
import pickle
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path

import pytest

import fukayomi
from fukayomi import _native

HEAVY = (
    "matplotlib", "numpy", "onnx", "onnxruntime", "pandas", "polars", "pydantic", "ray", "scipy",
    "tensorboard", "torch", "yaml",
)  # fmt: skip
PACKAGE = Path(str(resources.files("fukayomi")))
WITH_EXAMPLES = sorted(
    ".".join(("fukayomi", *file.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for file in PACKAGE.rglob("*.py")
    if ">>> " in file.read_text(encoding="utf-8")
)


def test_version_is_the_distribution_s() -> None:
    assert metadata.version("fukayomi") == fukayomi.__version__


def test_the_program_tells_its_version() -> None:
    run = subprocess.run([sys.executable, "-m", "fukayomi", "--version"], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout) == (0, f"fukayomi {fukayomi.__version__}\n")


def test_programs_are_installed_and_lead_somewhere() -> None:
    programs = metadata.entry_points(group="console_scripts")
    ours = {program.name: program for program in programs if program.value.startswith("fukayomi.")}
    assert set(ours) == {"fukayomi", "fukayomi-usi"}
    for program in ours.values():
        assert callable(program.load())


def test_package_is_typed_and_its_stub_names_what_the_extension_has() -> None:
    assert (PACKAGE / "py.typed").is_file()
    stub = ast.parse((PACKAGE / "_native.pyi").read_text(encoding="utf-8"))
    named = {node.name for node in stub.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    named |= {ast.unparse(node.target) for node in stub.body if isinstance(node, ast.AnnAssign)}
    assert {name for name in dir(_native) if not name.startswith("_")} <= named


def test_every_public_name_is_there_and_says_where_it_belongs() -> None:
    assert set(fukayomi.__all__) <= set(dir(fukayomi))
    for name in fukayomi.__all__:
        value = getattr(fukayomi, name)
        if isinstance(value, type) and issubclass(value, Exception):
            assert f"{value.__module__}.{value.__qualname__}" == f"fukayomi.{name}"
    with pytest.raises(AttributeError, match="module 'fukayomi' has no attribute 'Positon'"):
        _ = fukayomi.Positon


@pytest.mark.parametrize("name", ["Position", "Move", "Color", "PieceType", "IllegalMoveError", "RecordError"])
def test_exported_classes_are_pickled_by_their_public_names(name: str) -> None:
    code = f"import pickle, sys; print(pickle.load(sys.stdin.buffer) is __import__('fukayomi').{name})"
    pickled = pickle.dumps(getattr(fukayomi, name))
    run = subprocess.run([sys.executable, "-c", code], input=pickled, capture_output=True, timeout=60, check=True)
    assert run.stdout == b"True\n"


@pytest.mark.parametrize("module", ["fukayomi", "fukayomi.shogi", "fukayomi.cli.main", "fukayomi.cli.engine.usi"])
def test_starting_imports_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.split() == []


def test_the_library_imports_no_terminal_and_no_rsshogi() -> None:
    code = "import sys, fukayomi; fukayomi.Position(); print({'rich', 'typer', 'rsshogi'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "set()\n"


@pytest.mark.parametrize("command", ["", "data", "data uniq", "match", "match calibrate", "strategy", "train"])
def test_help_imports_nothing_heavy(command: str) -> None:
    ours = set(HEAVY) - {"pydantic"}  # with which typer itself reads what is given before the sub-command
    told = f"print(*sorted({ours!r} & set(sys.modules)), file=sys.stderr)"
    code = f"import atexit, sys; atexit.register(lambda: {told}); from fukayomi.__main__ import main; main()"
    asked = [sys.executable, "-c", code, *command.split(), "--help"]
    run = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True)
    assert "Usage: " in run.stdout
    assert run.stderr.split() == []


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_in_docstrings_do_what_they_say(module: str) -> None:
    results = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert results.attempted > 0
    assert results.failed == 0
