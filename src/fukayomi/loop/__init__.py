"""The learning loop: a network plays itself, learns from the games, and is tested.

    from fukayomi.loop import build_settings, learn, read_status
    result = learn(build_settings({"preset": "tiny"}), "run")
    print(read_status("run"))

`learn` is silent; a `LoopListener` follows a run. Settings are checked, and errors name the setting:

    >>> from fukayomi.loop import build_settings
    >>> build_settings({"preset": "tiny"}, {"games": 0})
    Traceback (most recent call last):
    fukayomi.loop.LoopError: games: Input should be greater than or equal to 1, not 0
"""

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy

if TYPE_CHECKING:
    from fukayomi.loop.listener import LoopListener
    from fukayomi.loop.report.page import write_report
    from fukayomi.loop.report.status import RunStatus, read_status
    from fukayomi.loop.settings import LoopError, LoopSettings, build_settings, read_settings
    from fukayomi.loop.steps import LoopResult, learn

__all__ = [
    "LoopError",
    "LoopListener",
    "LoopResult",
    "LoopSettings",
    "RunStatus",
    "build_settings",
    "learn",
    "read_settings",
    "read_status",
    "write_report",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        ".steps": ("LoopResult", "learn"),
        ".listener": ("LoopListener",),
        ".report.page": ("write_report",),
        ".report.status": ("RunStatus", "read_status"),
        ".settings": ("LoopError", "LoopSettings", "build_settings", "read_settings"),
    },
)
