"""The roots of the errors that fukayomi raises on purpose. Whatever else comes out of it is a bug.

>>> import fukayomi
>>> try:
...     fukayomi.Position.from_sfen("lnsgkgsnl b - 1")
... except fukayomi.FukayomiError as error:
...     print(error)
invalid SFEN 'lnsgkgsnl b - 1': the board has 1 ranks instead of 9
"""

import sys


class FukayomiError(Exception):
    """Something from outside cannot be used or has failed: a file, a setting, an engine, a network, an argument.

    The message says which, where, and what to do. Commands print it in one line, without a traceback.
    """


FukayomiError.__module__ = "fukayomi"


class InvalidValueError(FukayomiError, ValueError):
    """An argument, a setting or the content of a file is not valid."""


def by_pip(command: str) -> str:
    """The remedy for a package that is missing or does not fit: a command of pip.

    Args:
        command: What follows ``pip``; packages with extras in double quotes, which all shells understand.

    Returns:
        The command; in the portable folder, which has no pip, the place that says how to get more than the folder has.
    """
    if getattr(sys, "frozen", False):  # set by PyInstaller
        return "the portable folder does not have it; its README.txt says how to get all of fukayomi"
    return f"pip {command}"


def by_extra(extra: str) -> str:
    """The remedy for a package that is missing: the installation of an extra of fukayomi, as `by_pip` says it."""
    return by_pip(f'install "fukayomi[{extra}]"')  # what is installed stays: from PyPI, a wheel or a checkout
