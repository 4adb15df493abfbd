"""What the pages say about the code, held against the code."""

import re
from pathlib import Path

import pytest
import typer

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ".", "docs", "docs/measurements", "examples", "studies"
PAGES = sorted(page for folder in FOLDERS for page in (ROOT / folder).glob("*.md"))


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
    assert sorted(name for name in named if not any((base / name).exists() for base in (ROOT, page.parent))) == []


def test_commands_of_fukayomi_exist() -> None:
    from command_app import app

    group = typer.main.get_command(app)
    for page in PAGES:
        for name in re.findall(r"(?:`|bin/)fukayomi ([a-z][a-z-]*)", page.read_text(encoding="utf-8")):
            assert name in group.commands, f"{page.name} speaks of fukayomi {name}"
