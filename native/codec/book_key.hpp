// The key of a position in Apery's opening book (book.bin).
#pragma once

#include <cstdint>

#include "shogi/board.hpp"

namespace fukayomi {

// Board, side to move, and the hand of the side to move; the other hand follows from these.
std::uint64_t book_key(const Board& pos);

}  // namespace fukayomi
