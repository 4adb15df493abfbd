"""Web pages in one file: templates, styles and scripts of the folder `web`, put together.

A content security policy names the style and the script by their hashes, so that a browser runs and loads nothing else,
whatever a record contains. Pages have both languages; the style shows one, and `languages.js` chooses it. What
is in `web/shared` the page of a server (`fukayomi.web`) has, too.
"""

import base64
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from fukayomi.engine.report.graph import COLORS
from fukayomi.engine.report.words import evaluation, lost, percent
from fukayomi.errors import InvalidValueError

if TYPE_CHECKING:
    from jinja2 import Environment


_IMPORT = re.compile(r'^import (?:\{([^}]*)\} from )?"(\.[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_EXPORTED = re.compile(r"^(.*)export ?\{([^}]*)\};", re.MULTILINE)
_NAMES = re.compile(r"([\w$]+)(?: as ([\w$]+))?")
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*\*(?:(?!\*/|@license).)*\*/)\n", re.MULTILINE | re.DOTALL)
_UNKNOWN = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_UNSAFE = re.compile(r"</script|<!--", re.IGNORECASE)


def bundle(entry: Path) -> str:
    """The script of a module and of all that it imports.

    A page in one file needs it: browsers load no modules from disk. Each module becomes a function that is called once
    and returns what it exports, after the modules that it imports. The forms of import and export are those that the
    modules of the page have, each at the beginning of a line. Comments on lines of their own are left out, but for
    licences.

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


FOLDER = Path(__file__).parent / "web"


def render(
    page: str, script: str = "languages", *, folder: Path = FOLDER, images: str = "'none'", **values: object
) -> str:
    """A page as HTML. What is not `Markup` is escaped.

    Args:
        page: Name of the template and of its style.
        script: Name of the module with which the script begins.
        folder: Where the template and its style are; parts and scripts are those of all pages.
        images: What images the content security policy allows.
        values: What the template knows.
    """
    from markupsafe import Markup

    colors = "".join(f"--{name}:{value};" for name, value in COLORS.items())
    shared = (_read(f"shared/style/{name}.css") for name in ("drawing", "card"))
    styles = _read("base.css"), *shared, _read(f"{page}.css", folder)
    style = f":root{{{colors}}}\n" + "".join(styles)
    code = bundle(FOLDER / f"{script}.js")
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"img-src {images}; style-src '{_hash(style)}'; script-src '{_hash(code)}'"
    )
    template = environment(folder).get_template(f"{page}.html")
    return template.render(style=Markup(style), script=Markup(code), policy=policy, **values)


def environment(folder: Path = FOLDER) -> "Environment":
    """The templates of a folder and of all pages. What is not `Markup` is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    found = Environment(
        loader=FileSystemLoader([folder, FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    found.filters.update(percent=percent, lost=lost, evaluation=evaluation)
    return found


def _read(name: str, folder: Path = FOLDER) -> str:
    return (folder / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The source expression that allows this inline text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
