#include "shogi/board.hpp"

#include "shogi/attacks.hpp"
#include "shogi/movegen.hpp"
#include "shogi/validate.hpp"
#include "shogi/zobrist.hpp"

namespace fukayomi {

Board::Board() { *this = from_sfen(START_SFEN); }

Board Board::empty() { return Board(Empty{}); }

void Board::put(Piece p, Square s) {
    const Bitboard b = Bitboard::of(s);
    types_[type_of(p)] |= b;
    colors_[color_of(p)] |= b;
    board_[static_cast<std::size_t>(s)] = p;
    board_key_ ^= ZOBRIST.piece[p][static_cast<std::size_t>(s)];
    if (type_of(p) == KING) kings_[color_of(p)] = s;
}

void Board::remove(Piece p, Square s) {
    const Bitboard b = Bitboard::of(s);
    types_[type_of(p)] ^= b;
    colors_[color_of(p)] ^= b;
    board_[static_cast<std::size_t>(s)] = NO_PIECE;
    board_key_ ^= ZOBRIST.piece[p][static_cast<std::size_t>(s)];
}

void Board::set_hand(Color c, PieceType t, int count) {
    while (hands_[c].count(t) > 0) hands_[c].remove(t);
    for (int i = 0; i < count; ++i) hands_[c].add(t);
}

void Board::finish(bool allow_missing_king) {
    board_key_ = turn_ == WHITE ? ZOBRIST.turn : 0;
    occupied().for_each([this](Square s) { board_key_ ^= ZOBRIST.piece[piece_on(s)][static_cast<std::size_t>(s)]; });
    update_checkers();
    validate(*this, allow_missing_king);
}

std::uint64_t Board::key() const { return board_key_ ^ hands_key(hands_[BLACK], hands_[WHITE]); }

void Board::update_checkers() { checkers_ = kings_[turn_] == NO_SQUARE ? Bitboard() : attackers(~turn_, kings_[turn_], occupied()); }

Bitboard Board::attackers(Color by, Square s, Bitboard occupied) const {
    // A piece of `by` attacks s if the same piece of the other side, standing on s, would attack it.
    const Color from = ~by;
    Bitboard found = (pawn_attacks(from, s) & types_[PAWN]) | (knight_attacks(from, s) & types_[KNIGHT]) |
                     (silver_attacks(from, s) & types_[SILVER]) | (gold_attacks(from, s) & golds()) |
                     (king_attacks(s) & (types_[KING] | types_[HORSE] | types_[DRAGON]));
    const Bitboard bishops = (types_[BISHOP] | types_[HORSE]) & colors_[by];
    if ((bishops & bishop_lines(s)).any()) found |= bishop_attacks(s, occupied) & bishops;
    const Bitboard rooks = (types_[ROOK] | types_[DRAGON]) & colors_[by];
    if ((rooks & rook_lines(s)).any()) found |= rook_attacks(s, occupied) & rooks;
    const Bitboard lances = types_[LANCE] & ahead(from, s) & colors_[by];
    if (lances.any()) found |= lance_attacks(from, s, occupied) & lances;
    return found & colors_[by];
}

Bitboard Board::pinned(Color c) const {
    const Square king = kings_[c];
    Bitboard result;
    if (king == NO_SQUARE) return result;
    const Bitboard enemies = colors_[~c];
    const Bitboard snipers = (((types_[BISHOP] | types_[HORSE]) & bishop_lines(king)) |
                              ((types_[ROOK] | types_[DRAGON]) & rook_lines(king)) | (types_[LANCE] & ahead(c, king))) &
                             enemies;
    const Bitboard all = occupied();
    snipers.for_each([&](Square s) {
        const Bitboard blockers = between(king, s) & all;
        if (blockers.any() && !blockers.more_than_one()) result |= blockers & colors_[c];
    });
    return result;
}

bool Board::gives_check(Move m) const {
    Board next = *this;
    next.do_move(m);
    return next.is_check();
}

void Board::do_move(Move m, Undo& undo) {
    const Color us = turn_;
    const Square to = m.to();
    undo.move = m;
    undo.board_key = board_key_;
    undo.checkers = checkers_;
    undo.captured = NO_PIECE;
    if (m.is_drop()) {
        undo.moved = m.dropped();
        hands_[us].remove(undo.moved);
        put(make_piece(us, undo.moved), to);
    } else {
        const Piece moved = piece_on(m.from());
        const Piece captured = piece_on(to);
        undo.moved = type_of(moved);
        undo.captured = captured;
        if (captured != NO_PIECE) {
            remove(captured, to);
            hands_[us].add(unpromote(type_of(captured)));
        }
        remove(moved, m.from());
        put(m.is_promotion() ? static_cast<Piece>(moved | PROMOTED) : moved, to);
    }
    board_key_ ^= ZOBRIST.turn;
    turn_ = ~us;
    ++ply_;
    update_checkers();
}

void Board::undo_move(const Undo& undo) {
    turn_ = ~turn_;
    --ply_;
    const Move m = undo.move;
    const Square to = m.to();
    remove(piece_on(to), to);
    if (m.is_drop()) {
        hands_[turn_].add(undo.moved);
    } else {
        put(make_piece(turn_, undo.moved), m.from());
        if (undo.captured != NO_PIECE) {
            put(undo.captured, to);
            hands_[turn_].remove(unpromote(type_of(undo.captured)));
        }
    }
    board_key_ = undo.board_key;
    checkers_ = undo.checkers;
}

}  // namespace fukayomi
