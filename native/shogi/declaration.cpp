// Declarations (入玉宣言): the king in the enemy's camp, ten more pieces there, no check, and enough points. The try rule
// (トライルール) asks for the king alone, on the square where the enemy's king starts.
#include "shogi/board.hpp"

namespace fukayomi {

namespace {

constexpr int CAMP_PIECES = 10;  // besides the king
constexpr int BIG_PIECE_POINTS = 5;
constexpr int SET_POINTS = 54;                          // of all pieces besides the kings
constexpr int POINTS_OF_DRAW = 24, POINTS_OF_WIN = 31;  // under a 24-point rule

bool is_24(DeclarationRule rule) { return rule == DeclarationRule::POINTS_24 || rule == DeclarationRule::POINTS_24_HANDICAP; }

bool counts_handicap(DeclarationRule rule) {
    return rule == DeclarationRule::POINTS_24_HANDICAP || rule == DeclarationRule::POINTS_27_HANDICAP;
}

int points_needed(DeclarationRule rule, Color c) {
    if (is_24(rule)) return POINTS_OF_WIN;
    return c == BLACK ? 28 : 27;
}

int points_of(Hand hand) {
    int points = 0;
    for (PieceType t : HAND_ORDER) points += hand.count(t) * (t == BISHOP || t == ROOK ? BIG_PIECE_POINTS : 1);
    return points;
}

}  // namespace

bool Board::can_declare_win(DeclarationRule rule) const {
    if (rule == DeclarationRule::NONE) return false;
    if (rule == DeclarationRule::TRY) return static_cast<bool>(try_move());
    return declared_points(counts_handicap(rule)) >= points_needed(rule, turn_);
}

bool Board::can_declare_draw(DeclarationRule rule) const {
    if (!is_24(rule)) return false;
    const int points = declared_points(counts_handicap(rule));
    return points >= POINTS_OF_DRAW && points < POINTS_OF_WIN;
}

int Board::declared_points(bool with_handicap) const {
    if (is_check()) return -1;
    const Bitboard camp = far_ranks(turn_, 3);
    if ((pieces(turn_, KING) & camp).none()) return -1;
    const Bitboard others = and_not(pieces(turn_) & camp, types_[KING]);
    if (others.count() < CAMP_PIECES) return -1;

    const Bitboard big_pieces = types_[BISHOP] | types_[ROOK] | types_[HORSE] | types_[DRAGON];
    const auto points_on_board = [&](const Bitboard& all) { return all.count() + (BIG_PIECE_POINTS - 1) * (all & big_pieces).count(); };
    int points = points_on_board(others) + points_of(hands_[turn_]);
    if (with_handicap && turn_ == WHITE)
        points += SET_POINTS - points_on_board(and_not(occupied(), types_[KING])) - points_of(hands_[BLACK]) - points_of(hands_[WHITE]);
    return points;
}

Move Board::try_move() const {
    const Square king = kings_[turn_];
    if (king == NO_SQUARE) return Move();
    const Move m = Move::normal(king, make_square(4, turn_ == BLACK ? 0 : 8), false);
    return is_legal(m) ? m : Move();
}

}  // namespace fukayomi
