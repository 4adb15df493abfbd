// There is no loop over squares and hardly one over pieces: all pieces of a kind step at once, as a set that is shifted;
// only sliders are handled one by one.
#include "encode/piece_sets.hpp"

#include "shogi/attacks.hpp"

namespace fukayomi {
namespace {

// Every square of the set steps one square; those at the edge fall off.
constexpr Bitboard up(Bitboard b) {
    const Bitboard kept = and_not(b, rank_mask(0));
    return {kept.low() >> 1, kept.high() >> 1};
}
constexpr Bitboard down(Bitboard b) { return step_down(b); }
constexpr Bitboard left(Bitboard b) {  // to the higher files
    return Bitboard(b.low() << 9, (b.high() << 9) | (b.low() >> 54)) & Bitboard::all();
}
constexpr Bitboard right(Bitboard b) { return {(b.low() >> 9) | ((b.high() & 0x1FF) << 54), b.high() >> 9}; }
template <Color C>
constexpr Bitboard forward(Bitboard b) {
    return C == BLACK ? up(b) : down(b);
}
template <Color C>
constexpr Bitboard backward(Bitboard b) {
    return forward<~C>(b);
}
constexpr Bitboard sideways(Bitboard b) { return left(b) | right(b); }

template <Color C>
constexpr Bitboard silver_steps(Bitboard b) {
    const Bitboard sides = sideways(b);
    return forward<C>(sides | b) | backward<C>(sides);
}
template <Color C>
constexpr Bitboard gold_steps(Bitboard b) {
    const Bitboard sides = sideways(b);
    return forward<C>(sides | b) | sides | backward<C>(b);
}
constexpr Bitboard orthogonal_steps(Bitboard b) { return up(b) | down(b) | sideways(b); }
constexpr Bitboard diagonal_steps(Bitboard b) {
    const Bitboard sides = sideways(b);
    return up(sides) | down(sides);
}

// Squares that sets were added to at least once, twice, thrice.
struct Tally {
    Bitboard once, twice, thrice;
    void add(Bitboard b) {
        thrice |= twice & b;
        twice |= once & b;
        once |= b;
    }
};

// Two pieces never reach one square by a step in the same direction, so the steps of all pieces in one direction are
// counted by one addition.
template <Color C>
void count_steps(const PieceSets& sets, Tally& tally) {
    const auto of = [&](PieceType t) { return sets.of(C, t); };
    const Bitboard gold_king = of(GOLD) | of(PRO_PAWN) | of(PRO_LANCE) | of(PRO_KNIGHT) | of(PRO_SILVER) | of(KING);
    const Bitboard orthogonal = gold_king | of(HORSE);
    const Bitboard ahead = gold_king | of(SILVER) | of(DRAGON);
    const Bitboard behind = of(KING) | of(SILVER) | of(DRAGON);
    tally.add(forward<C>(orthogonal | of(PAWN) | of(SILVER)));
    tally.add(backward<C>(orthogonal));
    tally.add(left(orthogonal));
    tally.add(right(orthogonal));
    tally.add(forward<C>(left(ahead)));
    tally.add(forward<C>(right(ahead)));
    tally.add(backward<C>(left(behind)));
    tally.add(backward<C>(right(behind)));
}

template <Color C>
AttackPlanes attack_planes(const PieceSets& sets, Bitboard occupied) {
    AttackPlanes planes;
    Tally tally;
    count_steps<C>(sets, tally);
    const auto attack_plane = [&](PieceType t) -> Bitboard& { return planes[t - PAWN]; };
    attack_plane(PAWN) = forward<C>(sets.of(C, PAWN));
    attack_plane(SILVER) = silver_steps<C>(sets.of(C, SILVER));
    attack_plane(KING) = orthogonal_steps(sets.of(C, KING)) | diagonal_steps(sets.of(C, KING));
    for (const PieceType t : {GOLD, PRO_PAWN, PRO_LANCE, PRO_KNIGHT, PRO_SILVER}) attack_plane(t) = gold_steps<C>(sets.of(C, t));
    const Bitboard jump = forward<C>(forward<C>(sets.of(C, KNIGHT)));
    attack_plane(KNIGHT) = sideways(jump);
    tally.add(left(jump));
    tally.add(right(jump));

    const auto slide = [&](PieceType t, Bitboard steps, auto&& attacks_from) {
        sets.of(C, t).for_each([&](Square s) {
            const Bitboard reached = attacks_from(s);
            tally.add(reached);
            steps |= reached;
        });
        attack_plane(t) = steps;
    };
    const auto bishop = [&](Square s) { return bishop_attacks(s, occupied); };
    const auto rook = [&](Square s) { return rook_attacks(s, occupied); };
    slide(LANCE, Bitboard(), [&](Square s) { return lance_attacks(C, s, occupied); });
    slide(BISHOP, Bitboard(), bishop);
    slide(ROOK, Bitboard(), rook);
    slide(HORSE, orthogonal_steps(sets.of(C, HORSE)), bishop);
    slide(DRAGON, diagonal_steps(sets.of(C, DRAGON)), rook);

    planes[ATTACKED] = tally.once;
    planes[ATTACKED + 1] = tally.twice;
    planes[ATTACKED + 2] = tally.thrice;
    return planes;
}

constexpr std::uint64_t reversed(std::uint64_t x) {  // the lowest bit becomes the highest
    x = ((x >> 1) & 0x5555555555555555ULL) | ((x & 0x5555555555555555ULL) << 1);
    x = ((x >> 2) & 0x3333333333333333ULL) | ((x & 0x3333333333333333ULL) << 2);
    x = ((x >> 4) & 0x0F0F0F0F0F0F0F0FULL) | ((x & 0x0F0F0F0F0F0F0F0FULL) << 4);
    x = ((x >> 8) & 0x00FF00FF00FF00FFULL) | ((x & 0x00FF00FF00FF00FFULL) << 8);
    x = ((x >> 16) & 0x0000FFFF0000FFFFULL) | ((x & 0x0000FFFF0000FFFFULL) << 16);
    return (x >> 32) | (x << 32);
}

constexpr Bitboard rotated(Bitboard b) {
    const std::uint64_t low = reversed(b.low()) >> 1;     // bit s is now bit 62 - s; it belongs to 80 - s
    const std::uint64_t high = reversed(b.high()) >> 46;  // bit s is now bit 17 - s, which is where it belongs
    return Bitboard((low << 18) | high, low >> 45) & Bitboard::all();
}

}  // namespace

AttackPlanes attack_planes(const PieceSets& sets, Color by, Bitboard occupied) {
    return by == BLACK ? attack_planes<BLACK>(sets, occupied) : attack_planes<WHITE>(sets, occupied);
}

PieceSets piece_sets(const Board& pos) {
    PieceSets sets;
    sets.turn = pos.turn();
    const Color mover = pos.turn();
    for (int type = PAWN; type < PIECE_TYPES; ++type) {
        const auto t = static_cast<PieceType>(type);
        for (const Color c : {BLACK, WHITE}) {
            const Bitboard b = pos.pieces(c == BLACK ? mover : ~mover, t);
            sets.pieces[make_piece(c, t)] = mover == BLACK ? b : rotated(b);
        }
    }
    sets.hands = {pos.hand(mover), pos.hand(~mover)};
    return sets;
}

}  // namespace fukayomi
