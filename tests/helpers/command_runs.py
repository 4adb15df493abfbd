"""Running commands within the tests' process."""

import json
from pathlib import Path
from typing import Any

from command_app import app
from typer.testing import CliRunner, Result


def invoke(*arguments: object, **environment: str) -> Result:
    """Run `fukayomi ARGUMENTS`; an exception that the command does not catch goes on."""
    result = CliRunner().invoke(app, [*map(str, arguments)], env=environment)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def run(*arguments: object, **environment: str) -> tuple[int, str, str]:
    """The same; gives the exit code, what it printed and what it said on stderr."""
    result = invoke(*arguments, **environment)
    return result.exit_code, result.stdout, result.stderr


def run_json(*arguments: object) -> Any:
    """What a command that succeeds prints with --json: one line."""
    code, printed, said = run(*arguments, "--json")
    assert code == 0, said
    assert printed.count("\n") == 1
    return json.loads(printed)


def write_pgn(path: Path, games: list[tuple[str, str, str]]) -> Path:
    """Write results: White, Black and the result of each game."""
    text = '[White "{}"]\n[Black "{}"]\n[Result "{}"]\n\n{}\n\n'
    quoted = [(w.replace("\\", "\\\\").replace('"', '\\"'), b.replace('"', '\\"'), end) for w, b, end in games]
    path.write_text("".join(text.format(w, b, end, end) for w, b, end in quoted), encoding="utf-8")
    return path
