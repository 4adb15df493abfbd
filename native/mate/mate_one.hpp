#pragma once

#include "shogi/board.hpp"

namespace fukayomi {

// A move of the side to move that mates at once, or a null move. Complete: every mate in one is found, never a pawn drop.
Move find_mate_in_one(const Board& pos);

}  // namespace fukayomi
