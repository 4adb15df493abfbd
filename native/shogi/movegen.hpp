// Legal moves. Pins and checks are known before the first move is written, so nothing is tried and taken back.
#pragma once

#include <cstdint>

#include "shogi/board.hpp"

namespace fukayomi {

// Every legal move, non-promotions included, as the rules of the game have it.
void generate_legal(const Board& pos, MoveList& moves);

// Without needless non-promotions: a pawn, bishop or rook that can promote does, and so does a lance on the second rank.
// The search uses this one. It has a move whenever there is a legal one: what it leaves out is also there as a promotion.
void generate_useful(const Board& pos, MoveList& moves);

// How many legal moves there are, without writing them.
int count_legal(const Board& pos);
bool has_legal_move(const Board& pos);

// A test of moves. It may play them on the board, and takes them back.
class MoveTest {
  public:
    virtual bool passes(Move m) = 0;

  protected:
    ~MoveTest() = default;
};

// Whether every legal move passes a test. The king's come first, and none is looked for after one that fails.
bool all_legal_pass(const Board& pos, MoveTest& test);

std::uint64_t perft(Board& pos, int depth);

}  // namespace fukayomi
