"""What json-kifu-format's specification demands of a JKF, as a JSON schema (2020-12)."""

from typing import Any

KINDS = ["FU", "KY", "KE", "GI", "KI", "KA", "HI", "OU", "TO", "NY", "NK", "NG", "UM", "RY"]
PRESETS = ["HIRATE", "KY", "KY_R", "KA", "HI", "HIKY", "2", "3", "4", "5", "5_L", "6", "7_L", "7_R", "8", "10", "OTHER"]
SPECIALS = [
    "TORYO", "CHUDAN", "SENNICHITE", "TIME_UP", "ILLEGAL_MOVE", "+ILLEGAL_ACTION", "-ILLEGAL_ACTION", "JISHOGI",
    "KACHI", "HIKIWAKE", "MATTA", "TSUMI", "FUZUMI", "ERROR",
]  # fmt: skip


def _object(required: list[str], properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


_COLOR = {"enum": [0, 1]}
_PLACE = _object(["x", "y"], {axis: {"type": "integer", "minimum": 1, "maximum": 9} for axis in "xy"})
_TIME = _object(["m", "s"], {unit: {"type": "integer", "minimum": 0} for unit in "hms"})
_TIME["properties"]["s"] = {"type": "integer", "minimum": 0, "maximum": 59}
_HAND = _object([], {kind: {"type": "integer", "minimum": 0} for kind in KINDS})
_SQUARE = _object([], {"color": _COLOR, "kind": {"enum": KINDS}})
_MOVE = _object(
    ["color", "to", "piece"],
    {
        "color": _COLOR, "from": _PLACE, "to": _PLACE, "piece": {"enum": KINDS}, "same": {"type": "boolean"},
        "promote": {"type": "boolean"}, "capture": {"enum": [kind for kind in KINDS if kind != "OU"]},
        "relative": {"type": "string", "pattern": "^([LCR]|[UMD]|[LCR][UD]|[LR]M|H)$"},
    },
)  # fmt: skip
_ITEM = _object(
    [],
    {
        "comments": {"type": "array", "items": {"type": "string"}},
        "move": _MOVE,
        "time": _object(["now", "total"], {"now": _TIME, "total": _TIME}),
        "special": {"enum": SPECIALS},
        "forks": {"type": "array", "items": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
    },
)
_DATA = _object(
    ["color", "board", "hands"],
    {
        "color": _COLOR,
        "board": {
            "type": "array", "minItems": 9, "maxItems": 9,
            "items": {"type": "array", "minItems": 9, "maxItems": 9, "items": _SQUARE},
        },
        "hands": {"type": "array", "minItems": 2, "maxItems": 2, "items": _HAND},
    },
)  # fmt: skip
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {"item": _ITEM},
    **_object(
        ["header", "moves"],
        {
            "header": {"type": "object", "additionalProperties": {"type": "string"}},
            "initial": _object(["preset"], {"preset": {"enum": PRESETS}, "data": _DATA}),
            "moves": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/item"}},
        },
    ),
}
