"""Labels for training data: positions searched by a USI engine or by our own network, as hcpe3 with soft policies.

`label_positions` in `labelling.py` is the whole of it, as a resumable job. `inputs.py` reads the positions,
`labellers.py` searches them, several at once, and `labels.py` turns what a search found into a label. `judging.py` has
them judge the positions of books by min-max.
"""
