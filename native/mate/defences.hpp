// How many defences a check leaves, found without playing it: a first estimate for the proof number.
#pragma once

#include "mate/checks.hpp"
#include "shogi/board.hpp"

namespace fukayomi {

class Defences {
  public:
    // Counts are at most `most`. The enemy king must be on the board, and the position must outlive this.
    Defences(const Board& pos, int most);

    // Flights of the king, captures and interpositions after this check, 1 or more. Lines that the check opens or closes
    // beside the king are left out, and a move that may promote or not counts once.
    int after(Move m) const;

  private:
    int count(PieceType t, Square to, Bitboard guarded, Bitboard occupied) const;
    int others(Square to) const;
    int exact(Move m) const;

    const Board& pos_;
    const Color us_, them_;
    const Square king_;
    const int most_;
    Bitboard without_king_;
    Bitboard guarded_, twice_;  // squares beside the king that we attack, and those that two or more of our pieces attack
    Bitboard free_;             // squares beside the king without pieces of its own
    Bitboard defenders_;        // what may capture or move between
    Bitboard screens_;
    int in_hand_ = 0;  // kinds of pieces in the defender's hand
};

}  // namespace fukayomi
