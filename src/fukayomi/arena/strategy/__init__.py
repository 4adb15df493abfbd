"""Strategies (戦型): names of openings, attacks and castles, found in games and counted. See docs/strategies.md.

>>> import fukayomi.arena
>>> found = fukayomi.arena.classify_strategies("7g7f 3c3d 6g6f 8c8d 2h6h".split())
>>> [tag.label for tag in found.tags]
['対抗形', '先手四間飛車']
"""
