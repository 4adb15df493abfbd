"""Settings: what is read from files and layers, and what is said of mistakes."""

from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import Field

from fukayomi.settings import (
    FromFile,
    Settings,
    SettingsError,
    SettingsFile,
    build,
    differences,
    in_folder,
    plain,
    read,
    read_toml,
    toml_text,
)


class EngineError(ValueError):
    pass


class Engine(Settings):
    name: str
    nodes: Annotated[int, Field(ge=1)] = 800
    book: Annotated[Path | None, FromFile(in_folder)] = None


class Table(Settings):
    ERROR: ClassVar = EngineError

    share: float = 0.5
    quick: bool = False
    files: Annotated[tuple[str, ...], FromFile(in_folder)] = ()
    main: Engine = Engine(name="main")
    engines: Annotated[tuple[Engine, ...], Field(alias="engine")] = ()


def test_later_layers_win_and_paths_are_relative_to_their_file(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text('share = 0.25\nfiles = ["a", "/b"]\n[main]\nname = "x"\nbook = "x.bin"\n[[engine]]\nname = "y"\n')

    table = build(Table, {"share": 0.1, "main": {"nodes": 5}}, read(Table, file), {"quick": True})

    assert (table.share, table.quick) == (0.25, True)
    assert table.files == (str(tmp_path / "a"), "/b")
    assert table.main == Engine(name="x", nodes=5, book=tmp_path / "x.bin")
    assert table.engines == (Engine(name="y"),)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    table = Table(share=0.25, engines=(Engine(name="y", nodes=1),))
    file = tmp_path / "a.toml"
    file.write_text(toml_text(plain(table), ["A table."]))

    assert build(Table, read(Table, file)) == table
    assert file.read_text().startswith("# A table.\n\nshare = 0.25\n")
    assert plain(table, changes_only=True) == {"share": 0.25, "engine": [{"name": "y", "nodes": 1}]}
    assert list(differences(plain(Table()), plain(table))) == [
        ("engine", [], [{"name": "y", "nodes": 1}]),
        ("share", 0.5, 0.25),
    ]


@pytest.mark.parametrize(
    ("values", "lines"),
    [
        ({"shares": 1}, ["shares: unknown setting; did you mean share? There are share, quick, files, main, engine"]),
        ({"x": 1}, ["x: unknown setting; there are share, quick, files, main, engine"]),
        ({"main": {"name": "m", "node": 1}}, ["main.node: unknown setting; did you mean nodes? There are name, nodes"]),
        ({"share": True}, ["share: Input should be a number, not True"]),
        ({"share": "0.5", "quick": 1}, ["share: Input should be a number, not '0.5'", "quick: Input should be true"]),
        (
            {"main": {"name": "m", "nodes": 64.0}},
            ["main.nodes: Input should be a whole number, without a decimal point"],
        ),
        ({"share": float("inf")}, ["share: Input should be a finite number, not inf"]),
        ({"engine": [{"nodes": 1}]}, ["engine.0.name is missing"]),
        (
            {"engine": [{"name": "y", "nodes": 0}]},
            ["engine.y.nodes: Input should be greater than or equal to 1, not 0"],
        ),
    ],
)
def test_each_mistake_is_a_line_with_the_name_of_the_setting(values: dict[str, Any], lines: list[str]) -> None:
    with pytest.raises(EngineError) as raised:
        build(Table, values)

    said = str(raised.value).splitlines()
    assert len(said) == len(lines)
    assert all(one.startswith(start) for one, start in zip(said, lines, strict=True))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("main = 3", r"a\.toml: main is a table: \[main\]"),
        ("engine = 3", r"a\.toml: engine is a list of tables: \[\[engine\]\]"),
        ("share = ", r"a\.toml: Invalid value"),
    ],
)
def test_a_file_is_named_with_what_is_wrong_in_it(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(EngineError, match=said):
        read(Table, tmp_path / "a.toml")
    with pytest.raises(SettingsError, match=r"cannot read the settings in .*none\.toml: No such file"):
        read_toml(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("shares = 1", "shares: unknown setting; did you mean share?"),
        ("share = true", "share: Input should be a number, not True"),
        ("[[engine]]\nnodes = 0", "engine.0.nodes: Input should be greater than or equal to 1, not 0"),
    ],
)
def test_a_wrong_setting_in_a_file_is_named_with_the_file(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(text)
    with pytest.raises(EngineError) as error:
        read(Table, file)
    assert str(error.value).startswith(f"{file}: {said}")


def test_what_one_file_lacks_another_layer_may_have(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[[engine]]\nnodes = 3\n")
    layer = read(Table, tmp_path / "a.toml")
    named = [{**each, "name": "x"} for each in layer["engine"]]
    assert build(Table, layer, {"engine": named}).engines == (Engine(name="x", nodes=3),)


FILE = SettingsFile(Table, "table.toml", "nothing is here", frozenset({"quick", "main.nodes"}))


def test_a_run_that_goes_on_keeps_its_settings(tmp_path: Path) -> None:
    table = Table(share=0.25)
    with FILE.lock(tmp_path):
        assert FILE.is_locked(tmp_path)
        FILE.check(tmp_path, table, has_begun=True)  # a new folder: nothing is there to compare
        FILE.write(tmp_path, toml_text(plain(table)))
    assert not FILE.is_locked(tmp_path)
    assert FILE.read(tmp_path) == table
    assert FILE.layers(tmp_path, None) == [plain(table)]
    FILE.check(tmp_path, table.changed(quick=True, main=table.main.changed(nodes=1)), has_begun=True)
    FILE.check(tmp_path, table.changed(share=0.5), has_begun=False)
    with pytest.raises(EngineError, match=r"share is 0.25 in .*table.toml, and 0.5 now"):
        FILE.check(tmp_path, table.changed(share=0.5), has_begun=True)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"nothing is here: there is no table\.toml"):
        FILE.read(tmp_path)
    assert FILE.layers(tmp_path) == []
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(EngineError, match=r"is not empty, and there is no table\.toml: choose another folder"):
        FILE.check(tmp_path, Table(), has_begun=False)


def test_a_changed_copy_is_checked() -> None:
    assert Engine(name="a").changed(nodes=5) == Engine(name="a", nodes=5)
    with pytest.raises(SettingsError, match="nodes: Input should be greater than or equal to 1, not 0"):
        Engine(name="a").changed(nodes=0)
