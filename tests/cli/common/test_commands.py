"""Every command's help: it teaches, flows with the terminal, and its examples name options that there are."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from command_app import app
from command_runs import run

from fukayomi.cli.common.commands import flowing


def commands(group: Any, path: str = "fukayomi") -> Iterator[tuple[str, Any]]:
    for name, command in sorted(group.commands.items()):
        yield f"{path} {name}", command
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")


ALL: dict[str, Any] = dict(commands(typer.main.get_command(app)))


def examples(command: Any) -> list[str]:
    """Lines of the help that begin with the program's name, those that go on joined."""
    text = (command.help or "").replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if line.startswith("  fukayomi ")]


def test_paragraphs_flow_and_lists_stay() -> None:
    def command() -> None:
        """One.

        Two lines
        are one.

        \b
          fukayomi a
          fukayomi b
        """

    assert flowing(command) == "One.\n\nTwo lines are one.\n\n  fukayomi a\n  fukayomi b"


@pytest.mark.parametrize("name", ALL)
def test_help_says_something_and_fits_a_terminal(name: str) -> None:
    command = ALL[name]
    assert len(command.help or "") > 20
    for paragraph in command.help.split("\n\n"):
        lines = paragraph.split("\n")
        assert len(lines) == 1 or max(map(len, lines)) <= 78, paragraph
    for parameter in command.params:
        assert parameter.help, f"{name} does not tell what {parameter.name} is"


@pytest.mark.parametrize("name", ["fukayomi", *ALL])
def test_help_is_whole_at_80_columns(name: str) -> None:
    code, printed, _ = run(*name.split()[1:], "--help", COLUMNS="80")
    assert code == 0
    assert max(map(len, printed.splitlines())) == 80
    assert "…" not in printed


@pytest.mark.parametrize("name", [name for name in ALL if examples(ALL[name])])
def test_examples_name_options_that_there_are(name: str) -> None:
    for example in examples(ALL[name]):
        words = re.sub(r"\s#.*|\s\|.*", "", example).split()
        longest = max((other for other in ALL if words[: len(other.split())] == other.split()), key=len)
        known = {option for parameter in ALL[longest].params for option in (*parameter.opts, *parameter.secondary_opts)}
        for word in words[len(longest.split()) :]:
            if re.match(r"--?[a-z]", word):
                assert word.partition("=")[0] in known, f"{name}: {example}"
