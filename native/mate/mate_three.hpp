#pragma once

#include "shogi/board.hpp"

namespace fukayomi {

// A move of the side to move that mates in three plies at most, or a null move. Complete: every such mate is found.
Move find_mate_in_three(const Board& pos);

}  // namespace fukayomi
