// A position with the moves that led to it, which repetition needs: Python's Position. The board alone is a Board.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shogi/board.hpp"
#include "shogi/history.hpp"

namespace fukayomi {

class Position {
  public:
    Position() : Position(Board()) {}
    explicit Position(const Board& start) : board_(start), start_(start) { history_.push(start); }
    // What follows `position` in USI: "startpos moves 7g7f 3c3d" or "sfen SFEN moves ...". Throws ParseError.
    static Position from_usi(std::string_view text);
    std::string usi() const;

    const Board& board() const { return board_; }
    const Board& start() const { return start_; }
    const History& history() const { return history_; }
    const std::vector<Undo>& moves() const { return undos_; }  // undos_[i].move is the i-th move

    void push(Move m);        // throws ParseError(ILLEGAL_MOVE), which quotes the move and the position
    void push_legal(Move m);  // the caller knows that it is legal
    Move pop();               // throws std::out_of_range at the start

  private:
    Board board_;
    Board start_;
    History history_;
    std::vector<Undo> undos_;
};

}  // namespace fukayomi
