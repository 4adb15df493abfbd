"""How strong the networks of a run are: the test of the gate, and matches against anchors, rated together."""
