"""docs/usi-options.md and its Japanese page describe the options that the engine has: types, defaults, ranges."""

import re
from pathlib import Path

import pytest
from places import ROOT

from fukayomi import __version__
from fukayomi.engine.settings import IGNORED_OPTIONS, usi_options
from fukayomi.usi.options import Option

PAGE = (ROOT / "docs" / "usi-options.md").read_text(encoding="utf-8")
JAPANESE = (ROOT / "docs" / "usi-options.ja.md").read_text(encoding="utf-8")


def rows(page: str) -> list[list[str]]:
    """The rows of the tables; one for a range of names (`A2` to `A8`) counts for each of them."""
    found: list[list[str]] = []
    for line in page.replace(" ～ ", " to ").splitlines():
        if not line.startswith("| `"):
            continue
        name, *cells = [cell.strip() for cell in line.split("|")[1:-1]]
        family = re.fullmatch(r"`(\w+)([0-9])` to `\1([0-9])`", name)
        numbers = range(int(family[2]), int(family[3]) + 1) if family else ()
        names = [f"`{family[1]}{n}`" for n in numbers] if family else [name]
        found += [[each, *cells] for each in names]
    return found


ROWS = rows(PAGE)


def row_of(option: Option) -> list[str]:
    """What the page must say of an option: name, type, default, range."""
    default = option.default.replace(__version__, "0.1.0")
    is_number = option.kind in ("spin", "check")
    choices = " ".join(f"`{choice}`" for choice in option.choices)
    limits = "" if option.minimum is None else f"{option.minimum} to {option.maximum}"
    shown = default if is_number or not default else f"`{default}`"
    return [f"`{option.name}`", str(option.kind), shown, choices or limits]


@pytest.mark.parametrize("page", [PAGE, JAPANESE], ids=["English", "Japanese"])
def test_every_option_is_described_as_it_is(page: str) -> None:
    assert [row[:4] for row in rows(page)] == [row_of(option) for option in usi_options().declared]


def test_dlshogis_default_and_a_meaning_stand_beside_each() -> None:
    for row in ROWS:
        name, *_, dlshogi, meaning = row
        assert dlshogi, name
        assert len(meaning) > 5, name


def test_dlshogis_options_are_taken_and_its_defaults_stand_on_the_page() -> None:
    lines = (Path(__file__).parent / "dlshogi_options.txt").read_text(encoding="utf-8").splitlines()
    dlshogi = {name: value for name, _, value in (line.partition(" ") for line in lines if line[0] != "#")}
    assert len(dlshogi) == 70
    names = {name: option.name for option in usi_options().declared for name in (option.name, *option.aliases)}
    column = {row[0].strip("`"): re.split("[ ,]", row[4])[0].strip("`") for row in ROWS}
    for name, default in dlshogi.items():
        assert name in names or name in IGNORED_OPTIONS, name
        if name in names:
            assert column[names[name]].removesuffix("empty") == default, name


def test_other_names_are_told() -> None:
    for option, row in zip(usi_options().declared, ROWS, strict=True):
        for alias in option.aliases:
            assert f"also `{alias}`" in row[5], alias


def test_what_is_ignored_is_listed() -> None:
    section = PAGE.partition("## Ignored\n")[2].partition("\n## ")[0]
    listed: list[str] = []
    for first, last in re.findall(r"`(\w+)`(?: to\s+`(\w+)`)?", section):
        if last:
            (number,) = re.findall("[0-9]", first)
            listed += [first.replace(number, str(n)) for n in range(int(number), 10)]
        else:
            listed.append(first)
    assert sorted(listed) == sorted(IGNORED_OPTIONS)
