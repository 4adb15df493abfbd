"""The licences of what PyInstaller puts into a folder."""

import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

LICENCE = re.compile(r"(licen[cs]e|copying|notice|copyright|thirdpartynotices)[^/]*$", re.IGNORECASE)
Entry = tuple[str, str, str]
"""What PyInstaller collects: name in the folder or of the module, path of the source, kind."""


def licences(modules: Iterable[Entry], binaries: Iterable[Entry]) -> list[tuple[str, str]]:
    """Pairs of a file and the folder that it is copied to, for PyInstaller's `datas`.

    Raises:
        SystemExit: A library in the folder belongs to nothing whose licence is known.
    """
    binaries = list(binaries)
    packages = {name.partition(".")[0] for name, _, _ in modules}
    packages |= {Path(name).parts[0].partition(".")[0] for name, _, _ in binaries}
    owners = metadata.packages_distributions()
    found = [(_python(), "LICENSES/Python")]
    for distribution in sorted({owner for package in packages for owner in owners.get(package, ())}):
        found += [(str(file), f"LICENSES/{distribution}") for file in _of_distribution(distribution)]
    return found + _of_system([Path(source) for _, source, _ in binaries])


def _python() -> str:
    """The licence of Python, which on Windows also has those of the libraries that come with it."""
    folders = (Path(sys.base_prefix), Path(sysconfig.get_path("stdlib")), Path("/usr/share/doc/python3"))
    for path in (folder / name for folder in folders for name in ("LICENSE.txt", "copyright")):
        if path.is_file():
            return str(path)
    raise SystemExit(f"no licence of Python in {', '.join(map(str, folders))}")


def _of_distribution(name: str) -> list[Path]:
    """The files with licences of a distribution; its metadata where it has none."""
    files = metadata.files(name) or []
    found = [file for file in files if LICENCE.search(file.as_posix()) and file.suffix not in {".py", ".pyc"}]
    found = found or [file for file in files if file.name == "METADATA"]
    return [Path(str(file.locate())) for file in found]


def _of_system(libraries: list[Path]) -> list[tuple[str, str]]:
    """Of libraries of the system: Debian's files of copyright. Windows has none of its own in the folder."""
    own = [Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix) if Path(prefix) != Path("/usr")]
    foreign = [path.resolve() for path in libraries if not any(path.resolve().is_relative_to(each) for each in own)]
    if sys.platform != "linux":
        return []
    packages: set[str] = set()
    for path in foreign:
        # A library may be known by its name before /lib became a link to /usr/lib.
        names = [str(path), str(path).removeprefix("/usr")]
        asked = subprocess.run(["dpkg-query", "-S", *names], capture_output=True, text=True, check=False)
        if not asked.stdout:
            raise SystemExit(
                f"{path} would be in the folder, and its licence is not known: it belongs to no package of Debian"
            )
        packages.add(asked.stdout.split(":")[0])
    return [(f"/usr/share/doc/{package}/copyright", f"LICENSES/{package}") for package in sorted(packages)]
