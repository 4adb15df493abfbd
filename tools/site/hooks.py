"""Hooks of MkDocs (mkdocs.yml): what the pages of the site are, and their languages.

The site has the pages where the repository has them, so relative links lead to the same places on both. `PAGES` are
collected as links in build/pages, with every file that they link to, and the reference of the public names.
"""

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent.parent
STAGE = ROOT / "build" / "pages"
PACKAGE = ROOT / "src" / "fukayomi"
PAGES = (
    "README*.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs/**/*.md", "studies/README.md",
    "examples/README.md", "src/fukayomi/engine/networks/MODEL_CARD.md",
)  # fmt: skip
LINK = re.compile(r"\]\(([^)#:\s]+)(#[^)\s]*)?\)")
TOP_MODULES = ("fukayomi.errors", "fukayomi.listener")
"""Modules that have no page of their own."""
LANGUAGES = {"en": "English", "ja": "日本語"}
"""Names of the languages: of the two trees in mkdocs.yml, and in the menu."""
BROKEN_LINE = re.compile(r"(?<=[\u3000-\uffef])\n {0,3}(?=[\u3000-\uffef])")
"""The end of a line within Japanese text, which browsers would show as a space."""


# ── The pages ───────────────────────────────────────────────────────────


def on_config(config: Any) -> Any:
    """Collect the pages, before MkDocs looks for them."""
    shutil.rmtree(STAGE, ignore_errors=True)
    pages = {path for pattern in PAGES for path in ROOT.glob(pattern)}
    assets = set((ROOT / "tools" / "site" / "assets").iterdir())
    for path in pages | assets | {target for page in pages for target in linked_files(page)}:
        place = STAGE / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(path)
    reference = reference_pages()
    (STAGE / "reference").mkdir()
    for name, text in reference.items():
        (STAGE / "reference" / f"{name}.md").write_text(text, encoding="utf-8")
    config.docs_dir = str(STAGE)
    config.nav = with_reference(config.nav, list(reference))
    return config


def linked_files(page: Path) -> Iterator[Path]:
    """The files of the repository, other than pages, that a page links to."""
    for target, _ in LINK.findall(page.read_text(encoding="utf-8")):
        path = (page.parent / target).resolve()
        if path.is_file() and path.suffix != ".md":
            yield path


def with_reference(nav: Any, names: list[str]) -> Any:
    """The navigation, with each page of the reference in place of `reference/*`."""
    if isinstance(nav, dict):
        return {title: with_reference(items, names) for title, items in nav.items()}
    if isinstance(nav, list):
        pages = [{name: f"reference/{name}.md"} for name in names]
        return [each for item in nav for each in (pages if item == "reference/*" else [with_reference(item, names)])]
    return nav


# ── The reference ───────────────────────────────────────────────────────


def public_names(init: Path) -> list[str]:
    """`__all__` of a package, in its order."""
    for node in ast.parse(init.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return [name for name in ast.literal_eval(node.value) if not name.startswith("__")]
    return []


def origins(init: Path) -> dict[str, str]:
    """Where a package imports its public names from."""
    nodes = ast.walk(ast.parse(init.read_text(encoding="utf-8")))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {alias.asname or alias.name: node.module or "" for node in imports for alias in node.names}


def reference_pages() -> dict[str, str]:
    """Name and text of a page for each package with public names; that of `fukayomi` says where its names are."""
    top = PACKAGE / "__init__.py"
    sources = origins(top)
    names = {name: f"{sources[name]}.{name}" for name in public_names(top)}
    rows = "".join(f"| [{name}][{path}] | `{sources[name]}` |\n" for name, path in names.items())
    own = [path for name, path in names.items() if sources[name] in TOP_MODULES]
    pages = {"fukayomi": package_page("fukayomi", own) + f"\n## Where each name is\n\n| name | in |\n|---|---|\n{rows}"}
    for init in sorted(PACKAGE.glob("*/**/__init__.py")):
        package = ".".join(init.parent.relative_to(PACKAGE.parent).parts)
        if public := public_names(init):
            pages[package] = package_page(package, [f"{package}.{name}" for name in public])
    return pages


def package_page(package: str, names: list[str]) -> str:
    """A page with the docstring of a package and a block for each name."""
    options = "{members: false, show_root_heading: false, show_root_toc_entry: false}"
    blocks = "".join(f"\n::: {name}\n" for name in names)
    return f"# {package}\n\n::: {package}\n    options: {options}\n{blocks}"


# ── Languages ───────────────────────────────────────────────────────────


def language(page: Page) -> str:
    return "ja" if page.file.src_uri.endswith(".ja.md") else "en"


def on_page_markdown(markdown: str, page: Page, config: Any, files: Any) -> str:
    return BROKEN_LINE.sub("", markdown) if language(page) == "ja" else markdown


trees: dict[str, Navigation] = {}
"""The navigation of each language."""


def on_nav(nav: Navigation, config: Any, files: Any) -> None:
    """Make a navigation of each language's tree."""
    for section in nav.items:
        assert isinstance(section, Section)
        pages = [page for page in nav.pages if section in page.ancestors]
        for item in section.children:
            item.parent = None
        for before, after in zip([None, *pages], [*pages, None], strict=True):
            if before:
                before.next_page = after
            if after:
                after.previous_page = before
        tree = Navigation(section.children, pages)
        tree.homepage = pages[0]
        trees[language(pages[0])] = tree


def on_page_context(context: Any, page: Page, config: Any, nav: Navigation) -> Any:
    """Give a page the theme, the navigation and the menu of languages that are its own."""
    own = language(page)
    stem = page.file.src_uri.removesuffix(".ja.md").removesuffix(".md")
    same = {language(other): other for tree in trees.values() for other in tree.pages
            if other.file.src_uri in (f"{stem}.md", f"{stem}.ja.md")}  # fmt: skip
    config.theme["language"] = own
    config.extra["alternate"] = [
        {"name": name, "link": (same.get(code) or trees[code].homepage).url, "lang": code}
        for code, name in LANGUAGES.items()
    ]
    context["nav"] = trees[own]
    return context
