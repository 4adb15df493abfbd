#pragma once

#include <string>

#include "shogi/board.hpp"

namespace fukayomi {

// Throws ParseError(ILLEGAL_MOVE), which quotes the move and the position, if the move is not legal.
void require_legal(const Board& pos, Move m);

// Why the rules forbid a move, for messages to people. The move must not be legal.
std::string why_illegal(const Board& pos, Move m);

}  // namespace fukayomi
