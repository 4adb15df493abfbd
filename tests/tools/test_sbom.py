"""The bill of materials of a wheel: valid CycloneDX, complete, and with a licence for each part."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from cyclonedx.model.bom import Bom
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

import fukayomi

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("sbom") / "fukayomi.cdx.json"
    subprocess.run([sys.executable, ROOT / "tools" / "release" / "sbom.py", "1.2.3", "2.4.0", out], check=True)
    return out.read_text(encoding="utf-8")


def test_it_follows_the_schema(text: str) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


def test_it_names_all_parts_with_their_licences(text: str) -> None:
    bom = Bom.from_json(json.loads(text))
    bom.validate()
    assert str(bom.metadata.component.version) == "1.2.3"
    parts = {part.name: part for part in bom.components}
    assert parts["nanobind"].version == "2.4.0"
    vendored = {path.stem for path in (ROOT / "src" / "fukayomi").glob("**/vendor/*.js")}
    networks = {
        path.name
        for path in (ROOT / "src" / "fukayomi" / "engine" / "networks").iterdir()
        if path.suffix in (".onnx", ".sparse")
    }
    assert vendored == {"lit-html", "uplot"}
    assert set(parts) == {"nanobind", "robin-map"} | vendored | networks
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {licence.id for part in parts.values() for licence in part.licenses}
    assert named == set(project["license"].split(" AND "))


def test_every_part_has_its_licence_in_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = {path.stem for pattern in project["license-files"] for path in ROOT.glob(pattern)}
    assert found == {"LICENSE", "nanobind", "robin-map", "lit-html", "uplot"}


def test_the_changelog_begins_with_this_version() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    assert next(line for line in lines if line.startswith("## ")).startswith(f"## [{fukayomi.__version__}]")
