// No loop over squares and hardly one over pieces: all pieces of a kind step at once, as a set that is shifted, and only
// the sliders are looked at one by one.
#include "encode/planes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "shogi/attacks.hpp"

namespace fukayomi {
namespace {

static_assert(std::endian::native == std::endian::little, "words are copied to the planes as bytes");

constexpr std::size_t PLANES_PER_COLOR = 31;
constexpr std::size_t ATTACKS = 14;       // the first attack plane
constexpr std::size_t ATTACK_COUNTS = 28;  // the first of the planes "attacked at least once, twice, thrice"
constexpr int CHECK_PLANE = 56;
constexpr std::size_t PACKED1_WORDS = (PACKED1_BYTES + 7) / 8;

using ColorPlanes = std::array<Bitboard, PLANES_PER_COLOR>;

// Every square of the set steps one square; those at the edge fall off.
constexpr Bitboard up(Bitboard b) {
    const Bitboard kept = and_not(b, rank_mask(0));
    return {kept.low() >> 1, kept.high() >> 1};
}
constexpr Bitboard down(Bitboard b) {
    const Bitboard kept = and_not(b, rank_mask(8));
    return {kept.low() << 1, kept.high() << 1};
}
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
void fill(const PieceSets& sets, Bitboard occupied, ColorPlanes& planes) {
    for (std::size_t t = PAWN; t < PIECE_TYPES; ++t) planes[t - 1] = sets.of(C, static_cast<PieceType>(t));
    Tally tally;
    count_steps<C>(sets, tally);
    const auto attack_plane = [&](PieceType t) -> Bitboard& { return planes[ATTACKS + t - 1]; };
    attack_plane(PAWN) = forward<C>(sets.of(C, PAWN));
    attack_plane(SILVER) = silver_steps<C>(sets.of(C, SILVER));
    attack_plane(KING) = orthogonal_steps(sets.of(C, KING)) | diagonal_steps(sets.of(C, KING));
    for (const PieceType t : {GOLD, PRO_PAWN, PRO_LANCE, PRO_KNIGHT, PRO_SILVER})
        attack_plane(t) = gold_steps<C>(sets.of(C, t));
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

    planes[ATTACK_COUNTS] = tally.once;
    planes[ATTACK_COUNTS + 1] = tally.twice;
    planes[ATTACK_COUNTS + 2] = tally.thrice;
}

// Writes values at bit offsets that are known when it is compiled; a word is stored once, when it is complete.
class BitStream {
public:
    explicit BitStream(std::uint64_t* words) : words_(words) {}
    template <std::size_t OFFSET, std::size_t WIDTH>
    void put(std::uint64_t value) {
        constexpr std::size_t shift = OFFSET % 64;
        pending_ |= value << shift;
        if constexpr (shift + WIDTH >= 64) {
            words_[OFFSET / 64] = pending_;
            if constexpr (shift + WIDTH > 64)
                pending_ = value >> (64 - shift);
            else
                pending_ = 0;
        }
    }
    template <std::size_t OFFSET>
    void finish() {
        words_[OFFSET / 64] = pending_;
    }

private:
    std::uint64_t* words_;
    std::uint64_t pending_ = 0;
};

void pack(const ColorPlanes& own, const ColorPlanes& opponents, Packed1 out) {
    std::array<std::uint64_t, PACKED1_WORDS> words;
    BitStream stream(words.data());
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        const auto put = [&]<std::size_t PLANE>(const Bitboard& b) {
            stream.put<PLANE * SQUARES, 63>(b.low());
            stream.put<PLANE * SQUARES + 63, 18>(b.high());
        };
        (put.template operator()<I>(own[I]), ...);
        (put.template operator()<PLANES_PER_COLOR + I>(opponents[I]), ...);
    }(std::make_index_sequence<PLANES_PER_COLOR>());
    stream.finish<FEATURES1 * SQUARES>();
    std::memcpy(out.data(), words.data(), PACKED1_BYTES);
}

std::uint64_t hand_bits(Hand hand) {
    constexpr std::array<int, HAND_TYPES> planes = {8, 4, 4, 4, 4, 2, 2};
    std::uint64_t bits = 0;
    int offset = 0;
    for (std::size_t i = 0; i < HAND_TYPES; ++i) {
        const int n = std::min(hand.count(HAND_ORDER[i]), planes[i]);
        bits |= ((1ULL << n) - 1) << offset;
        offset += planes[i];
    }
    return bits;
}

// The sets are as the side to move sees them: BLACK is that side. Returns false if its opponent is in check, which the
// rules do not allow.
bool encode_sets(const PieceSets& sets, Packed1 planes1, Packed2 planes2) {
    Bitboard occupied;
    for (const Bitboard& b : sets.pieces) occupied |= b;
    ColorPlanes own;
    ColorPlanes opponents;
    fill<BLACK>(sets, occupied, own);
    fill<WHITE>(sets, occupied, opponents);
    pack(own, opponents, planes1);
    const bool check = (opponents[ATTACK_COUNTS] & sets.of(BLACK, KING)).any();
    const std::uint64_t bits = hand_bits(sets.hands[BLACK]) | hand_bits(sets.hands[WHITE]) << 28 |
                               static_cast<std::uint64_t>(check) << CHECK_PLANE;
    std::memcpy(planes2.data(), &bits, PACKED2_BYTES);
    return (own[ATTACK_COUNTS] & sets.of(WHITE, KING)).none();
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
    const std::uint64_t low = reversed(b.low()) >> 1;    // bit s is now bit 62 - s; it belongs to 80 - s
    const std::uint64_t high = reversed(b.high()) >> 46;  // bit s is now bit 17 - s, which is where it belongs
    return Bitboard((low << 18) | high, low >> 45) & Bitboard::all();
}

// For each place where something is wrong with the pieces' squares, whatever the side to move.
template <Color C>
bool squares_allowed(const PieceSets& sets) {
    const Bitboard pawns = sets.of(C, PAWN);
    // Only 18 of the 81 squares need to be looked at: a file has two pawns if one of them is behind another.
    Bitboard behind = down(pawns);
    behind |= down(behind);
    behind |= down(down(behind));
    behind |= down(down(down(down(behind))));
    const Bitboard stuck = ((pawns | sets.of(C, LANCE)) & far_ranks(C, 1)) | (sets.of(C, KNIGHT) & far_ranks(C, 2));
    return ((behind & pawns) | stuck).none();
}

}  // namespace

