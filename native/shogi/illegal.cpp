#include "shogi/illegal.hpp"

#include "shogi/attacks.hpp"
#include "shogi/errors.hpp"
#include "shogi/usi_move.hpp"
#include "shogi/validate.hpp"

namespace fukayomi {

namespace {

bool leaves_king_attacked(const Board& pos, Bitboard occupied, Square to, bool king_moves) {
    const Color us = pos.turn();
    const Square king = king_moves ? to : pos.king(us);
    return king != NO_SQUARE && and_not(pos.attackers(~us, king, occupied), Bitboard::of(to)).any();
}

std::string why_illegal_drop(const Board& pos, Move m) {
    const Color us = pos.turn();
    const PieceType type = m.dropped();
    const std::string name = piece_name(type);
    if (m.is_promotion()) return "a dropped piece cannot promote at once";
    if (!pos.hand(us).has(type)) return "there is no " + name + " in hand";
    if (pos.piece_on(m.to()) != NO_PIECE) return usi(m.to()) + " is occupied";
    if (far_ranks(us, dead_ranks(type)).has(m.to())) return "the " + name + " could never move from " + usi(m.to());
    if (type == PAWN && (pos.pieces(us, PAWN) & file_mask(file_of(m.to()))).any())
        return "there is a pawn of the same side on the file (nifu)";
    if (leaves_king_attacked(pos, pos.occupied() | Bitboard::of(m.to()), m.to(), false)) return "the king would be in check";
    return "a dropped pawn must not mate (uchifuzume)";
}

std::string why_illegal_board_move(const Board& pos, Move m) {
    const Color us = pos.turn();
    const Piece piece = pos.piece_on(m.from());
    const PieceType type = type_of(piece);
    const std::string name = piece_name(type);
    if (piece == NO_PIECE) return usi(m.from()) + " is empty";
    if (color_of(piece) != us) return "the piece on " + usi(m.from()) + " is the opponent's";
    if (pos.pieces(us).has(m.to())) return "a piece of the same side is on " + usi(m.to());
    if (!attacks(us, type, m.from(), pos.occupied()).has(m.to())) return "the " + name + " cannot reach " + usi(m.to());
    if (m.is_promotion()) {
        if (!can_promote(type)) return "the " + name + " cannot promote";
        const Bitboard camp = far_ranks(us, 3);
        if (!camp.has(m.from()) && !camp.has(m.to())) return "the move does not touch the promotion zone";
    } else if (far_ranks(us, dead_ranks(type)).has(m.to())) {
        return "the " + name + " must promote on " + usi(m.to());
    }
    const Bitboard occupied = and_not(pos.occupied(), Bitboard::of(m.from())) | Bitboard::of(m.to());
    if (leaves_king_attacked(pos, occupied, m.to(), type == KING)) return "the king would be in check";
    return "it is against the rules";
}

}  // namespace

void require_legal(const Board& pos, Move m) {
    if (pos.is_legal(m)) return;
    throw ParseError(ParseError::Kind::ILLEGAL_MOVE,
                     "illegal move " + quoted(usi(m)) + " in " + quoted(pos.sfen()) + ": " + why_illegal(pos, m));
}

std::string why_illegal(const Board& pos, Move m) {
    if (m.to() >= SQUARES) return "it has no target square";
    if (m.is_drop()) {
        if (m.dropped() > GOLD) return "it names no piece that can be dropped";
        return why_illegal_drop(pos, m);
    }
    return why_illegal_board_move(pos, m);
}

}  // namespace fukayomi
