"""What the page is started with."""

import secrets
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from fukayomi.errors import InvalidValueError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Names of this computer, by which the page may always be asked for."""


def new_token() -> str:
    """A secret that nobody can guess."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class WebSettings:
    """What the page shows, what searches for it, and who may see it.

    Raises:
        ValueError: There is no token, and other computers could open the page.
    """

    files: tuple[Path, ...] = ()
    """Records, analyses, and folders of runs and matches. The page names them by number, never by path."""
    model: Path | None = None
    """Network; None: the embedded one."""
    options: tuple[tuple[str, str], ...] = ()
    """USI options of the engine and their values."""
    memory_mb: int | None = None
    """Memory of the tree of the live analysis in MiB; None: that of the options."""
    evaluator: str = ""
    """Name of an evaluator without network, for tests: ``<hash>`` or ``<uniform>``."""
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = 0
    """Port to listen on; 0: any free one."""
    allowed_hosts: tuple[str, ...] = ()
    """Names besides those of this computer by which the page may be asked for."""
    token: str | None = field(default_factory=new_token, repr=False)
    """What the address must hold when it is first opened; None: everybody on this computer may see the page."""

    def __post_init__(self) -> None:
        if self.token is None and not self.is_local:
            raise InvalidValueError(f"without a token the page is for this computer alone, not for {self.host}")
        if self.token == "":
            raise InvalidValueError("the token is empty")

    @property
    def is_local(self) -> bool:
        """Whether only this computer can reach the page."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def listens_everywhere(self) -> bool:
        """Whether the address stands for all networks of this computer."""
        try:
            return ip_address(self.host).is_unspecified
        except ValueError:
            return False
