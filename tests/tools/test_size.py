"""What counts as a line of code."""

import runpy
from pathlib import Path

SIZE = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "size.py"))


def test_lines_of_python_are_those_that_do_something() -> None:
    source = '''"""Two lines
of text."""

import os  # a comment beside code


def f(
    x: int,
) -> str:
    """Text."""
    # A comment.
    return """one
two"""
'''
    assert SIZE["python_lines"](source) == 6


def test_lines_of_the_core_are_those_that_are_no_comment() -> None:
    assert SIZE["c_lines"]("// a\n\nint x;  // b\n/* c\nd */\nint y;\n") == 2
