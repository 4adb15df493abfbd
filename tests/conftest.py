"""What every test may need: the shared data, the Debian engines, and honest skips where they are missing."""

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real games and oracles beside the repository, or a skip that says so."""
    folder = Path(os.environ.get("FUKAYOMI_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"needs ../shared/data, which is not at {folder}")
    return folder


def find_engine(name: str) -> str:
    """Full path of a Debian USI engine; /usr/games is often not on PATH."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + os.pathsep + "/usr/games")
    if path is None:
        pytest.skip(f"needs the Debian package of {name}")
    return path


@pytest.fixture(scope="session")
def fairy_stockfish() -> str:
    return find_engine("fairy-stockfish")


@pytest.fixture(scope="session")
def gpsusi() -> str:
    return find_engine("gpsusi")
