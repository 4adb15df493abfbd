"""The wheel has all that the page needs: it is unpacked, and the page is served from it alone."""

import json
import subprocess
import sys
import zipfile
from importlib import resources
from pathlib import Path

from patience import PATIENCE_S
from places import ROOT

PACKAGE = ROOT / "src" / "fukayomi"
STATIC, SHARED = PACKAGE / "web" / "static", PACKAGE / "engine" / "report" / "web" / "shared"
BUILD = """
import sys
from scikit_build_core.build import build_wheel
build_wheel(sys.argv[1], {"wheel.cmake": "false", "wheel.py-api": "py3"})
"""
SERVE = """
import json, sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
import fukayomi
from fukayomi.web import WebServer, WebSettings
from web_client import ask
with WebServer(WebSettings(evaluator="<hash>", port=0)) as server:
    sizes = {path: len(ask(server, "GET", path).body) for path in json.loads(sys.argv[3])}
print(json.dumps([fukayomi.__file__, sizes]))
"""


def test_page_is_served_from_the_wheel_alone(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", BUILD, str(tmp_path)], cwd=ROOT, check=True, timeout=10 * PATIENCE_S)
    [wheel] = tmp_path.glob("*.whl")
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    for native in Path(str(resources.files("fukayomi"))).glob("_native*.so"):  # compiling takes minutes
        (unpacked / "fukayomi" / native.name).write_bytes(native.read_bytes())
    files = {
        f"/static/{file.relative_to(folder).as_posix()}": file
        for folder in (STATIC, SHARED)
        for file in folder.rglob("*")
        if file.is_file()
    }
    asked = json.dumps(["/", "/static/pieces.svg", *files])
    command = [sys.executable, "-c", SERVE, str(unpacked), str(ROOT / "tests" / "helpers"), asked]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=10 * PATIENCE_S)
    assert run.returncode == 0, run.stderr
    module, sizes = json.loads(run.stdout)
    assert Path(module).is_relative_to(unpacked)
    assert {path: sizes[path] for path in files} == {path: file.stat().st_size for path, file in files.items()}
    assert sizes["/"] == (STATIC / "index.html").stat().st_size
    assert sizes["/static/pieces.svg"] > 1000
