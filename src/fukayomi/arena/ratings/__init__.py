"""Ratings of players from the results of their games. Knows names and results, and no particular game.

>>> import fukayomi.arena
>>> games = [("new", "old", "1-0"), ("old", "new", "0-1"), ("new", "old", "1/2-1/2"), ("old", "new", "1-0")]
>>> ratings = fukayomi.arena.rate(games)
>>> round(ratings["new"].rating), round(ratings["old"].rating)
(48, -48)
"""
