#pragma once

#include "shogi/position.hpp"

namespace fukayomi {

// A move of the side to move that mates at once, or a null move. Complete: every mate in one is found, never a pawn drop.
Move find_mate_in_one(const Position& pos);

}  // namespace fukayomi
