"""Opening books (定跡) that grow by endless matches: games, a book of their results, games with that book, and so on.

from fukayomi.book_growth import GrowSettings, grow_book

settings = GrowSettings(engine=[{"name": "engine", "command": ["fukayomi-usi"]}], clock="nodes=1000", rounds=10)
print(grow_book(settings, "grown"))  # a table with a row for each round
"""

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy

if TYPE_CHECKING:
    from fukayomi.book_growth.growth import Growth, GrowthListener, grow_book, read_growth
    from fukayomi.book_growth.journal import BookState, Round
    from fukayomi.book_growth.settings import GamesFrom, GrowSettings, GrowthError

__all__ = [
    "BookState",
    "GamesFrom",
    "GrowSettings",
    "Growth",
    "GrowthError",
    "GrowthListener",
    "Round",
    "grow_book",
    "read_growth",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        ".growth": ("Growth", "GrowthListener", "grow_book", "read_growth"),
        ".journal": ("BookState", "Round"),
        ".settings": ("GamesFrom", "GrowSettings", "GrowthError"),
    },
)
