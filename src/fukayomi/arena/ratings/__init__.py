"""How strong players are, from who beat whom. Knows names and results, and no game in particular.

>>> from fukayomi.arena.ratings import Tally, rate
>>> tally = Tally()
>>> for points in (1, 1, 0.5, 0):
...     tally.add("new", "old", points)
...     tally.add("old", "new", 1 - points)
>>> [(player.name, round(player.rating)) for player in rate(tally).players]
[('new', 45), ('old', -45)]
"""

from fukayomi.arena.ratings.rating import Options, PlayerRating, Ratings, rate, rate_pairs
from fukayomi.arena.ratings.table import write_table
from fukayomi.arena.ratings.tally import Tally

__all__ = ["Options", "PlayerRating", "Ratings", "Tally", "rate", "rate_pairs", "write_table"]
