#include "shogi/game.hpp"

#include "shogi/illegal.hpp"

#include "shogi/errors.hpp"
#include "shogi/usi_move.hpp"

namespace fukayomi {

void Game::push(Move m) {
    if (!position_.is_legal(m))
        throw ParseError(ParseError::Kind::ILLEGAL_MOVE,
                         "illegal move " + quoted(usi(m)) + " in " + quoted(position_.sfen()) + ": " +
                             why_illegal(position_, m));
    push_legal(m);
}

void Game::push_legal(Move m) {
    Undo& undo = undos_.emplace_back();
    position_.do_move(m, undo);
    history_.push(position_);
}

Move Game::pop() {
    if (undos_.empty()) throw std::out_of_range("no move to take back");
    const Move m = undos_.back().move;
    position_.undo_move(undos_.back());
    undos_.pop_back();
    history_.pop();
    return m;
}

}  // namespace fukayomi
