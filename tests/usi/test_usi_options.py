"""Options: declared, set, refused, suggested."""

import contextlib
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fukayomi.engine.settings import IGNORED_OPTIONS, UsiSettings, read_suggestions, usi_options
from fukayomi.usi.options import Kind, Option, OptionError, Options, Suggestion, check, combo, filename, spin, string
from fukayomi.usi.text import UsiTextError


@dataclass(frozen=True)
class Sample:
    lines: int = spin("MultiPV", 1, 1, 593)
    ponder: bool = check("USI_Ponder", False)
    rule: str = combo("Rule", "A", ("A", "B"))
    model: str = filename("Model", "")
    private: int = 7


def test_declares_in_order() -> None:
    assert [option.text() for option in Options(Sample()).declared] == [
        "option name MultiPV type spin default 1 min 1 max 593",
        "option name USI_Ponder type check default false",
        "option name Rule type combo default A var A var B",
        "option name Model type filename default <empty>",
    ]


def test_sets_typed_values() -> None:
    options = Options(Sample())
    before = options.settings
    for name, text in (("multipv", "3"), ("USI_Ponder", "true"), ("Rule", "b"), ("Model", "a b.onnx")):
        options.set(name, text)
    assert options.settings == Sample(3, True, "B", "a b.onnx")
    assert before == Sample()
    options.set("Model", "<empty>")
    assert options.settings.model == ""


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("MultiPV", "0", "1 to 593, not 0"),
        ("MultiPV", "x", "integer, not 'x'"),
        ("MultiPV", None, "needs a value"),
        ("USI_Ponder", "1", "true or false"),
        ("Rule", "C", "one of A, B"),
        ("private", "3", "no option 'private'"),
        ("Nothing", "3", "no option 'Nothing'"),
    ],
)
def test_refuses_and_says_why(name: str, text: str | None, reason: str) -> None:
    options = Options(Sample())
    with pytest.raises(OptionError, match=reason):
        options.set(name, text)
    assert options.settings == Sample()


def suggested(**values: str) -> list[Suggestion]:
    """Lines of a file, one for each option."""
    return [Suggestion(f"net.ini:{number}", name, text) for number, (name, text) in enumerate(values.items(), 1)]


@dataclass(frozen=True)
class Renamed:
    own_book: bool = check("USI_OwnBook", False, aliases=("OwnBook",))
    name: str = string("Engine_Name", "x")


def test_an_alias_sets_the_option_and_is_not_declared() -> None:
    options = Options(Renamed())
    assert [option.name for option in options.declared] == ["USI_OwnBook", "Engine_Name"]
    options.set("ownbook", "true")
    assert options.settings == Renamed(own_book=True)
    options.set("USI_OwnBook", "false")
    assert options.settings == Renamed()
    assert options.suggest(suggested(OwnBook="true", Engine_Name="y")) == []
    assert options.settings == Renamed(name="y"), "the user has set USI_OwnBook"
    with pytest.raises(OptionError, match="USI_OwnBook takes true or false"):
        options.set("OwnBook", "1")


def test_ignored_names_take_any_value() -> None:
    options = Options(Sample(), ignored=("Old_Option",))
    for value in ("1", "", None):
        options.set("old_option", value)
    assert options.suggest(suggested(Old_Option="1")) == []
    assert options.settings == Sample()


def test_no_name_has_two_meanings() -> None:
    names = [name.lower() for option in usi_options().declared for name in (option.name, *option.aliases)]
    names += [name.lower() for name in IGNORED_OPTIONS]
    assert len(set(names)) == len(names)


def test_suggestions_hold_until_the_next_and_never_against_the_user() -> None:
    options = Options(Sample())
    options.set("MultiPV", "3")
    complaints = options.suggest(suggested(MultiPV="5", Rule="B", Foo="1", USI_Ponder="maybe"))
    assert options.settings == Sample(3, rule="B")
    assert complaints == ["net.ini:3: no option 'Foo'", "net.ini:4: USI_Ponder takes true or false, not 'maybe'"]
    assert options.suggest([]) == []
    assert options.settings == Sample(3)


def test_option_lines_round_trip() -> None:
    lines = [option.text() for option in Options(UsiSettings()).declared]
    assert [Option.from_text(line).text() for line in lines] == lines
    assert all(" " not in Option.from_text(line).name for line in lines)
    assert Option.from_text("option name Clear Hash type button") == Option("Clear Hash", Kind.BUTTON)


@given(st.text(max_size=80))
def test_any_option_line_is_read_or_refused(text: str) -> None:
    for prefix in ("", "option name ", "option name X type spin "):
        with contextlib.suppress(UsiTextError):
            option = Option.from_text(prefix + text)
            assert Option.from_text(option.text()) == option


def test_reads_a_file_of_suggestions(tmp_path: Path) -> None:
    file = tmp_path / "net.ini"
    models = b"Review_Model=a.onnx\nReview_Model=<5x64>\n"
    file.write_bytes(b"# note\n\nC_init = 120\r\nDNN_Batch_Size=8\nnonsense\n" + models)
    suggestions, complaints = read_suggestions(file)
    assert suggestions == [
        (f"{file}:3", "C_init", "120"),
        (f"{file}:4", "DNN_Batch_Size", "8"),
        (f"{file}:6", "Review_Model", str(tmp_path / "a.onnx")),
        (f"{file}:7", "Review_Model", "<5x64>"),
    ]
    assert complaints == [f"{file}:5: 'nonsense' is not NAME=VALUE"]
