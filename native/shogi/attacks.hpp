// Attack sets of single pieces. Tables are built at start-up; nothing depends on instructions beyond x86-64-v2 or arm64.
#pragma once

#include "shogi/bitboard.hpp"

namespace fukayomi {

Bitboard pawn_attacks(Color c, Square s);
Bitboard knight_attacks(Color c, Square s);
Bitboard silver_attacks(Color c, Square s);
Bitboard gold_attacks(Color c, Square s);
Bitboard king_attacks(Square s);
Bitboard lance_attacks(Color c, Square s, Bitboard occupied);
Bitboard bishop_attacks(Square s, Bitboard occupied);
Bitboard rook_attacks(Square s, Bitboard occupied);
Bitboard horse_attacks(Square s, Bitboard occupied);
Bitboard dragon_attacks(Square s, Bitboard occupied);
Bitboard attacks(Color c, PieceType t, Square s, Bitboard occupied);

// Squares strictly between two squares on one line; empty if they share none.
Bitboard between(Square a, Square b);
// The whole line through two squares; empty if they share none.
Bitboard line(Square a, Square b);

}  // namespace fukayomi
