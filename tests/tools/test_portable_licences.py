"""The licences of the portable folder: found for what is installed, and an error where there is none."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "tools" / "portable" / "licences.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("portable_licences", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_licences_of_python_and_of_each_distribution_are_found(tool: ModuleType) -> None:
    modules = [("numpy.linalg", "", ""), ("onnxruntime", "", ""), ("json", "", "")]
    found = tool.licences(modules, [("pydantic_core/_pydantic_core.so", sys.executable, "EXTENSION")])
    folders = {folder for _, folder in found}
    assert folders >= {"LICENSES/Python", "LICENSES/numpy", "LICENSES/onnxruntime", "LICENSES/pydantic_core"}
    assert all(Path(file).is_file() for file, _ in found)
    names = {Path(file).name for file, folder in found if folder == "LICENSES/onnxruntime"}
    assert names >= {"LICENSE", "ThirdPartyNotices.txt"}


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux the folder has libraries of the system")
def test_a_library_of_nobody_is_an_error(tool: ModuleType, tmp_path: Path) -> None:
    library = tmp_path / "libnobody.so.1"
    library.write_bytes(b"")
    with pytest.raises(SystemExit, match=r"libnobody\.so\.1 .*licence"):
        tool.licences([], [("libnobody.so.1", str(library), "BINARY")])
