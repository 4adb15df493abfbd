"""Make the portable folder, and an archive of it: python tools/portable/build.py

Needs PyInstaller and fukayomi[opencl,web] in this Python; `make portable` sees to that. The folder is
dist/portable/fukayomi, the archive a zip on Windows and a tar.gz elsewhere.
"""

import platform
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def build() -> Path:
    """Make the folder."""
    distribution, work = ROOT / "dist" / "portable", ROOT / "build" / "portable"
    subprocess.run(
        [
            sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN", "--distpath", str(distribution),
            "--workpath", str(work), str(HERE / "fukayomi.spec"),
        ],
        check=True,
    )  # fmt: skip
    folder = distribution / "fukayomi"
    strip(folder / "lib")
    (folder / "lib" / "LICENSES").rename(folder / "LICENSES")
    text = (HERE / "README.txt").read_text("utf-8")
    # The editor of Windows before 2018 knows neither "\n" nor UTF-8 without its mark.
    (folder / "README.txt").write_text(text, "utf-8-sig", newline="\r\n")
    return folder


def strip(libraries: Path) -> None:
    """Remove the symbols of Python itself, which are two thirds of it where it was compiled from source."""
    if sys.platform == "linux" and shutil.which("strip"):
        found = [*libraries.glob("libpython*"), *libraries.glob("python*/lib-dynload/*.so")]
        subprocess.run(["strip", "--strip-unneeded", *found], check=True)


def pack(folder: Path) -> Path:
    """An archive of the folder beside it."""
    system = {"win32": "windows", "darwin": "macos"}.get(sys.platform, sys.platform)
    name = f"fukayomi-{metadata.version('fukayomi')}-{system}-{platform.machine().lower()}"
    kind = "zip" if sys.platform == "win32" else "gztar"
    return Path(shutil.make_archive(str(folder.parent / name), kind, folder.parent, folder.name))


def main() -> None:
    folder = build()
    print(folder)
    archive = pack(folder)
    print(f"{archive}: {archive.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
