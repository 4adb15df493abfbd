"""What is wrong with data from outside, in one line."""

from pydantic import ValidationError


def first_problem(error: ValidationError, whole: str = "") -> str:
    """The first problem of some data, with the place where it is: ``engines.0.name: Field required``.

    Args:
        error: The error.
        whole: The place of a problem that is of no single field.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"])) or whole
    message = str(first["msg"]).removeprefix("Value error, ")
    return f"{place}: {message}" if place else message
