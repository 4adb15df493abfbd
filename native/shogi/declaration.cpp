// The declaration win (入玉宣言勝ち): the king in the enemy's camp, ten more pieces there, no check, and enough points.
#include "shogi/board.hpp"

namespace fukayomi {

namespace {

constexpr int CAMP_PIECES = 10;  // besides the king
constexpr int BIG_PIECE_POINTS = 5;

int points_needed(DeclarationRule rule, Color c) {
    if (rule == DeclarationRule::POINTS_24) return 31;
    return c == BLACK ? 28 : 27;
}

}  // namespace

bool Board::can_declare_win(DeclarationRule rule) const {
    if (rule == DeclarationRule::NONE || is_check()) return false;
    const Bitboard camp = far_ranks(turn_, 3);
    if ((pieces(turn_, KING) & camp).none()) return false;
    const Bitboard others = and_not(pieces(turn_) & camp, types_[KING]);
    if (others.count() < CAMP_PIECES) return false;

    const Bitboard big = others & (types_[BISHOP] | types_[ROOK] | types_[HORSE] | types_[DRAGON]);
    int points = others.count() + (BIG_PIECE_POINTS - 1) * big.count();
    for (PieceType t : HAND_ORDER)
        points += hands_[turn_].count(t) * (t == BISHOP || t == ROOK ? BIG_PIECE_POINTS : 1);
    return points >= points_needed(rule, turn_);
}

}  // namespace fukayomi
