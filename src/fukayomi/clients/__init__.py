"""Playing outside: a client of CSA servers (floodgate) and a bot on lishogi for any USI engine, and a small CSA server.

    import asyncio
    from pathlib import Path
    from fukayomi import clients

    async def main():
        settings = clients.PlaySettings(host="192.168.1.20", name="mine", game="lan-300-10F", games=2, out=Path("won"))
        player = clients.usi_player("mine", ["fukayomi-usi"], {"USI_Hash": "256"})
        return await clients.CsaClient(settings, clients.Secret("moonlight"), player).run()

    asyncio.run(main())

`LishogiBot` is used in the same way; it needs the extra ``lishogi``. An `OnlineListener` hears of logins, games, moves
and results. Records are saved as CSA and KIF when a game ends.
"""

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy

if TYPE_CHECKING:
    from fukayomi.clients.connecting import ConnectionLostError
    from fukayomi.clients.csa.client import CsaClient, CsaLoginError
    from fukayomi.clients.csa.server import CsaServer, ServerError
    from fukayomi.clients.csa.settings import PlaySettings, ServeSettings
    from fukayomi.clients.csa.text import CsaProtocolError, GameSummary
    from fukayomi.clients.engine import usi_player
    from fukayomi.clients.lishogi.api import LishogiApi, RateLimitedError, RequestRefusedError, TokenRefusedError
    from fukayomi.clients.lishogi.bot import LishogiBot, NotABotError
    from fukayomi.clients.lishogi.settings import BotSettings
    from fukayomi.clients.lishogi.text import LishogiProtocolError
    from fukayomi.clients.listener import OnlineGame, OnlineListener, Score
    from fukayomi.clients.secrets import Secret, SecretError, read_secret

__all__ = [
    "BotSettings",
    "ConnectionLostError",
    "CsaClient",
    "CsaLoginError",
    "CsaProtocolError",
    "CsaServer",
    "GameSummary",
    "LishogiApi",
    "LishogiBot",
    "LishogiProtocolError",
    "NotABotError",
    "OnlineGame",
    "OnlineListener",
    "PlaySettings",
    "RateLimitedError",
    "RequestRefusedError",
    "Score",
    "Secret",
    "SecretError",
    "ServeSettings",
    "ServerError",
    "TokenRefusedError",
    "read_secret",
    "usi_player",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        ".connecting": ("ConnectionLostError",),
        ".csa.client": ("CsaClient", "CsaLoginError"),
        ".csa.server": ("CsaServer", "ServerError"),
        ".csa.settings": ("PlaySettings", "ServeSettings"),
        ".csa.text": ("CsaProtocolError", "GameSummary"),
        ".engine": ("usi_player",),
        ".lishogi.api": ("LishogiApi", "RateLimitedError", "RequestRefusedError", "TokenRefusedError"),
        ".lishogi.bot": ("LishogiBot", "NotABotError"),
        ".lishogi.settings": ("BotSettings",),
        ".lishogi.text": ("LishogiProtocolError",),
        ".listener": ("OnlineGame", "OnlineListener", "Score"),
        ".secrets": ("Secret", "SecretError", "read_secret"),
    },
)
