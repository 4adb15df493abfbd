"""Errors on purpose are one line; a bug keeps its traceback."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from pydantic import TypeAdapter
from typer.testing import CliRunner

from fukayomi import EvaluatorError, FukayomiError, Position, ShogiError
from fukayomi.cli.common.commands import Commands
from fukayomi.errors import InvalidValueError
from fukayomi.files.lock import LockedError
from fukayomi.usi import EngineError


def run(command: Callable[[], object]) -> tuple[int, str, BaseException | None]:
    app = typer.Typer(cls=Commands)
    app.callback()(lambda: None)
    app.command("it")(lambda: command() and None)
    result = CliRunner().invoke(app, ["it"])
    return result.exit_code, result.output, result.exception


def raising(error: BaseException) -> Callable[[], object]:
    def command() -> object:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (FukayomiError("a.hcpe: cut"), "a.hcpe: cut"),
        (InvalidValueError("lr is 0"), "lr is 0"),
        (EvaluatorError("no such device"), "no such device"),
        (EngineError("gps: died"), "gps: died"),
        (FileNotFoundError(2, "No such file or directory", "a.csa"), "a.csa: No such file or directory"),
        (OSError("the disk is full"), "the disk is full"),
        (
            ModuleNotFoundError("No module named 'ray'", name="ray"),
            'this command needs ray: pip install "fukayomi[ray]"',
        ),
    ],
)
def test_one_line(error: Exception, line: str) -> None:
    code, output, _ = run(raising(error))
    assert (code, output.count("\n")) == (1, 1)
    assert output.startswith(f"error: {line}")


def test_what_pydantic_refuses_is_one_line() -> None:
    code, output, _ = run(lambda: TypeAdapter(int).validate_python("many"))
    assert (code, output) == (
        1,
        "error: Input should be a valid integer, unable to parse string as an integer, not 'many'\n",
    )


def test_ctrl_c_ends_with_130() -> None:
    assert run(raising(KeyboardInterrupt()))[:2] == (130, "interrupted\n")


@pytest.mark.parametrize("bug", [ValueError("shapes (3,) (4,)"), RuntimeError("mat1 and mat2"), KeyError("x")])
def test_a_bug_keeps_its_traceback(bug: Exception) -> None:
    code, output, exception = run(raising(bug))
    assert (code, exception) == (1, bug)
    assert "error:" not in output


def test_the_core_raises_errors_of_fukayomi() -> None:
    with pytest.raises(FukayomiError, match="9"):
        Position.from_sfen("9/9 b - 1")
    with pytest.raises(InvalidValueError, match="depth 99"):
        Position().perft(99)
    assert issubclass(ShogiError, InvalidValueError)
    assert issubclass(LockedError, FukayomiError)


def test_the_package_raises_no_bare_value_error() -> None:
    package = Path(__file__).parents[3] / "src" / "fukayomi"
    bare = re.compile(r"raise (ValueError|Exception)\(")
    assert [path.name for path in package.rglob("*.py") if bare.search(path.read_text("utf-8"))] == []
