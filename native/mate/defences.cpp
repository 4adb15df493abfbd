#include "mate/defences.hpp"

#include <algorithm>

#include "shogi/attacks.hpp"
#include "shogi/movegen.hpp"

namespace fukayomi {

Defences::Defences(const Board& pos, int most)
    : pos_(pos), us_(pos.turn()), them_(~us_), king_(pos.king(them_)), most_(most), without_king_(pos.occupied() ^ Bitboard::of(king_)),
      free_(and_not(king_attacks(king_), pos.pieces(them_))),
      defenders_(and_not(pos.pieces(them_), pos.pinned(them_) | Bitboard::of(king_))), screens_(CheckSquares(pos).screens()) {
    CheckSquares(pos).guards().for_each([&](Square s) {
        const Bitboard attacked = attacks(us_, type_of(pos.piece_on(s)), s, without_king_);
        twice_ |= guarded_ & attacked;
        guarded_ |= attacked;
    });
    const Hand hand = pos.hand(them_);
    for (const PieceType t : HAND_ORDER) in_hand_ += hand.has(t) ? 1 : 0;
}

int Defences::after(Move m) const {
    if (m.is_drop()) return count(m.dropped(), m.to(), guarded_, without_king_);
    if (screens_.has(m.from())) return exact(m);
    const PieceType type = type_of(pos_.piece_on(m.from()));
    const Bitboard left = attacks(us_, type, m.from(), without_king_);
    return count(m.is_promotion() ? promote(type) : type, m.to(), twice_ | and_not(guarded_, left), without_king_ ^ Bitboard::of(m.from()));
}

// After a check from `to` by a piece that is then of this type.
int Defences::count(PieceType t, Square to, Bitboard guarded, Bitboard occupied) const {
    const Bitboard reachable = free_ | (king_attacks(king_) & Bitboard::of(to));
    const int flights = and_not(reachable, guarded | attacks(us_, t, to, occupied)).count();
    return std::clamp(flights < most_ ? flights + others(to) : flights, 1, most_);
}

// Captures on `to` and interpositions, by pieces other than the king.
int Defences::others(Square to) const {
    const Bitboard occupied = pos_.occupied();
    int found = (pos_.attackers(them_, to, occupied) & defenders_).count();
    for (Bitboard middle = between(king_, to); middle.any() && found < most_;)
        found += in_hand_ + (pos_.attackers(them_, middle.pop(), occupied) & defenders_).count();
    return found;
}

// A check that may come from behind the piece that moves.
int Defences::exact(Move m) const {
    Board next = pos_;
    next.do_move(m);
    return std::clamp(count_legal(next), 1, most_);
}

}  // namespace fukayomi
