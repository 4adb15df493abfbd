"""State that the handlers of requests share."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fukayomi import __version__
from fukayomi.web.hub import Hub, Message
from fukayomi.web.search.live import LiveAnalysis
from fukayomi.web.search.network_loader import NetworkLoader
from fukayomi.web.settings import WebSettings

if TYPE_CHECKING:
    from fukayomi.web.files import File


class State:
    """State of the server: what the page serves, and what searches for it.

    Args:
        settings: What the page is started with.

    Raises:
        FileNotFoundError: One of the files is missing.
    """

    def __init__(self, settings: WebSettings) -> None:
        from fukayomi.web.files import find_files
        from fukayomi.web.positions import handicaps

        self.settings = settings
        self.files: list[File] = find_files(settings.files)
        self.hub = Hub()
        self.network = NetworkLoader(settings, self.tell)
        self.live = LiveAnalysis(self.network)
        self._closers: list[Callable[[], None]] = []
        self._handicaps = handicaps()

    def start(self) -> None:
        """Begin what runs behind the page."""
        self.network.start()

    def add_closer(self, close: Callable[[], None]) -> None:
        """Have something called when the server ends, before the network is freed; what was added last comes first."""
        self._closers.append(close)

    def close(self) -> None:
        """End everything that runs."""
        for close in reversed(self._closers):
            close()
        self.live.close()
        self.network.close()

    def describe(self) -> dict[str, Any]:
        """Facts that a page must know at its start: version, network (`NetworkLoader.state`), files, handicaps."""
        return {
            "version": __version__,
            "network": self.network.state(),
            "files": [file.described() for file in self.files],
            "handicaps": self._handicaps,
        }

    def message(self) -> Message:
        """The message of a socket that says how things are."""
        return {"type": "state", "state": self.describe()}

    def tell(self) -> None:
        """Tell all pages what has changed, from any thread."""
        self.hub.send_all(self.message(), "state")
