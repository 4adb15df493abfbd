"""fukayomi (深読み): a deep-learning shogi engine and the workshop that makes it stronger."""

__version__ = "0.1.0"
