#pragma once

#include <string>

#include "shogi/position.hpp"

namespace fukayomi {

// Why the rules forbid a move, for messages to people. The move must not be legal.
std::string why_illegal(const Position& pos, Move m);

}  // namespace fukayomi
