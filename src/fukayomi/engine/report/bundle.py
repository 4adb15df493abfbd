"""The modules of a script as one script, so that a page in one file has them; browsers load no modules from disk.

Each module becomes a function that is called once and returns what it exports, after the modules that it imports. The
forms of import and export are those that the modules of the page have, each at the beginning of a line. Comments on
lines of their own are left out, but for licences.
"""

import re
from pathlib import Path

from fukayomi.errors import InvalidValueError

_IMPORT = re.compile(r'^import (?:\{([^}]*)\} from )?"(\.[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_EXPORTED = re.compile(r"^(.*)export ?\{([^}]*)\};", re.MULTILINE)
_NAMES = re.compile(r"([\w$]+)(?: as ([\w$]+))?")
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*\*(?:(?!\*/|@license).)*\*/)\n", re.MULTILINE | re.DOTALL)
_UNKNOWN = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_UNSAFE = re.compile(r"</script|<!--", re.IGNORECASE)


def bundle(entry: Path) -> str:
    """The script of a module and of all that it imports.

    Raises:
        OSError: A module cannot be read.
        InvalidValueError: A module has another form of import or export, imports what is not exported, or has text that
            ends the element of a script.
    """
    modules = _Modules()
    modules.add(entry.resolve())
    script = '"use strict";\n(() => {\n' + "".join(modules.functions) + "})();\n"
    if found := _UNSAFE.search(script):
        raise InvalidValueError(f"{entry}: {found[0]} ends the script in a page")
    return script


class _Modules:
    """The functions of modules, each after those that it needs, and what they export under which name."""

    def __init__(self) -> None:
        self.functions: list[str] = []
        self._found: dict[Path, tuple[str, dict[str, str]]] = {}

    def add(self, module: Path) -> tuple[str, dict[str, str]]:
        """The name of a module, and its own names by the exported ones, once its function is there."""
        if module in self._found:
            return self._found[module]
        exported: dict[str, str] = {}

        def take(match: re.Match[str]) -> str:
            name, known = self.add((module.parent / match[2]).resolve())
            names = dict(_NAMES.findall(match[1] or ""))
            if missing := names.keys() - known.keys():
                raise InvalidValueError(f"{module}: {match[2]} does not export {', '.join(sorted(missing))}")
            return f"const {{{', '.join(f'{each}: {new or each}' for each, new in names.items())}}} = {name};\n"

        def give(match: re.Match[str]) -> str:
            exported[match[1]] = match[1]
            return ""

        def give_all(match: re.Match[str]) -> str:
            exported.update({new or own: own for own, new in _NAMES.findall(match[2])})
            return match[1]

        text = _IMPORT.sub(take, _COMMENT.sub("", module.read_text(encoding="utf-8")))
        text = _EXPORTED.sub(give_all, _EXPORT.sub(give, text))
        if found := _UNKNOWN.search(text):
            raise InvalidValueError(f"{module}: unknown form: {found[0]}")
        name = f"module{len(self.functions)}"
        given = ", ".join(f"{new}: {own}" for new, own in exported.items())
        self.functions.append(f"const {name} = (() => {{\n{text}\nreturn {{{given}}};\n}})();\n")
        return self._found.setdefault(module, (name, exported))
