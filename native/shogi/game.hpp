// A position with its past, which repetition needs. The bindings show it to Python as Position; what is Position here, without
// a past, has no counterpart in Python.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shogi/history.hpp"
#include "shogi/position.hpp"

namespace fukayomi {

class Game {
public:
    Game() : Game(Position()) {}
    explicit Game(const Position& start) : position_(start), start_(start) { history_.push(start); }
    // What follows `position` in USI: "startpos moves 7g7f 3c3d" or "sfen SFEN moves ...". Throws ParseError.
    static Game from_usi(std::string_view text);
    std::string usi() const;

    const Position& position() const { return position_; }
    const Position& start() const { return start_; }
    const History& history() const { return history_; }
    const std::vector<Undo>& moves() const { return undos_; }  // undos_[i].move is the i-th move

    void push(Move m);  // throws ParseError(ILLEGAL_MOVE), which quotes the move and the position
    void push_legal(Move m);  // the caller knows that it is legal
    Move pop();         // throws std::out_of_range at the start

private:
    Position position_;
    Position start_;
    History history_;
    std::vector<Undo> undos_;
};

}  // namespace fukayomi
