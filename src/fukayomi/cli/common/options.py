"""Options that commands share: each under a name, or as the fields of a dataclass that is passed on as one thing."""

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

_Kind = TypeVar("_Kind", bound=StrEnum)


def choice(kinds: type[_Kind], text: str, option: str) -> _Kind:
    """The one of these that the text names, where typer is not to load them to know what there is."""
    if text not in list(kinds):
        raise typer.BadParameter(f"{text!r} is none of {', '.join(kinds)}", param_hint=option)
    return kinds(text)


def check_target(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Refuse to write a file where it cannot stand, or over one that is read."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"{path} cannot be written: it is a folder, or its folder is missing")
    if path.absolute() in {given.absolute() for given in inputs}:
        raise typer.BadParameter(f"{path} is also an input")


def spread_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer is to see it: in place of a parameter that is a dataclass stands each of its fields.

        @dataclass(frozen=True)
        class Search:
            nodes: Annotated[int, typer.Option(help="To look at.")] = 800

        @app.command()
        @spread_options
        def think(record: Path, search: Search) -> None: ...

    is ``think RECORD --nodes 800``. A field is written as typer wants a parameter, and has a default.
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, type[Any]] = {}
    seen: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            seen += _parameters(parameter.annotation)
        else:
            seen.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    vars(run)["__signature__"] = signature.replace(parameters=seen)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in seen}
    return run


def _parameters(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(group)
    ]
