"""Game records in the formats CSA, KIF, KI2, JKF and USI.

>>> from fukayomi.shogi.formats import read_records
>>> next(read_records(b"PI\\n+\\n+7776FU\\n-3334FU\\n%TORYO\\n", name="game.csa")).usi_moves()
['7g7f', '3c3d']
"""

from fukayomi.shogi.formats.csa.writer import csa_moves, write_csa
from fukayomi.shogi.formats.jkf import write_jkf
from fukayomi.shogi.formats.kif import write_kif
from fukayomi.shogi.formats.kif.writer import write_ki2
from fukayomi.shogi.formats.reader import Format, detect_format, read_record, read_records, scan_records
from fukayomi.shogi.formats.usi import write_usi
from fukayomi.shogi.formats.writer import write_record

__all__ = [
    "Format",
    "csa_moves",
    "detect_format",
    "read_record",
    "read_records",
    "scan_records",
    "write_csa",
    "write_jkf",
    "write_ki2",
    "write_kif",
    "write_record",
    "write_usi",
]
