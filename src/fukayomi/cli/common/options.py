"""Declaration of options by commands: arguments are parameters, options are fields of a dataclass.

An option that several commands have is an alias here.
"""

import ast
import copy
import functools
import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import typer

from fukayomi.cli.common.errors import SETTINGS_GIVEN, USAGE, fail
from fukayomi.files.inputs import InputFileError, replaceable

if TYPE_CHECKING:
    from fukayomi.settings import Settings

File = TypeVar("File", str, Path)
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
NETWORK_HELP = "Network: a file in .onnx or .sparse, or an embedded one by its name, as '<5x64>'."
Model = Annotated[
    Path | None, typer.Option(metavar="NETWORK", help=NETWORK_HELP, show_default="the embedded one for this computer")
]


def parse_time(text: str) -> int:
    """Milliseconds of ``--time``."""
    from fukayomi.arena.game.time_control import LARGEST, milliseconds

    try:
        time_ms = milliseconds(text.strip())
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if not 1 <= time_ms <= LARGEST:
        raise typer.BadParameter(f"{text} is not between 1ms and {LARGEST}ms")
    return time_ms


def check_target(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Refuse an output that is a folder or a device, lies in a missing folder, or is also an input."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"{path} cannot be written: it is a folder, or its folder is missing")
    try:
        replaceable(path)
    except InputFileError as error:
        raise typer.BadParameter(str(error)) from error
    if path.absolute() in {given.absolute() for given in inputs}:
        raise typer.BadParameter(f"{path} is also an input")


def by_short_name(files: Sequence[File], short: Callable[[Path], str]) -> dict[str, File]:
    """Files by short name, or by path where several have the same; refuses a file that is given twice."""
    if twice := [file for file, count in Counter(files).items() if count > 1]:
        fail(f"{twice[0]} is given twice", USAGE)
    names = [short(Path(file)) for file in files]
    return {name if names.count(name) == 1 else str(file): file for name, file in zip(names, files, strict=True)}


def is_subcommand(context: typer.Context) -> bool:
    """True if the command line names a sub-command of a command that can also run alone, like ``match calibrate``.

    Fails if there are options before the sub-command, which would be ignored.
    """
    command = context.invoked_subcommand
    if command is None:
        return False
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            fail(f"put the options of {command} after it: fukayomi {context.info_name} {command} ...", USAGE)
    return True


def given_options(options: Any, *without: str) -> dict[str, Any]:
    """The options of a dataclass that were given, by name: those that are not None."""
    values = {field.name: getattr(options, field.name) for field in fields(options) if field.name not in without}
    return {name: value for name, value in values.items() if value is not None}


def options_of(
    model: "type[Settings]", *names: str, panel: str | None = None, **flags: str
) -> Callable[[type[Any]], type[Any]]:
    """Make a class a dataclass of options (see `spread_options`) from fields of settings.

    Help and default are the settings': the strings beneath the fields, in which a field in backticks becomes its option
    and "; None: X." the default. An option that is not given is None: `given_options` of the class is a layer of the
    settings. Options of the class's own come after them.

        @options_of(SelfplaySettings, "playouts", "extension", panel="Search")
        class SearchOptions: ...

    Args:
        model: The settings.
        names: The fields.
        panel: Heading of the options in the help; None: Options.
        flags: Fields whose option has a name of its own: ``margin_ms="--margin"``.
    """

    def decorate(group: type[Any]) -> type[Any]:
        hints: dict[str, Any] = {}
        for name in (*names, *flags):
            field = model.model_fields[name]
            help_text, default = _help_of(model, field.description or "", field.default, flags)
            given = [flags[name]] if name in flags else []
            hints[name] = Annotated[
                _kind_of(field.annotation) | None, typer.Option(*given, help=help_text, show_default=default)
            ]
            setattr(group, name, None)
        group.__annotations__ = {**hints, **group.__annotations__}
        group.PANEL, group.SETTINGS = panel, {name: flags.get(name, _option(name)) for name in (*names, *flags)}
        return dataclass(frozen=True)(group)

    return decorate


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _kind_of(annotation: Any) -> Any:
    """The type of a field as an option has it: its own, or text that the settings read."""
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    if get_origin(annotation) is Annotated:
        return _kind_of(kinds[0])
    if get_origin(annotation) in (Union, UnionType):
        return _kind_of(kinds[0]) if len(kinds) == 1 else str
    if get_origin(annotation) is tuple and (kind := _kind_of(kinds[0])) in (int, str, Path):
        return list[kind]
    known = int | float | str | Path
    is_known = get_origin(annotation) is Literal or (isinstance(annotation, type) and issubclass(annotation, known))
    return annotation if is_known else str


def _help_of(model: "type[Settings]", text: str, default: Any, flags: Mapping[str, str]) -> tuple[str, str | bool]:
    """The help of an option, and the default that it shows."""

    from pydantic_core import PydanticUndefined

    def option(found: re.Match[str]) -> str:
        name = found[1]
        return flags.get(name, _option(name)) if name in model.model_fields else found[0]

    text = re.sub(r"`(\w+)`", option, " ".join(text.split()))
    if none := re.search(r"[;.] None: ([^;.]+)\.?", text):
        return f"{text[: none.start()]}.{text[none.end() :]}", none[1]
    if default in (None, "", (), PydanticUndefined):
        return text, False
    return text, ("yes" if default else "no") if isinstance(default, bool) else str(default)


def spread_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give typer a command in which each parameter that is a dataclass is replaced by the fields of the dataclass.

        @dataclass(frozen=True)
        class SearchOptions:
            PANEL: ClassVar = "Search"
            nodes: Annotated[int, typer.Option(min=1)] = 800
            "Nodes per position."

        def think(record: Path, search: SearchOptions) -> None: ...

    becomes ``think RECORD --nodes 800``. Every field needs a default; the string beneath it is
    its help. PANEL is the heading of the options in the help;
    without it they stand under "Options".
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, type[Any]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            parameters += _parameters(parameter.annotation)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(**given: Any) -> None:
        typed: dict[str, tuple[str, object]] = {}
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
            options: dict[str, str] = getattr(group, "SETTINGS", {})
            typed |= {setting: (option, getattr(given[name], setting)) for setting, option in options.items()}
        SETTINGS_GIVEN.set(typed)
        command(**given)

    vars(run)["__signature__"] = signature.replace(parameters=parameters)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parameters(group: type[Any]) -> list[inspect.Parameter]:
    hints, texts = get_type_hints(group, include_extras=True), _texts(group.__module__).get(group.__name__, {})
    found: list[inspect.Parameter] = []
    for field in fields(group):
        hint = hints[field.name]
        kind, option = get_args(hint) if get_origin(hint) is Annotated else (hint, typer.Option())
        option = copy.copy(option)  # it may be shared with other commands
        option.help, option.rich_help_panel = texts.get(field.name, option.help), getattr(group, "PANEL", None)
        found.append(
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=Annotated[kind, option]
            )
        )
    return found


@functools.cache
def _texts(module: str) -> dict[str, dict[str, str]]:
    """The strings beneath the fields of a module's classes, by class and field."""
    found: dict[str, dict[str, str]] = {}
    for group in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(group, ast.ClassDef):
            texts = found[group.name] = {}
            for field, text in pairwise(group.body):
                match field, text:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                        texts[name] = " ".join(words.split())
                    case _:
                        pass
    return found
