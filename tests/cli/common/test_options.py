"""Options that are fields of a dataclass or of settings."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from pydantic import Field
from typer.testing import CliRunner

from fukayomi.cli.common.errors import user_errors
from fukayomi.cli.common.options import given_options, options_of, spread_options
from fukayomi.settings import Settings, build


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


class Depths(Settings):
    depth: Annotated[int, Field(ge=1)] = 8
    """Depth of each search; more than `fast_ms` allows is not reached."""
    fast_ms: Annotated[int, Field(ge=0)] | None = None
    """Time of each search, ms; None: no limit."""
    scale: float | str = 600.0
    """Scale, or "fit"."""
    quiet: bool = False
    """Print nothing."""


@options_of(Depths, "depth", "scale", "quiet", fast_ms="--time", panel="Depths")
class DepthOptions:
    """Depths."""

    out: Annotated[Path | None, typer.Option(help="Where to.")] = None


def test_options_come_from_settings() -> None:
    app = typer.Typer()
    said: list[Depths] = []

    @app.command()
    @spread_options
    def think(depths: DepthOptions) -> None:
        said.append(Depths(**given_options(depths, "out")))

    for words in ([], ["--time", "5", "--quiet", "--scale", "fit", "--out", "x"], ["--depth", "0"]):
        CliRunner().invoke(app, words)
    told = " ".join(CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output.split())

    assert said == [Depths(), Depths(fast_ms=5, quiet=True, scale="fit")]
    assert "Depth of each search; more than --time allows is not reached. [default: (8)]" in told
    assert "Time of each search, ms. [default: (no limit)]" in told
    assert "--quiet" in told
    assert "--no-quiet" in told


class Steps(Settings):
    depths: Depths = Depths()
    """How deep."""


@pytest.mark.parametrize(
    ("words", "file", "said"),
    [
        (["--depth", "0"], {}, "error: --depth: Input should be greater than or equal to 1, not 0\n"),
        (["--time", "-1"], {"quiet": 1}, "error: --time: Input should be greater than or equal to 0, not -1\n"),
        ([], {"depth": 0}, "error: depths.depth: Input should be greater than or equal to 1, not 0\n"),
        (["--depth", "5"], {"fast_ms": -1}, "error: depths.fast_ms: Input should be greater than or equal to 0, not"),
    ],
)
def test_an_error_names_the_option_as_typed_and_the_key_of_a_file(
    words: list[str], file: dict[str, object], said: str
) -> None:
    app = typer.Typer()

    @app.command()
    @spread_options
    def think(depths: DepthOptions) -> None:
        with user_errors():
            build(Steps, {"depths": file}, {"depths": given_options(depths, "out")})

    run = CliRunner().invoke(app, words)
    assert (run.exit_code, run.stdout) == (2 if said.startswith("error: --") else 1, "")
    assert said in run.stderr
