"""The network, loaded behind the page: the page is there at once, and what searches waits."""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fukayomi.web.settings import WebSettings

if TYPE_CHECKING:
    from fukayomi.engine.network import Network
    from fukayomi.engine.settings import UsiSettings


class NetworkLoader:
    """Loads the network in a thread.

    Args:
        settings: The network and the options of the engine.
        changed: Called from the thread when the network is ready, or has failed.
    """

    def __init__(self, settings: WebSettings, changed: Callable[[], None]) -> None:
        self._settings = settings
        self._changed = changed
        self._network: Network | None = None
        self._usi: UsiSettings | None = None
        self._error: Exception | None = None
        self._is_known = threading.Event()
        self._thread = threading.Thread(target=self._load, name="fukayomi-web-network", daemon=True)

    def start(self) -> None:
        """Begin to load."""
        self._thread.start()

    def wait(self) -> "Network":
        """The network, as soon as it is loaded. It may be shared by any number of `Engine`s.

        Raises:
            EvaluatorError: It cannot be loaded.
        """
        from fukayomi.engine.evaluators import EvaluatorError

        self._is_known.wait()
        if self._error is not None:
            raise EvaluatorError(self.problem) from self._error
        assert self._network is not None
        return self._network

    def ready(self) -> "Network | None":
        """The network; None while it is loaded, and if it cannot be."""
        return self._network

    @property
    def usi(self) -> "UsiSettings":
        """Options of searches with the network, once it is loaded."""
        assert self._usi is not None
        return self._usi

    @property
    def problem(self) -> str:
        """Reason why the network cannot be loaded; it has the name of the file, and not the folder."""
        return self._without_folder(str(self._error))

    def state(self) -> dict[str, Any]:
        """Description for the page: state (loading, ready, failed), name, identity, and a text on failure."""
        if not self._is_known.is_set():
            return {"state": "loading", "name": "", "identity": "", "text": ""}
        if self._network is None:
            return {"state": "failed", "name": "", "identity": "", "text": self.problem}
        problems = self._without_folder("\n".join(self._network.problems))
        return {"state": "ready", "name": self._network.name, "identity": self._network.identity, "text": problems}

    def _without_folder(self, text: str) -> str:
        model = self._settings.model
        if model is not None:
            for folder in (model.absolute().parent, model.expanduser().parent):
                text = text.replace(str(folder) + os.sep, "")
        return text

    def close(self) -> None:
        """Free the network, when it is loaded. Searches with it have ended before."""
        self._thread.join()
        if self._network is not None:
            self._network.close()

    def _load(self) -> None:
        from fukayomi.engine.evaluators import EvaluatorError

        try:
            self._network, self._usi = self._loaded()
        except (EvaluatorError, ValueError) as error:
            self._error = error
        except Exception as error:  # a library that fails to start; the page says so
            self._error = EvaluatorError(f"the network cannot be loaded: {error}")
        self._is_known.set()
        self._changed()

    def _loaded(self) -> "tuple[Network, UsiSettings]":
        from fukayomi.engine.network import Network, take_suggestions
        from fukayomi.engine.settings import usi_options

        model = self._settings.evaluator or self._settings.model
        options = usi_options()
        if model is not None:
            options.set("DNN_Model", str(model))
        for name, value in self._settings.options:
            options.set(name, value)
        take_suggestions(options)
        usi = options.settings
        network = Network(
            usi.model,
            device=usi.provider,
            precision=usi.precision,
            threads=usi.threads,
            batch_size=usi.batch_size,
            cache_mb=usi.cache_mb,
            review_model=usi.reviewer(),
        )
        memory_mb = self._settings.memory_mb
        return network, usi if memory_mb is None else replace(usi, hash_mb=memory_mb)
