#pragma once

#include "shogi/board.hpp"

namespace fukayomi {

// Throws ParseError(SFEN), which says what no game could have produced: two pawns of a side on a file, a piece that can
// never move, more pieces than a set has, a missing king, the side not to move in check.
void validate(const Board& pos, bool allow_missing_king);

// How many pieces of a type a set has, promoted ones included; the type is an unpromoted one.
int pieces_in_set(PieceType t);
// "pawn", "promoted lance", "horse", ...
const char* piece_name(PieceType t);

}  // namespace fukayomi
