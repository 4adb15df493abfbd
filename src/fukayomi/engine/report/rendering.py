"""Web pages in one file: templates, styles and scripts of the folder `web`, put together.

A content security policy names the style and the script by their hashes, so that a browser runs and loads nothing else,
whatever a record contains. Pages have both languages; the style shows one, and `languages.js` chooses it. What
is in `web/shared` the page of a server (`fukayomi.web`) has, too.
"""

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from fukayomi.engine.report.bundle import bundle
from fukayomi.engine.report.graph import COLORS
from fukayomi.engine.report.words import evaluation, lost, percent

if TYPE_CHECKING:
    from jinja2 import Environment

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
