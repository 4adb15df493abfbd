#include "shogi/position.hpp"

#include <algorithm>
#include <stdexcept>

#include "shogi/errors.hpp"
#include "shogi/illegal.hpp"
#include "shogi/usi_move.hpp"

namespace fukayomi {

namespace {

constexpr std::string_view SPACES = " \t\r\n";

// Cuts the next word off the text; empty at its end.
std::string_view next_word(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(SPACES), text.size()));
    const std::string_view word = text.substr(0, text.find_first_of(SPACES));
    text.remove_prefix(word.size());
    return word;
}

// The text up to the word `moves`, which is cut off with it.
std::string_view before_moves(std::string_view& text) {
    const std::string_view whole = text;
    for (;;) {
        const std::string_view rest = text;
        const std::string_view word = next_word(text);
        if (word.empty() || word == "moves") return whole.substr(0, whole.size() - rest.size());
    }
}

Board start_of(std::string_view start) {
    const std::string_view whole = start;
    const std::string_view kind = next_word(start);
    if (kind == "sfen") return Board::from_sfen(start);
    if (kind == "startpos" && next_word(start).empty()) return Board();
    throw ParseError(ParseError::Kind::SFEN,
                     "invalid USI position " + quoted(whole) + ": expected 'startpos' or 'sfen SFEN', then 'moves ...'");
}

}  // namespace

Position Position::from_usi(std::string_view text) {
    std::string_view rest = text;
    if (next_word(rest) == "position") text = rest;  // the whole command
    Position position(start_of(before_moves(text)));
    for (std::string_view word = next_word(text); !word.empty(); word = next_word(text)) position.push(move_from_usi(word));
    return position;
}

std::string Position::usi() const {
    const std::string sfen = start_.sfen();
    std::string out = "startpos";
    if (sfen != START_SFEN) {
        out = "sfen ";
        out += sfen;
    }
    if (!undos_.empty()) out += " moves";
    for (const Undo& undo : undos_) {
        out += ' ';
        out += fukayomi::usi(undo.move);
    }
    return out;
}

void Position::push(Move m) {
    require_legal(board_, m);
    push_legal(m);
}

void Position::push_legal(Move m) {
    Undo& undo = undos_.emplace_back();
    board_.do_move(m, undo);
    history_.push(board_);
}

Move Position::pop() {
    if (undos_.empty()) throw std::out_of_range("no move to take back");
    const Move m = undos_.back().move;
    board_.undo_move(undos_.back());
    undos_.pop_back();
    history_.pop();
    return m;
}

}  // namespace fukayomi
