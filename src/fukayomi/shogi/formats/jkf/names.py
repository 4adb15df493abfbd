"""The names of JKF for pieces, handicaps and relative positions."""

from fukayomi.shogi.formats.kif.board import HANDICAPS
from fukayomi.shogi.position import PieceType

KINDS = {
    PieceType.PAWN: "FU", PieceType.LANCE: "KY", PieceType.KNIGHT: "KE", PieceType.SILVER: "GI",
    PieceType.BISHOP: "KA", PieceType.ROOK: "HI", PieceType.GOLD: "KI", PieceType.KING: "OU",
    PieceType.PRO_PAWN: "TO", PieceType.PRO_LANCE: "NY", PieceType.PRO_KNIGHT: "NK", PieceType.PRO_SILVER: "NG",
    PieceType.HORSE: "UM", PieceType.DRAGON: "RY",
}  # fmt: skip
"""The kind of each piece, as in CSA."""

PRESETS = {
    "HIRATE": HANDICAPS["平手"], "KY": HANDICAPS["香落"], "KY_R": HANDICAPS["右香落"], "KA": HANDICAPS["角落"],
    "HI": HANDICAPS["飛車落"], "HIKY": HANDICAPS["飛香落"], "2": HANDICAPS["二枚落"], "3": HANDICAPS["三枚落"],
    "4": HANDICAPS["四枚落"], "5": HANDICAPS["五枚落"], "5_L": HANDICAPS["左五枚落"], "6": HANDICAPS["六枚落"],
    "7_L": HANDICAPS["左七枚落"], "7_R": HANDICAPS["右七枚落"], "8": HANDICAPS["八枚落"], "10": HANDICAPS["十枚落"],
}  # fmt: skip
"""The first position of each preset but OTHER."""

RELATIVES = {"左": "L", "直": "C", "右": "R", "上": "U", "寄": "M", "引": "D", "打": "H"}
"""The letter of each mark in Japanese notation."""
