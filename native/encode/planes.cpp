// There is no loop over squares and hardly one over pieces: all pieces of a kind step at once, as a set that is shifted;
// only sliders are handled one by one.
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

constexpr std::size_t PIECE_PLANES = PIECE_TYPES - 1;       // of a colour
constexpr std::size_t ATTACK_PLANES = PIECE_PLANES + 3;      // by type, then attacked at least once, twice, thrice
constexpr std::size_t ATTACKED = PIECE_PLANES;               // at least once, among the attack planes
constexpr std::size_t PLANES_PER_COLOR = PIECE_PLANES + ATTACK_PLANES;
constexpr int CHECK_PLANE = 56;

using AttackPlanes = std::array<Bitboard, ATTACK_PLANES>;

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
AttackPlanes attack_planes(const PieceSets& sets, Bitboard occupied) {
    AttackPlanes planes;
    Tally tally;
    count_steps<C>(sets, tally);
    const auto attack_plane = [&](PieceType t) -> Bitboard& { return planes[t - PAWN]; };
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

    planes[ATTACKED] = tally.once;
    planes[ATTACKED + 1] = tally.twice;
    planes[ATTACKED + 2] = tally.thrice;
    return planes;
}

// Writes values at bit offsets that are known when it is compiled; a word is stored once, when it is complete.
class BitStream {
public:
    explicit BitStream(std::uint8_t* bytes) : bytes_(bytes) {}
    template <std::size_t OFFSET, std::size_t WIDTH>
    void put(std::uint64_t value) {
        constexpr std::size_t shift = OFFSET % 64;
        pending_ |= value << shift;
        if constexpr (shift + WIDTH >= 64) {
            std::memcpy(bytes_ + OFFSET / 64 * 8, &pending_, 8);
            if constexpr (shift + WIDTH > 64)
                pending_ = value >> (64 - shift);
            else
                pending_ = 0;
        }
    }
    template <std::size_t OFFSET>
    void put(Bitboard b) {
        put<OFFSET, 63>(b.low());
        put<OFFSET + 63, 18>(b.high());
    }
    // Stores what is left of the first OFFSET bits.
    template <std::size_t OFFSET>
    void finish() {
        std::memcpy(bytes_ + OFFSET / 64 * 8, &pending_, (OFFSET % 64 + 7) / 8);
    }

private:
    std::uint8_t* bytes_;
    std::uint64_t pending_ = 0;
};

template <Color C>
void pack(const PieceSets& sets, const AttackPlanes& attacks, BitStream& stream) {
    constexpr std::size_t first = C * PLANES_PER_COLOR;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (stream.put<(first + I) * SQUARES>(sets.of(C, static_cast<PieceType>(PAWN + I))), ...);
    }(std::make_index_sequence<PIECE_PLANES>());
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (stream.put<(first + PIECE_PLANES + I) * SQUARES>(attacks[I]), ...);
    }(std::make_index_sequence<ATTACK_PLANES>());
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

// Whether no file has two pawns and every piece can move one day: what the rules ask of one side's squares.
template <Color C>
bool squares_allowed(const PieceSets& sets) {
    const Bitboard pawns = sets.of(C, PAWN);
    Bitboard behind = down(pawns);
    behind |= down(behind);
    behind |= down(down(behind));
    behind |= down(down(down(down(behind))));
    const Bitboard stuck = ((pawns | sets.of(C, LANCE)) & far_ranks(C, 1)) | (sets.of(C, KNIGHT) & far_ranks(C, 2));
    return ((behind & pawns) | stuck).none();
}

}  // namespace

bool encode_packed_sets(const PieceSets& sets, Packed1 planes1, Packed2 planes2) {
    Bitboard occupied;
    for (const Bitboard& b : sets.pieces) occupied |= b;
    const AttackPlanes own = attack_planes<BLACK>(sets, occupied);
    const AttackPlanes opponents = attack_planes<WHITE>(sets, occupied);
    BitStream stream(planes1.data());
    pack<BLACK>(sets, own, stream);
    pack<WHITE>(sets, opponents, stream);
    stream.finish<FEATURES1 * SQUARES>();
    const bool check = (opponents[ATTACKED] & sets.of(BLACK, KING)).any();
    const std::uint64_t bits = hand_bits(sets.hands[BLACK]) | hand_bits(sets.hands[WHITE]) << 28 |
                               static_cast<std::uint64_t>(check) << CHECK_PLANE |
                               static_cast<std::uint64_t>(sets.turn == WHITE) << COLOUR_PLANE;
    std::memcpy(planes2.data(), &bits, PACKED2_BYTES);
    return (own[ATTACKED] & sets.of(WHITE, KING)).none();
}

void encode_packed(const Board& pos, Packed1 planes1, Packed2 planes2) {
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
    encode_packed_sets(sets, planes1, planes2);
}

PieceSets encode_packed_hcp(HcpView hcp, Packed1 planes1, Packed2 planes2) {
    const PieceSets sets = read_hcp(hcp, hcp_turn(hcp));
    const bool allowed =
        encode_packed_sets(sets, planes1, planes2) && squares_allowed<BLACK>(sets) && squares_allowed<WHITE>(sets);
    if (!allowed) decode_hcp(hcp);  // finds the words for what is wrong, and throws
    return sets;
}

void unpack_float(std::span<const std::uint8_t, PACKED1_BYTES> planes1,
                  std::span<const std::uint8_t, PACKED2_BYTES> planes2, std::size_t count2, float* features1,
                  float* features2) {
    static constexpr auto EIGHT = [] {
        std::array<std::array<float, 8>, 256> table{};
        for (std::size_t byte = 0; byte < 256; ++byte)
            for (std::size_t bit = 0; bit < 8; ++bit) table[byte][bit] = (byte >> bit) & 1 ? 1.0F : 0.0F;
        return table;
    }();
    constexpr std::size_t total = static_cast<std::size_t>(FEATURES1) * SQUARES;
    for (std::size_t i = 0; i < total / 8; ++i)
        std::memcpy(features1 + i * 8, EIGHT[planes1[i]].data(), sizeof EIGHT[0]);
    std::copy_n(EIGHT[planes1[total / 8]].data(), total % 8, features1 + total / 8 * 8);
    for (std::size_t plane = 0; plane < count2; ++plane)
        std::fill_n(features2 + plane * SQUARES, SQUARES, EIGHT[planes2[plane / 8]][plane % 8]);
}

}  // namespace fukayomi
