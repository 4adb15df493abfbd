"""Problems of settings or data from outside: a line for each."""

import reprlib
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any, cast, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

MOST_PROBLEMS = 5
"""Problems that are told at once."""


def first_problem(error: ValidationError, whole: str = "") -> str:
    """The first problem of some data, with the place where it is: ``engines.0.name is missing``.

    Args:
        error: The error.
        whole: The place of a problem that is of no single field.
    """
    return next(problems(error, whole=whole))


def problems(
    error: ValidationError,
    model: type[BaseModel] | None = None,
    values: Any = None,
    whole: str = "",
    *,
    is_layer: bool = False,
) -> Iterator[str]:
    """The problems of some data, a line each.

    Args:
        error: The error.
        model: The settings; an unknown key is then told the known ones.
        values: What was checked; tables in lists are then called by their names.
        whole: The place of a problem that is of no single field.
        is_layer: Leave out what another layer may change: what is missing, and what whole tables do not fit.
    """
    found = error.errors(include_url=False, include_context=False)
    if is_layer:
        found = [each for each in found if not _is_of_table(each)]
    inner = {each["loc"][:length] for each in found for length in range(len(each["loc"]))}
    # What is wrong with a whole table follows from what is wrong in it.
    for each in [each for each in found if each["loc"] not in inner][:MOST_PROBLEMS]:
        where = ".".join(_words(each["loc"], values)) or whole
        message = str(each["msg"]).removeprefix("Value error, ")
        if each["type"] == "missing":
            yield f"{where} is missing"
        elif each["type"] == "extra_forbidden" and model is not None:
            yield f"{where}: {unknown(str(each['loc'][-1]), _known(model, each['loc'][:-1]))}"
        elif each["type"] == "extra_forbidden":
            yield f"{where}: unknown key"
        else:
            given = cast("object", each["input"])
            is_said = each["type"] == "value_error" or not isinstance(given, str | float | int | None)
            yield (f"{where}: " if where else "") + message + ("" if is_said else f", not {reprlib.repr(given)}")


def _is_of_table(problem: ErrorDetails) -> bool:
    """True if a problem is not of one value that is there: the rest of a list may be on the command line."""
    is_whole = problem["type"] == "value_error" and isinstance(problem["input"], dict)
    return is_whole or problem["type"] in ("missing", "too_short")


def unknown(name: str, known: Sequence[str]) -> str:
    """Text about an unknown setting: the known ones, and the nearest.

    >>> unknown("gams", ["generations", "games"])
    'unknown setting; did you mean games? There are generations, games'
    """
    near = get_close_matches(name, known, 1)
    listed = ", ".join(known)
    return (
        f"unknown setting; did you mean {near[0]}? There are {listed}"
        if near
        else (f"unknown setting; there are {listed}")
    )


def table_of(annotation: Any) -> type[BaseModel] | None:
    """The settings that a field's type contains: itself, of an optional table, or of a list of tables."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((table for kind in get_args(annotation) if (table := table_of(kind)) is not None), None)


def _words(place: Sequence[int | str], values: object) -> Iterator[str]:
    """The words of a place; a table in a list is called by its name."""
    at = values
    for word in place:
        try:
            at = cast("Any", at)[word]
        except (TypeError, LookupError):
            at = None
        name = cast("dict[str, Any]", at).get("name") if isinstance(at, dict) else None
        yield name if isinstance(word, int) and isinstance(name, str) and name else str(word)


def _known(model: type[BaseModel], place: Sequence[int | str]) -> list[str]:
    """The keys of a table."""
    for word in place:
        field = next((field for name, field in model.model_fields.items() if word in (name, field.alias)), None)
        model = (field and table_of(field.annotation)) or model
    return [field.alias or name for name, field in model.model_fields.items()]
