#include "encode/planes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "encode/piece_sets.hpp"
#include "shogi/errors.hpp"

namespace fukayomi {
namespace {

static_assert(std::endian::native == std::endian::little, "words are copied to the planes as bytes");

constexpr std::size_t PLANES_PER_COLOR = PIECE_PLANES + ATTACK_PLANES;
constexpr int CHECK_PLANE = 56;

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

constexpr std::array<int, HAND_TYPES> HAND_PLANES = {8, 4, 4, 4, 4, 2, 2};

std::uint64_t hand_bits(Hand hand) {
    std::uint64_t bits = 0;
    int offset = 0;
    for (std::size_t i = 0; i < HAND_TYPES; ++i) {
        const int n = std::min(hand.count(HAND_ORDER[i]), HAND_PLANES[i]);
        bits |= ((1ULL << n) - 1) << offset;
        offset += HAND_PLANES[i];
    }
    return bits;
}

// Whether no file has two pawns and every piece can move one day: what the rules ask of one side's squares.
template <Color C>
bool squares_allowed(const PieceSets& sets) {
    const Bitboard pawns = sets.of(C, PAWN);
    Bitboard behind = step_down(pawns);
    behind |= step_down(behind);
    behind |= step_down(step_down(behind));
    behind |= step_down(step_down(step_down(step_down(behind))));
    const Bitboard stuck = ((pawns | sets.of(C, LANCE)) & far_ranks(C, 1)) | (sets.of(C, KNIGHT) & far_ranks(C, 2));
    return ((behind & pawns) | stuck).none();
}

}  // namespace

bool encode_packed_sets(const PieceSets& sets, Packed1 planes1, Packed2 planes2) {
    Bitboard occupied;
    for (const Bitboard& b : sets.pieces) occupied |= b;
    const AttackPlanes own = attack_planes(sets, BLACK, occupied);
    const AttackPlanes opponents = attack_planes(sets, WHITE, occupied);
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

void encode_packed(const Board& pos, Packed1 planes1, Packed2 planes2) { encode_packed_sets(piece_sets(pos), planes1, planes2); }

PieceSets encode_packed_hcp(HcpView hcp, Packed1 planes1, Packed2 planes2) {
    const PieceSets sets = read_hcp(hcp, hcp_turn(hcp));
    const bool allowed = encode_packed_sets(sets, planes1, planes2) && squares_allowed<BLACK>(sets) && squares_allowed<WHITE>(sets);
    if (!allowed) decode_hcp(hcp);  // finds the words for what is wrong, and throws
    return sets;
}

PieceSets decode_packed(std::span<const std::uint8_t, PACKED1_BYTES> planes1, std::span<const std::uint8_t, PACKED2_BYTES> planes2) {
    PieceSets sets{};
    Bitboard occupied;
    for (const Color c : {BLACK, WHITE})
        for (std::size_t i = 0; i < PIECE_PLANES; ++i) {
            const std::size_t first = (c * PLANES_PER_COLOR + i) * SQUARES, shift = first % 8;
            std::uint64_t low, high;
            std::memcpy(&low, planes1.data() + first / 8, 8);
            std::memcpy(&high, planes1.data() + first / 8 + 8, 8);
            if (shift > 0) low = low >> shift | high << (64 - shift);
            high >>= shift;
            const Bitboard squares(low & ((1ULL << 63) - 1), (low >> 63 | high << 1) & ((1ULL << 18) - 1));
            if ((squares & occupied).any()) throw ParseError(ParseError::Kind::PACKED, "two pieces of the planes share a square");
            occupied |= squares;
            sets.pieces[make_piece(c, static_cast<PieceType>(PAWN + i))] = squares;
        }
    std::uint64_t bits;
    std::memcpy(&bits, planes2.data(), PACKED2_BYTES);
    for (const Color c : {BLACK, WHITE})
        for (std::size_t i = 0; i < HAND_TYPES; ++i) {
            const int held = std::popcount(bits & ((1ULL << HAND_PLANES[i]) - 1));
            for (int n = 0; n < held; ++n) sets.hands[c].add(HAND_ORDER[i]);
            bits >>= HAND_PLANES[i];
        }
    return sets;
}

void unpack_float(std::span<const std::uint8_t, PACKED1_BYTES> planes1, std::span<const std::uint8_t, PACKED2_BYTES> planes2,
                  std::size_t count2, float* features1, float* features2) {
    static constexpr auto EIGHT = [] {
        std::array<std::array<float, 8>, 256> table{};
        for (std::size_t byte = 0; byte < 256; ++byte)
            for (std::size_t bit = 0; bit < 8; ++bit) table[byte][bit] = (byte >> bit) & 1 ? 1.0F : 0.0F;
        return table;
    }();
    constexpr std::size_t total = static_cast<std::size_t>(FEATURES1) * SQUARES;
    for (std::size_t i = 0; i < total / 8; ++i) std::memcpy(features1 + i * 8, EIGHT[planes1[i]].data(), sizeof EIGHT[0]);
    std::copy_n(EIGHT[planes1[total / 8]].data(), total % 8, features1 + total / 8 * 8);
    for (std::size_t plane = 0; plane < count2; ++plane)
        std::fill_n(features2 + plane * SQUARES, SQUARES, EIGHT[planes2[plane / 8]][plane % 8]);
}

}  // namespace fukayomi
