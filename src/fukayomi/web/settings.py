"""Settings with which the page is started."""

import secrets
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from fukayomi.errors import InvalidValueError
from fukayomi.settings import Settings

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Names of this computer, by which the page may always be asked for."""
PORT = 8346
"""The default: always the same, for browsers keep what belongs to a page by its address."""


def new_token() -> str:
    """A secret that nobody can guess."""
    return secrets.token_urlsafe(32)


class WebSettings(Settings):
    """Settings of the page: what it shows, what searches for it, and who may see it.

    Raises:
        ValueError: There is no token, and other computers could open the page.
    """

    files: tuple[Path, ...] = ()
    """Records, analyses, and folders of runs and matches. The page names them by number, never by path."""
    book: Path | None = None
    """Opening book (定跡) whose moves the Analyse tab shows, and to which moves are added: .db or .bin; others are only
    shown. A file that does not exist is made with the first move."""
    model: Path | None = None
    """Network; None: the embedded one for this computer."""
    options: tuple[tuple[str, str], ...] = ()
    """USI options of the engine and their values."""
    memory_mb: Annotated[int | None, Field(ge=16, le=65_536)] = None
    """Memory of the search tree of the live analysis, MiB; None: that of the options."""
    evaluator: str = ""
    """Name of an evaluator without network, for tests: ``<hash>`` or ``<uniform>``."""
    host: str = "127.0.0.1"
    """Address to listen on. 0.0.0.0 lets other computers in."""
    port: Annotated[int, Field(ge=0, le=65_535)] = PORT
    """Port to listen on; 0: any free port. The browser keeps settings and records by port."""
    allowed_hosts: tuple[str, ...] = ()
    """Another name, besides those of this computer, by which the page may be opened. Repeatable."""
    token: str | None = Field(default_factory=new_token, repr=False)
    """Token that the address must hold when it is first opened; None: everybody on this computer may see the page."""

    @model_validator(mode="after")
    def _is_safe(self) -> Self:
        if self.token is None and not self.is_local:
            raise InvalidValueError(f"without a token the page is for this computer alone, not for {self.host}")
        if self.token == "":
            raise InvalidValueError("the token is empty")
        return self

    @property
    def is_local(self) -> bool:
        """True if only this computer can reach the page."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def listens_everywhere(self) -> bool:
        """True if the address stands for all networks of this computer."""
        try:
            return ip_address(self.host).is_unspecified
        except ValueError:
            return False
