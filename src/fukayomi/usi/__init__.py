"""The USI protocol: text without I/O, options, and a client that drives an engine."""
