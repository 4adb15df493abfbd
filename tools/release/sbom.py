"""Write what a wheel contains of others, as a bill of materials: python sbom.py VERSION NANOBIND_VERSION OUT.json

The format is CycloneDX 1.6; CMake calls this while it builds a wheel (PEP 770). What the file says depends on the
contents alone, so that two builds give the same bytes. Packages that pip installs beside fukayomi are in the wheel's
METADATA, not here.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "fukayomi"
LIT_HTML = PACKAGE / "engine" / "report" / "web" / "shared" / "vendor" / "lit-html.js"
UPLOT = PACKAGE / "web" / "static" / "vendor" / "uplot.js"
NETWORKS = PACKAGE / "engine" / "networks"


def component(name: str, kind: str, licence: str, **more: object) -> dict[str, object]:
    return {"bom-ref": name, "type": kind, "name": name, "licenses": [{"license": {"id": licence}}], **more}


def hashes(path: Path) -> list[dict[str, str]]:
    return [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}]


def javascript(name: str, path: Path, version: str, licence: str) -> dict[str, object]:
    """A library in one file, which says its version itself."""
    found = re.search(version, path.read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit(f"{path}: no version found (looked for {version})")
    purl = f"pkg:npm/{name}@{found[1]}"
    return component(name, "library", licence, version=found[1], purl=purl, hashes=hashes(path))


def document(version: str, nanobind: str) -> dict[str, object]:
    components = [
        component("nanobind", "library", "BSD-3-Clause", version=nanobind, purl=f"pkg:pypi/nanobind@{nanobind}"),
        # It comes with nanobind, which does not say which version.
        component("robin-map", "library", "MIT", purl="pkg:github/tessil/robin-map"),
        javascript("lit-html", LIT_HTML, r'litHtmlVersions\?\?=\[\]\)\.push\("([\d.]+)"\)', "BSD-3-Clause"),
        javascript("uplot", UPLOT, r"github\.com/leeoniya/uPlot \(v([\d.]+)\)", "MIT"),
        *(
            component(path.name, "machine-learning-model", "MIT", hashes=hashes(path))
            for path in sorted(NETWORKS.iterdir())
            if path.suffix in (".onnx", ".sparse")
        ),
    ]
    whole = component("fukayomi", "application", "MIT", version=version, purl=f"pkg:pypi/fukayomi@{version}")
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": whole},
        "components": components,
        "dependencies": [
            {"ref": "fukayomi", "dependsOn": [part["bom-ref"] for part in components]},
            {"ref": "nanobind", "dependsOn": ["robin-map"]},
        ],
    }


if __name__ == "__main__":
    version, nanobind, out = sys.argv[1:]
    text = json.dumps(document(version, nanobind), indent=2) + "\n"
    Path(out).write_text(text, encoding="utf-8", newline="\n")
