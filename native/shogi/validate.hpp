#pragma once

#include "shogi/position.hpp"

namespace fukayomi {

// Throws ParseError(SFEN) if no game could reach such a position: two pawns of a side on a file, a piece that can never
// move, more pieces than a set has, the side that just moved in check, a missing king (unless allowed), ...
void validate(const Position& pos, bool allow_missing_king);

}  // namespace fukayomi
