"""What the pages say about the code, held against the code."""

import re
from pathlib import Path

import pytest
import typer

ROOT = Path(__file__).resolve().parent.parent
PATTERNS = "*.md", "docs/**/*.md", "examples/*.md", "studies/*.md", "src/**/*.md"
PAGES = sorted(page for pattern in PATTERNS for page in ROOT.glob(pattern))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_targets_of_make_exist(page: Path) -> None:
    named = set(re.findall(r"(?:`|^    )make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE))
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert named <= set(targets)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_programs_of_the_repository_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"\b(?:benchmarks|tools|studies|examples|native|tests|src/fukayomi|docs)/[\w./-]*\w", text))
    assert sorted(name for name in named if not any((base / name).exists() for base in (ROOT, ROOT / "docs"))) == []


def test_commands_of_fukayomi_exist() -> None:
    from command_app import app

    group = typer.main.get_command(app)
    for page in PAGES:
        for name in re.findall(r"(?:`|bin/)fukayomi ([a-z][a-z-]*)", page.read_text(encoding="utf-8")):
            assert name in group.commands, f"{page.name} speaks of fukayomi {name}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^    .*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line) for line in re.findall(r"^#+ (.*)$", text, re.MULTILINE))
    return {re.sub(r"[^\w -]", "", line.lower()).strip().replace(" ", "-") for line in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_anchors_lead_to_headings(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    lost = []
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]*)\)", text):
        other = page.parent / target if target else page
        if other.suffix == ".md" and anchor not in anchors(other):
            lost.append(f"{target}#{anchor}")
    assert lost == []


@pytest.mark.parametrize("page", ["README.md", "README.ja.md"])
def test_the_list_of_commands_has_all_of_them(page: str) -> None:
    from command_app import app

    listed = set(re.findall(r"^\| `([a-z][a-z -]*)` \|", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.M))
    group = typer.main.get_command(app)
    names = set(group.commands) | {
        f"{name} {word}" for name, command in group.commands.items() for word in getattr(command, "commands", ())
    }
    assert listed >= names - {"book", "csa", "data", "lishogi", "positions"}


def test_options_on_the_pages_exist() -> None:
    from fukayomi.cli.main import make_app

    unknown = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for line in re.findall(r"^    (?:\S*/)?fukayomi ([a-z].*)$", text, re.MULTILINE):
            words = re.split(r"  #| && | \| |;", line)[0].split()
            command, rest = typer.main.get_command(make_app(words)), words
            while rest and rest[0] in getattr(command, "commands", ()):
                command, rest = command.commands[rest[0]], rest[1:]
            known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
            given = (word.replace("_", "-") for word in rest if re.fullmatch(r"--?[a-zA-Z][\w-]*", word))
            unknown += [f"{page.name}: {' '.join(words[:2])} {option}" for option in given if option not in known]
    assert unknown == []


def test_every_page_has_its_place_in_the_navigation_of_the_site() -> None:
    named = re.findall(r"^ +- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == [page.relative_to(ROOT).as_posix() for page in PAGES]


def test_japanese_pages_and_their_english_ones_link_to_each_other() -> None:
    for page in PAGES:
        english = page.with_name(page.name.replace(".ja.md", ".md"))
        if english != page:
            assert f"[English]({english.name})" in page.read_text(encoding="utf-8"), page
            assert f"[日本語]({page.name})" in english.read_text(encoding="utf-8"), english
