"""Content of requests and answers: JSON, checked against a model, and errors as JSON with a text."""

import json
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from fukayomi.settings.problems import first_problem

LARGEST_UPLOAD = 8 << 20
"""Bytes of a record or an analysis that is sent."""
LARGEST_QUESTION = 1 << 20
"""Bytes of the JSON of a request; records have a limit of their own."""


class Question(BaseModel):
    """Question of a request; unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


TOO_LARGE = f"it is larger than the server takes; records may have {LARGEST_UPLOAD >> 20} MiB"

Q = TypeVar("Q", bound=BaseModel)


class Refused(HTTPException):
    """Answers a request with a status and a text that says what is wrong and what to do.

    Args:
        status: Status of HTTP, 400 to 599.
        text: What the page shows.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(status, text)


def json_answer(value: Any, status: int = 200) -> Response:
    """A JSON answer."""
    return Response(json_bytes(value), status, media_type="application/json")


def json_bytes(value: Any) -> bytes:
    """A value as JSON in UTF-8. Halves of surrogate pairs, which damaged records have, become question marks."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(errors="replace")


def error_answer(status: int, text: str) -> Response:
    """An error as the page shows it: ``{"error": text}``."""
    return json_answer({"error": text}, status)


async def on_refused(_: Request, error: Exception) -> Response:
    """The answer to a request that a handler refuses, or that no handler takes."""
    assert isinstance(error, HTTPException)
    answer = error_answer(error.status_code, TOO_LARGE if error.status_code == 413 else str(error.detail))
    answer.headers.update(error.headers or {})
    return answer


async def read_json(request: Request, model: type[Q]) -> Q:
    """The JSON of a request.

    Raises:
        Refused: It is not JSON, or not what the model demands; the text names the first field that is wrong.
    """
    try:
        return model.model_validate_json(await request.body())
    except ValidationError as error:
        raise Refused(400, first_problem(error)) from error
