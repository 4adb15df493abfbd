// Moves and numbers as CSA writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "csa/board.hpp"
#include "shogi/board.hpp"

namespace fukayomi {

std::size_t count_digits(std::string_view text);  // at its front
std::int64_t to_number(std::string_view digits);

// A move as it is written: CSA names the piece after the move, so that only the board tells whether it promotes.
struct WrittenMove {
    Square from;  // NO_SQUARE for a drop
    Square to;
    PieceType piece;
};

WrittenMove decode_move(std::string_view text);  // without its sign; throws CsaRefusal
// The move, or none where another piece stands.
std::optional<Move> find_move(const WrittenMove& move, const Board& pos);
// Whether a text is " -3334FU" and what follows.
bool is_line_of_moves(std::string_view text);

// AobaZero's note on a move, with and without its value: "v=0.5,782,7776FU,430" or "782,7776FU,430".
bool is_visits(std::string_view text);

struct VisitedMove {
    Move move;
    std::uint64_t visits;
};

// The candidates of a search as AobaZero notes them: 7776FU,430m,2726FU,352l, a letter behind the visits or none; a move
// that stands there twice has the sum. Throws ParseError(MOVE) for what is none of it, and for a move that is not legal.
std::vector<VisitedMove> read_visits(std::string_view text, const Board& pos);

}  // namespace fukayomi
