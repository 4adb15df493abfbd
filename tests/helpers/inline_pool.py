"""Pieces of work that are done at once in this process, instead of in a pool of others."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class InlinePool(Executor):
    """Does a piece of work when it is submitted; in place of `work_folder.start_pool`."""

    def __init__(self, jobs: int) -> None: ...

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done
