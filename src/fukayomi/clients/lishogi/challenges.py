"""Which challenges a bot accepts."""

import time
from collections import deque

from fukayomi.clients.lishogi.settings import BotSettings, GameKind, OpponentKind
from fukayomi.clients.lishogi.text import STANDARD, Challenge, read_sfen
from fukayomi.shogi import Position, ShogiError
from fukayomi.shogi.record import Record

DAY_S = 86_400.0


class Refusal:
    """Why a challenge is declined.

    Args:
        key: The reason of the API, which the challenger sees: ``tooFast``, ``rated``, ``later``.
        text: The reason for our user.
    """

    def __init__(self, key: str, text: str) -> None:
        self.key, self.text = key, text


class Opponents:
    """How often each opponent has been met in the last 24 hours.

    >>> met = Opponents()
    >>> met.add("Sente_kun")
    >>> met.count("sente_kun"), met.count("other")
    (1, 0)
    """

    def __init__(self) -> None:
        self._met: dict[str, deque[float]] = {}

    def add(self, name: str) -> None:
        """A game with an opponent begins."""
        self._met.setdefault(name.lower(), deque()).append(time.monotonic())

    def add_record(self, record: Record, own: str) -> None:
        """A game of the last 24 hours; it counts as if it had begun now."""
        if own in (record.black_name, record.white_name):
            self.add(record.white_name if record.black_name == own else record.black_name)

    def count(self, name: str) -> int:
        """Games with an opponent."""
        times = self._met.get(name.lower(), deque())
        while times and times[0] < time.monotonic() - DAY_S:
            times.popleft()
        return len(times)


def refusal(challenge: Challenge, settings: BotSettings, met: Opponents) -> Refusal | None:
    """Why the rules of a bot decline a challenge; None: they accept it."""
    return _of_game(challenge, settings) or _of_clock(challenge, settings) or _of_opponent(challenge, settings, met)


def _of_game(challenge: Challenge, settings: BotSettings) -> Refusal | None:
    if challenge.variant.key != STANDARD:
        return Refusal("variant", f"the variant is {challenge.variant.key}")
    if challenge.rated and settings.kind is GameKind.CASUAL:
        return Refusal("casual", "it is rated")
    if not challenge.rated and settings.kind is GameKind.RATED:
        return Refusal("rated", "it is casual")
    if challenge.initial_sfen is not None:
        try:
            is_mated = Position.from_sfen(read_sfen(challenge.initial_sfen)).is_mated()
        except ShogiError:
            return Refusal("standard", "its first position cannot be read")
        if is_mated:
            return Refusal("standard", "it is over in its first position")
    return None


def _of_clock(challenge: Challenge, settings: BotSettings) -> Refusal | None:
    clock = challenge.time
    if clock.type != "clock":
        return Refusal("timeControl", "it has no clock")
    extra = clock.increment + clock.byoyomi
    if clock.limit < settings.min_main or extra < settings.min_extra:
        return Refusal("tooFast", f"{clock.limit:g} s + {extra:g} s is too fast")
    if clock.limit > settings.max_main or extra > settings.max_extra:
        return Refusal("tooSlow", f"{clock.limit:g} s + {extra:g} s is too slow")
    if 1000 * (clock.limit + extra) <= 2 * settings.margin_ms:
        return Refusal("tooFast", f"{clock.limit:g} s + {extra:g} s leaves no time beside the margin")
    return None


def _of_opponent(challenge: Challenge, settings: BotSettings, met: Opponents) -> Refusal | None:
    user = challenge.challenger
    if user is None or not (user.id or user.name):
        return Refusal("generic", "the challenger is anonymous")
    if user.is_bot and settings.opponents is OpponentKind.PEOPLE:
        return Refusal("noBot", "the challenger is a bot")
    if not user.is_bot and settings.opponents is OpponentKind.BOTS:
        return Refusal("onlyBot", "the challenger is no bot")
    names = {user.id.lower(), user.name.lower()}
    if any(name.lower() in names for name in settings.avoid):
        return Refusal("generic", f"{user.shown} is avoided")
    if (settings.min_rating is not None or settings.max_rating is not None) and user.rating is None:
        return Refusal("generic", "the challenger has no rating")
    if user.rating is not None and settings.min_rating is not None and user.rating < settings.min_rating:
        return Refusal("generic", f"the rating {user.rating:g} is too low")
    if user.rating is not None and settings.max_rating is not None and user.rating > settings.max_rating:
        return Refusal("generic", f"the rating {user.rating:g} is too high")
    if settings.per_day is not None and met.count(user.shown) >= settings.per_day:
        return Refusal("later", f"{user.shown} has had {settings.per_day} games in 24 hours")
    return None
