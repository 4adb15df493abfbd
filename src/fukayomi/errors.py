"""The roots of the errors that fukayomi raises on purpose. Whatever else comes out of it is a bug.

>>> import fukayomi
>>> try:
...     fukayomi.Position.from_sfen("lnsgkgsnl b - 1")
... except fukayomi.FukayomiError as error:
...     print(error)
invalid SFEN 'lnsgkgsnl b - 1': the board has 1 ranks instead of 9
"""


class FukayomiError(Exception):
    """Something from outside cannot be used or has failed: a file, a setting, an engine, a network, an argument.

    The message says which, where, and what to do. Commands print it in one line, without a traceback.
    """


FukayomiError.__module__ = "fukayomi"


class InvalidValueError(FukayomiError, ValueError):
    """An argument, a setting or the content of a file is not valid."""
