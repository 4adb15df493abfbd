"""Reanalysis: new targets from a newer network for positions of games that are already there, as layers beside them.

`reanalyze` in `reanalysis.py` is the whole of it, a resumable job for each file. `selection.py` chooses the positions,
`targets.py` makes targets of what a network says without a search, and puts new targets into games; searches are those
of `labelling`. What a layer is, and which layers there are, is in `layers.py` of the package above.
"""
