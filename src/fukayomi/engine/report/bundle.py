"""The modules of a script as one script, so that a page in one file has them; browsers load no modules from disk.

Each module becomes a function that is called once and returns what it exports, after the modules that it imports. The
forms of import and export are those that the modules of the page have, each at the beginning of a line.
"""

import re
from pathlib import Path

from fukayomi.errors import InvalidValueError

_IMPORT = re.compile(r'^import (?:(\{[^}]*\}) from )?"(\.[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_EXPORTED = re.compile(r"^(.*)export ?\{([^}]*)\};", re.MULTILINE)
_UNKNOWN = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_UNSAFE = re.compile(r"</script|<!--", re.IGNORECASE)


def bundle(entry: Path) -> str:
    """The script of a module and of all that it imports.

    Raises:
        OSError: A module cannot be read.
        ValueError: A module has another form of import or export, or text that ends the element of a script.
    """
    functions: dict[Path, str] = {}
    _add(entry.resolve(), functions)
    script = '"use strict";\n(() => {\n' + "".join(functions.values()) + "})();\n"
    if found := _UNSAFE.search(script):
        raise InvalidValueError(f"{entry}: {found[0]} ends the script in a page")
    return script


def _add(module: Path, functions: dict[Path, str]) -> None:
    """Append the function of a module after those that it imports."""
    if module in functions:
        return
    exported: list[str] = []

    def take(match: re.Match[str]) -> str:
        other = (module.parent / match[2]).resolve()
        _add(other, functions)
        return f"const {match[1].replace(' as ', ': ')} = {_name(other, functions)};\n" if match[1] else ""

    def give(match: re.Match[str]) -> str:
        exported.append(match[1])
        return ""

    def give_all(match: re.Match[str]) -> str:
        exported.extend(": ".join(reversed(pair.split(" as "))) for pair in re.split(r",\s*", match[2].strip()))
        return match[1]

    text = _IMPORT.sub(take, module.read_text(encoding="utf-8"))
    text = _EXPORTED.sub(give_all, _EXPORT.sub(give, text))
    if found := _UNKNOWN.search(text):
        raise InvalidValueError(f"{module}: unknown form: {found[0]}")
    functions[module] = ""
    functions[module] = (
        f"const {_name(module, functions)} = (() => {{\n{text}\nreturn {{{', '.join(exported)}}};\n}})();\n"
    )


def _name(module: Path, functions: dict[Path, str]) -> str:
    return f"module{list(functions).index(module)}"
