"""JKF (JSON Kifu Format): records as JSON, by the schema of json-kifu-format."""

from fukayomi.shogi.formats.jkf.reader import read_jkf
from fukayomi.shogi.formats.jkf.writer import write_jkf

__all__ = ["read_jkf", "write_jkf"]
