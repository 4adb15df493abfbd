"""The page in the browser: records, live analysis, play, matches and training runs, served to this computer.

    >>> from fukayomi.web import WebServer, WebSettings
    >>> with WebServer(WebSettings(evaluator="<hash>", port=0)) as server:
    ...     server.address.startswith("http://127.0.0.1:")
    True

`WebServer` runs the application that `create_app` makes. It needs the extra `web`.
"""

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy

if TYPE_CHECKING:
    from fukayomi.web.app import create_app
    from fukayomi.web.server import WebServer
    from fukayomi.web.settings import WebSettings

__all__ = ["WebServer", "WebSettings", "create_app"]

__getattr__, __dir__ = lazy(
    __name__,
    {".app": ("create_app",), ".server": ("WebServer",), ".settings": ("WebSettings",)},
)
