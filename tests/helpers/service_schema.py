"""The documented schema of the lines of `fukayomi serve`."""

import json
from typing import Any

import jsonschema
from places import ROOT

_SCHEMA = json.loads((ROOT / "docs" / "analysis-service.schema.json").read_text(encoding="utf-8"))


def _validator(name: str) -> Any:
    return jsonschema.Draft202012Validator({**_SCHEMA, "$ref": f"#/$defs/{name}"})


LINE, ANSWER = _validator("line"), _validator("answer")


def checked_answer(line: str | bytes) -> dict[str, Any]:
    """An answer as it is read, held against the schema."""
    answer = json.loads(line)
    ANSWER.validate(answer)
    return answer
