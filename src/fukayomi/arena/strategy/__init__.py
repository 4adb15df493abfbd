"""Strategies (戦型): what an opening, a castle or an attack is called, and how often each is played and won.

>>> from fukayomi.arena.strategy import Matcher, load_definitions
>>> from fukayomi.shogi import START_SFEN, Move
>>> matcher = Matcher(load_definitions())
>>> moves = [Move.from_usi(text) for text in "7g7f 3c3d 6g6f 8c8d 2h6h".split()]
>>> [tag.label for tag in matcher.classify(START_SFEN, moves).tags]
['対抗形', '先手四間飛車']
"""

from fukayomi.arena.strategy.definitions import Definition, DefinitionError, Side, load_definitions
from fukayomi.arena.strategy.matcher import Classification, Matcher, Tag

__all__ = ["Classification", "Definition", "DefinitionError", "Matcher", "Side", "Tag", "load_definitions"]
