#pragma once

#include <string>

#include "shogi/board.hpp"

namespace fukayomi {

// The board for people, with SFEN's letters: files from 9 to 1, ranks from a to i, then the hands and the side to move.
std::string board_text(const Board& pos);

// A piece as SFEN writes it: "P", "+r". White's are small.
std::string piece_text(Piece p);

}  // namespace fukayomi