void encode_packed(const Position& pos, Packed1 planes1, Packed2 planes2) {
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
    encode_sets(sets, planes1, planes2);
}

PieceSets encode_packed_hcp(HcpView hcp, Packed1 planes1, Packed2 planes2) {
    const PieceSets sets = read_hcp(hcp, true);
    const bool allowed = encode_sets(sets, planes1, planes2) && squares_allowed<BLACK>(sets) && squares_allowed<WHITE>(sets);
    if (!allowed) decode_hcp(hcp);  // finds the words for what is wrong, and throws
    return sets;
}

void unpack_float(std::span<const std::uint8_t, PACKED1_BYTES> planes1,
                  std::span<const std::uint8_t, PACKED2_BYTES> planes2, float* features1, float* features2) {
    static constexpr auto EIGHT = [] {
        std::array<std::array<float, 8>, 256> table{};
        for (std::size_t byte = 0; byte < 256; ++byte)
            for (std::size_t bit = 0; bit < 8; ++bit) table[byte][bit] = (byte >> bit) & 1 ? 1.0F : 0.0F;
        return table;
    }();
    constexpr std::size_t total = static_cast<std::size_t>(FEATURES1) * SQUARES;
    for (std::size_t i = 0; i < total / 8; ++i) std::memcpy(features1 + i * 8, EIGHT[planes1[i]].data(), sizeof EIGHT[0]);
    std::copy_n(EIGHT[planes1[total / 8]].data(), total % 8, features1 + total / 8 * 8);
    for (std::size_t plane = 0; plane < FEATURES2; ++plane)
        std::fill_n(features2 + plane * SQUARES, SQUARES, EIGHT[planes2[plane / 8]][plane % 8]);
}

}  // namespace fukayomi
