"""Wherever a file is meant, a str or a Path will do."""

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

PACKAGES = ("arena", "book", "data", "engine", "learning", "loop", "nn", "selfplay", "shogi", "usi")
CALLBACKS = {"checkpoint", "chunk"}
"""Methods of listeners, which are told of a Path."""


def functions_of(package: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Public functions and methods; constructors of classes that are not made by dataclass."""
    module = importlib.import_module(f"fukayomi.{package}")
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value):
            for method, raw in vars(value).items():
                function = getattr(raw, "__func__", raw)
                is_own = method == "__init__" and not hasattr(value, "__dataclass_fields__")
                if inspect.isfunction(function) and (is_own or not method.startswith("_")) and method not in CALLBACKS:
                    yield f"{name}.{method}", function


@pytest.mark.parametrize("package", PACKAGES)
def test_paths_may_be_text(package: str) -> None:
    pytest.importorskip("torch")
    only_paths = [
        f"{name}({parameter.name}: {parameter.annotation})"
        for name, function in functions_of(package)
        for parameter in inspect.signature(function).parameters.values()
        if "Path" in (text := str(parameter.annotation).replace("pathlib.Path", "Path")) and "str" not in text
        if not text.startswith("collections.abc.Callable")
        if name != "BookReader.__init__"  # `BookReader.open` opens one
    ]
    assert only_paths == []
