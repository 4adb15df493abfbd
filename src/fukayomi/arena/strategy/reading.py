"""Files of definitions in their two forms: our own as YAML, and Mizar's as JSON or YAML. Both become `Definition`s."""

from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import resources
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import ValidationError
from pydantic_core import from_json

from fukayomi.arena.strategy.definitions import WHITE_PIECE, Definition, DefinitionError
from fukayomi.arena.strategy.mizar import definitions_of, is_mizar
from fukayomi.files.inputs import read_input
from fukayomi.settings.problems import first_problem

LARGEST_FILE = 4 << 20
"""Bytes that a file of definitions may have; Mizar's has 20 thousand."""


def load_definitions(path: Path | str | None = None) -> tuple[Definition, ...]:
    """The definitions of a file, in its order. Its content tells the form: Mizar's entries have an ``id``.

    Args:
        path: The file; None for the package's own definitions.

    Raises:
        DefinitionError: The file is neither YAML nor JSON, or a definition in it is invalid.
        OSError: The file cannot be read, or it is larger than `LARGEST_FILE`.
    """
    if path is None:
        return _own_definitions()
    return _checked(_parse(read_input(path, LARGEST_FILE), str(path)), str(path))


@cache
def _own_definitions() -> tuple[Definition, ...]:
    file = resources.files("fukayomi.arena.strategy") / "definitions.yaml"
    return _checked(yaml.load(file.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader)), file.name)


def _parse(data: bytes, file: str) -> object:
    """The content of a YAML or JSON file. YAML may begin like JSON, JSON is not always YAML."""
    json_error = ""
    if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"[", b"{"):
        try:
            return from_json(data.removeprefix(b"\xef\xbb\xbf"), allow_inf_nan=False)
        except ValueError as error:
            json_error = f"{file}: invalid JSON: {error}; mend that place, or fetch the whole file again"
    try:
        # Not libyaml: on deeply nested data it overruns the stack.
        content: Any = yaml.load(data, yaml.SafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise DefinitionError(json_error or f"{file}: invalid YAML: {_yaml_problem(error)}") from error
    return content


def _yaml_problem(error: Exception) -> str:
    """What is wrong with a YAML file, and where."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"{error.problem} at line {mark.line + 1} column {mark.column + 1}"
    return "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())


def _checked(content: object, file: str) -> tuple[Definition, ...]:
    if not isinstance(content, list) or not content:
        raise DefinitionError(f"{file}: expected a list of definitions, as docs/strategies.md describes it")
    entries = cast("list[object]", content)
    if is_mizar(entries):
        definitions = definitions_of(entries, file)
    else:
        definitions = tuple(_read_definition(entry, number, file) for number, entry in enumerate(entries, 1))
    _check_references(definitions, file)
    return definitions


def _read_definition(entry: object, number: int, file: str) -> Definition:
    """A definition of our own form."""
    name = cast("dict[str, object]", entry).get("name", "") if isinstance(entry, dict) else ""
    try:
        definition = Definition.model_validate(entry)
    except ValidationError as error:
        raise DefinitionError(f"{file}: {name or f'definition {number}'}: {first_problem(error)}") from error
    for place, shape in enumerate(definition.when):
        if any(kept.piece >= WHITE_PIECE for kept in shape.captures):
            raise DefinitionError(
                f"{file}: {name}: when.{place}: captures must be capital letters: they come into the side's own hand"
            )
    return definition


def _check_references(definitions: tuple[Definition, ...], file: str) -> None:
    """Check that names are unique, that references exist and that no definition hides itself."""
    by_name: dict[str, Definition] = {}
    for definition in definitions:
        if definition.name in by_name:
            raise DefinitionError(f"{file}: {definition.name}: name: defined twice")
        by_name[definition.name] = definition
    for definition in definitions:
        wanted = [("hides", name) for name in definition.hides]
        wanted += [("when", name) for shape in definition.when for names in shape.references() for name in names]
        for key, name in wanted:
            if name not in by_name:
                raise DefinitionError(f"{file}: {definition.name}: {key}: no definition named {name!r}")
    try:
        TopologicalSorter({definition.name: definition.hides for definition in definitions}).prepare()
    except CycleError as error:
        circle = cast("list[str]", error.args[1])[::-1]
        raise DefinitionError(f"{file}: {circle[0]}: hides: a cycle: {' -> '.join(circle)}") from error
