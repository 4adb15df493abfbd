"""Modules as one script: each once, after those that it imports; other forms than those of the page are errors."""

from pathlib import Path

import pytest

from fukayomi.engine.report.rendering import FOLDER, bundle


def test_modules_come_once_and_after_those_that_they_import(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text('import "./b.js";\nimport {\n  one,\n  c as two,\n} from "./lib/c.js";\none(two);\n')
    (tmp_path / "b.js").write_text('import {one} from "./lib/c.js";\nexport const b = one;\n')
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "c.js").write_text("export async function one() {}\nconst x = 1;export{x as c,one as d};\n")
    script = bundle(tmp_path / "a.js")
    assert script.index("async function one") < script.index("const b = one") < script.index("one(two)")
    assert script.count("async function one") == 1
    assert "const {one: one, c: two} = module0;" in script
    assert "return {one: one, c: x, d: one};" in script


@pytest.mark.parametrize(
    "text",
    [
        "export default 1;", "export let a = 1;", 'import * as a from "./a.js";', 'import {a} from "elsewhere";',
        'const a = "</script>";', "const a = 1; // <!-- a\n",
    ],
)  # fmt: skip
def test_what_cannot_be_one_script_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.js").write_text(text)
    with pytest.raises(ValueError, match=r"a\.js"):
        bundle(tmp_path / "a.js")


def test_comments_are_left_out_but_for_licences(tmp_path: Path) -> None:
    text = (
        "/**\n * @license\n * BSD\n */\n// one\nconst a = 1; // two\n  /** Three. */\n/**\n * four\n */\nconst b = a;\n"
    )
    (tmp_path / "a.js").write_text(text)
    script = bundle(tmp_path / "a.js")
    assert "/**\n * @license\n * BSD\n */\nconst a = 1; // two\nconst b = a;\n" in script


def test_what_is_not_exported_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text('import {one, two} from "./b.js";\n')
    (tmp_path / "b.js").write_text("export const one = 1, two = 2;\n")
    with pytest.raises(ValueError, match=r"a\.js: \./b\.js does not export two"):
        bundle(tmp_path / "a.js")


def test_every_page_is_one_script() -> None:
    for entry in ("analysis", "languages"):
        assert len(bundle(FOLDER / f"{entry}.js")) > 1000
