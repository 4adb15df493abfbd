"""Public names of a package, imported on first use (PEP 562).

A package also lists them in `__all__`, and imports them under `TYPE_CHECKING` for type checkers and editors;
`tests/test_package.py` checks that the three agree.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazy(
    package: str, names: Mapping[str, Iterable[str]], subpackages: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose public names are imported on first use.

    Args:
        package: The package's `__name__`.
        names: For each module, with its full name or relative to the package (".export"), the names it defines.
        subpackages: Sub-packages that can be used without importing them first.
    """
    module_of = {name: module for module, defined in names.items() for name in defined}
    children = frozenset(subpackages)

    def import_name(name: str) -> Any:
        if name in children:
            return import_module(f"{package}.{name}")
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of, *children})

    return import_name, list_names
