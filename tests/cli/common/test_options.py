"""Options that are fields of a dataclass."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from fukayomi.cli.common.options import spread_options


@dataclass(frozen=True)
class Limits:
    nodes: Annotated[int, typer.Option(min=1, help="To look at.", rich_help_panel="Limits")] = 800
    words: Annotated[list[str] | None, typer.Option("--word", help="To say.")] = None


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()

    @app.command()
    @spread_options
    def think(record: Path, limits: Limits, out: Annotated[Path | None, typer.Option()] = None) -> None:
        """Think."""
        typer.echo(repr((str(record), limits, out)))

    return app


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["a.csa"], Limits()),
        (["--nodes", "5", "a.csa", "--word", "x", "--word", "y"], Limits(5, ["x", "y"])),
    ],
    ids=["defaults", "all"],
)
def test_fields_are_options(app: typer.Typer, given: list[str], expected: Limits) -> None:
    run = CliRunner().invoke(app, given)
    assert (run.exit_code, run.stdout) == (0, f"{('a.csa', expected, None)!r}\n")


def test_fields_keep_their_rules_and_their_help(app: typer.Typer) -> None:
    refused = CliRunner().invoke(app, ["a.csa", "--nodes", "0"])
    assert refused.exit_code == 2
    assert "--nodes" in refused.output
    told = CliRunner().invoke(app, ["--help"]).output
    assert "Think." in told
    for text in ("To look at.", "To say.", "800", "--out"):
        assert text in told
    assert "limits" not in told
