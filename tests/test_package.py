"""The package as it is installed: its version, its programs, its stub, its examples, and what starting it costs."""

import ast
import doctest
import importlib
import os
import pickle
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path

import pytest

import fukayomi
from fukayomi import _native

HEAVY = (
    "matplotlib", "numpy", "onnx", "onnxruntime", "openvino", "pandas", "polars", "pydantic", "ray", "scipy",
    "tensorboard", "torch", "yaml",
)  # fmt: skip
PACKAGE = Path(str(resources.files("fukayomi")))
WITH_EXAMPLES = sorted(
    ".".join(("fukayomi", *file.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for file in PACKAGE.rglob("*.py")
    if ">>> " in file.read_text(encoding="utf-8")
)
WITH_LAZY_NAMES = sorted(
    ".".join(("fukayomi", *file.relative_to(PACKAGE).parent.parts))
    for file in PACKAGE.rglob("__init__.py")
    if "= lazy(" in file.read_text(encoding="utf-8")
)


def test_version_is_the_distribution_s() -> None:
    assert metadata.version("fukayomi") == fukayomi.__version__


def test_the_program_tells_its_version() -> None:
    run = subprocess.run([sys.executable, "-m", "fukayomi", "--version"], capture_output=True, text=True, timeout=600)
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


def imported(body: list[ast.stmt]) -> set[tuple[str, str]]:
    """The imports of fukayomi's names among these statements, as (module, name)."""
    found = [node for node in body if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fukayomi.")]
    return {(str(node.module), alias.name) for node in found for alias in node.names}


@pytest.mark.parametrize("package", WITH_LAZY_NAMES)
def test_lazy_names_are_those_that_type_checkers_see_and_all_lists(package: str) -> None:
    module = importlib.import_module(package)
    body = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body
    [for_checkers] = [node for node in body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    [call] = [node.value for node in body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)]
    table = {
        (package + defining if defining.startswith(".") else defining, name)
        for defining, names in ast.literal_eval(call.args[1]).items()
        for name in names
    }
    assert table == imported(for_checkers.body)
    at_once = imported(body) - {("fukayomi._lazy", "lazy"), ("fukayomi._environment", "prepare_environment")}
    own = {"__version__"} if package == "fukayomi" else set[str]()
    assert sorted(module.__all__) == sorted([name for _, name in table | at_once] + [*own])
    assert set(module.__all__) <= set(dir(module))
    for defining, name in table:
        assert getattr(module, name) is getattr(importlib.import_module(defining), name)


def test_packages_are_there_on_first_use() -> None:
    code = (
        "import fukayomi as f; print(f.selfplay.generate.__name__, f.loop.learn.__name__, f.nn.NetworkConfig.__name__)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    assert run.stdout == "generate learn NetworkConfig\n"


@pytest.mark.parametrize("package", WITH_LAZY_NAMES)
def test_a_name_that_is_not_there_is_an_attribute_error(package: str) -> None:
    module = importlib.import_module(package)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing


def test_exported_classes_are_pickled_by_their_public_names() -> None:
    names = ("Position", "Move", "Color", "PieceType", "IllegalMoveError", "RecordError")
    each = f"pickle.load(sys.stdin.buffer) is getattr(__import__('fukayomi'), name) for name in {names}"
    code = f"import pickle, sys; print([{each}])"
    pickled = b"".join(pickle.dumps(getattr(fukayomi, name)) for name in names)
    run = subprocess.run([sys.executable, "-c", code], input=pickled, capture_output=True, timeout=600, check=True)
    assert run.stdout.decode() == f"{[True] * len(names)}\n"


@pytest.mark.parametrize("module", ["fukayomi", "fukayomi.shogi", "fukayomi.cli.main", "fukayomi.cli.engine.usi"])
def test_starting_imports_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    assert run.stdout.split() == []


def test_the_library_imports_no_terminal_and_no_rsshogi() -> None:
    code = "import sys, fukayomi; fukayomi.Position(); print({'rich', 'typer', 'rsshogi'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    assert run.stdout == "set()\n"


HELP = """
import sys
from fukayomi.__main__ import main
for command in {commands}:
    sys.argv = ["fukayomi", *command.split(), "--help"]
    try:
        main()
    except SystemExit as end:
        assert not end.code
    print(command, *sorted({heavy} & set(sys.modules)), file=sys.stderr)
"""


def test_help_imports_nothing_heavy() -> None:
    commands = ("", "data", "data uniq", "match", "match calibrate", "strategy", "train")
    heavy = set(HEAVY) - {"pydantic"}  # with which typer itself reads what is given before the sub-command
    asked = [sys.executable, "-c", HELP.format(commands=commands, heavy=heavy)]
    run = subprocess.run(asked, capture_output=True, text=True, timeout=600, check=True)
    assert run.stdout.count("Usage: ") == len(commands)
    assert run.stderr.splitlines() == [*commands]


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_in_docstrings_do_what_they_say(module: str) -> None:
    results = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize(
    "package", ["fukayomi", *(f"fukayomi.{name}" for name in ("arena", "data", "learning", "nn", "usi"))]
)
def test_exported_exceptions_name_a_package_that_exports_them(package: str) -> None:
    public = importlib.import_module(package)
    exported = [getattr(public, name) for name in public.__all__]
    errors = [value for value in exported if isinstance(value, type) and issubclass(value, Exception)]
    assert errors
    for error in errors:
        assert getattr(importlib.import_module(error.__module__), error.__name__) is error
        assert error.__module__ in ("fukayomi", package)


def test_threads_of_torch_hardly_spin() -> None:
    code = "import os, fukayomi; print(os.environ['GOMP_SPINCOUNT'])"
    environment = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    for given, expected in (({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7")):
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment | given, capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == [expected]
