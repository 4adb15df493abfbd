"""The USI engine: the state machine between a GUI and the search."""
