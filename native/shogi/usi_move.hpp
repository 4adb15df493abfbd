// Moves as USI writes them: 7g7f, 8h2b+, P*5e.
#pragma once

#include <string>
#include <string_view>

#include "shogi/types.hpp"

namespace fukayomi {

Move move_from_usi(std::string_view text);  // throws ParseError; says nothing about legality
std::string usi(Move m);
std::string usi(Square s);  // 7g
Square square_from_usi(std::string_view text);

}  // namespace fukayomi
