#include "shogi/validate.hpp"

#include "shogi/errors.hpp"
#include "shogi/usi_move.hpp"

namespace fukayomi {

namespace {

const char* color_name(Color c) { return c == BLACK ? "Black" : "White"; }

[[noreturn]] void reject(const std::string& reason) { throw ParseError(ParseError::Kind::SFEN, reason); }

void validate_kings(const Board& pos, bool allow_missing_king) {
    for (Color c : {BLACK, WHITE}) {
        const int kings = pos.pieces(c, KING).count();
        if (kings > 1) reject(std::string(color_name(c)) + " has " + std::to_string(kings) + " kings");
        if (kings == 0 && !allow_missing_king) reject(std::string(color_name(c)) + " has no king");
    }
}

void validate_counts(const Board& pos) {
    for (PieceType t : HAND_ORDER) {
        int count = pos.pieces(t).count() + pos.hand(BLACK).count(t) + pos.hand(WHITE).count(t);
        if (can_promote(t)) count += pos.pieces(promote(t)).count();
        if (count > pieces_in_set(t))
            reject(std::to_string(count) + " pieces of the type " + piece_name(t) + ", but a set has only " +
                   std::to_string(pieces_in_set(t)));
    }
}

void validate_pawn_files(const Board& pos) {
    for (Color c : {BLACK, WHITE})
        for (int file = 0; file < 9; ++file)
            if ((pos.pieces(c, PAWN) & file_mask(file)).more_than_one())
                reject(std::string(color_name(c)) + " has two pawns on file " + std::to_string(file + 1) + " (nifu)");
}

void validate_dead_pieces(const Board& pos) {
    for (Color c : {BLACK, WHITE}) {
        const Bitboard steps = (pos.pieces(c, PAWN) | pos.pieces(c, LANCE)) & far_ranks(c, 1);
        const Bitboard dead = steps | (pos.pieces(c, KNIGHT) & far_ranks(c, 2));
        if (dead.none()) continue;
        const Square s = dead.first();
        reject(std::string(color_name(c)) + "'s " + piece_name(type_of(pos.piece_on(s))) + " on " + usi(s) + " can never move");
    }
}

void validate_check(const Board& pos) {
    const Square king = pos.king(~pos.turn());
    if (king == NO_SQUARE || !pos.is_attacked(pos.turn(), king)) return;
    reject(std::string("it is ") + color_name(pos.turn()) + "'s turn, but " + color_name(~pos.turn()) + "'s king is attacked");
}

}  // namespace

void validate(const Board& pos, bool allow_missing_king) {
    validate_kings(pos, allow_missing_king);
    validate_counts(pos);
    validate_pawn_files(pos);
    validate_dead_pieces(pos);
    validate_check(pos);
}

int pieces_in_set(PieceType t) {
    switch (t) {
        case PAWN: return 18;
        case BISHOP:
        case ROOK:
        case KING: return 2;
        default: return 4;
    }
}

const char* piece_name(PieceType t) {
    constexpr std::array<const char*, PIECE_TYPES> names = {
        "no piece", "pawn",          "lance",          "knight",          "silver",          "bishop", "rook",  "gold",
        "king",     "promoted pawn", "promoted lance", "promoted knight", "promoted silver", "horse",  "dragon"};
    return names[t];
}

}  // namespace fukayomi
