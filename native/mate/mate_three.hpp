#pragma once

#include <vector>

#include "shogi/board.hpp"

namespace fukayomi {

// A move of the side to move that mates in three plies at most, or a null move. Complete: every such mate is found.
Move find_mate_in_three(const Board& pos);

// The same where there is no mate in one.
Move find_mate_in_exactly_three(const Board& pos);

// A whole mate of one ply or three, or no moves.
std::vector<Move> line_of_mate_in_three(const Board& pos);

}  // namespace fukayomi
