"""KIF, the format of Japanese GUIs, and what KI2 shares with it: head, first position, endings, comments."""

from fukayomi.shogi.formats.kif.game import read_ki2, read_kif
from fukayomi.shogi.formats.kif.writer import write_kif

__all__ = ["read_ki2", "read_kif", "write_kif"]
