#include "sparse/features.hpp"

#include <algorithm>
#include <cstring>

#include "encode/labels.hpp"
#include "shogi/attacks.hpp"

namespace fukayomi {
namespace {

constexpr std::size_t ONCE = ATTACKED, TWICE = ATTACKED + 1;

// What a piece is worth in an exchange, by PieceType.
constexpr std::array<int, PIECE_TYPES> EXCHANGE_VALUES = {0, 1, 3, 3, 5, 8, 9, 6, 100, 2, 4, 4, 6, 11, 13};

// All types from the most valuable to the least.
constexpr auto BY_VALUE = [] {
    std::array<PieceType, PIECE_TYPES - 1> types{};
    for (int t = PAWN; t < PIECE_TYPES; ++t) types[static_cast<std::size_t>(t - 1)] = static_cast<PieceType>(t);
    std::sort(types.begin(), types.end(), [](PieceType a, PieceType b) {
        return EXCHANGE_VALUES[a] != EXCHANGE_VALUES[b] ? EXCHANGE_VALUES[a] > EXCHANGE_VALUES[b] : a > b;
    });
    return types;
}();

constexpr std::array<int, HAND_TYPES> HAND_PLANES = {8, 4, 4, 4, 4, 2, 2};

constexpr std::size_t kind_of(Color c, PieceType t) { return static_cast<std::size_t>(c) * PIECE_PLANES + t - PAWN; }

// The squares of a king's zone.
constexpr auto ZONES = [] {
    std::array<Bitboard, SQUARES> zones{};
    constexpr int reach = ZONE_SIDE / 2;
    for (Square s = 0; s < SQUARES; ++s)
        for (int file = std::max(0, file_of(s) - reach); file <= std::min(8, file_of(s) + reach); ++file)
            for (int rank = std::max(0, rank_of(s) - reach); rank <= std::min(8, rank_of(s) + reach); ++rank)
                zones[static_cast<std::size_t>(s)].set(make_square(file, rank));
    return zones;
}();

// By a byte of bits: eight bytes of 0 or 1.
constexpr auto BYTES_OF_BITS = [] {
    std::array<std::uint64_t, 256> table{};
    for (std::size_t bits = 0; bits < table.size(); ++bits)
        for (std::size_t i = 0; i < 8; ++i) table[bits] |= std::uint64_t{bits >> i & 1} << 8 * i;
    return table;
}();

// 7 x 7 squares around a king, or the rest of the board: [king][square], as the own side sees them.
using KingPlaces = std::array<std::array<std::uint8_t, SQUARES>, SQUARES + 1>;
constexpr KingPlaces king_places(bool is_mirrored) {
    KingPlaces places{};
    for (Square king = 0; king <= SQUARES; ++king)
        for (Square to = 0; to < SQUARES; ++to) {
            const int left = file_of(to) - file_of(king), file = (is_mirrored ? -left : left) + 3;
            const int rank = rank_of(to) - rank_of(king) + 3;
            const bool is_near = king < SQUARES && file >= 0 && file <= 6 && rank >= 0 && rank <= 6;
            places[static_cast<std::size_t>(king)][static_cast<std::size_t>(to)] =
                static_cast<std::uint8_t>(is_near ? file * 7 + rank : static_cast<int>(KING_PLACES) - 1);
        }
    return places;
}
constexpr std::array<KingPlaces, 2> KING_PLACES_OF = {king_places(false), king_places(true)};

// The first row of each group for what moves.
constexpr auto FIRST_ROWS_OF = [] {
    std::array<std::array<std::uint16_t, MOVE_GROUPS>, MOVERS> table{};
    for (std::size_t mover = 0; mover < MOVERS; ++mover)
        for (std::size_t g = 0; g < MOVE_GROUPS; ++g) {
            std::size_t place = mover * (MOVE_GROUP_ROWS[g] / MOVERS);
            if (g == 2) place = mover < PIECE_PLANES ? mover * PIECE_TYPES * 2 : PIECE_PLANES * PIECE_TYPES * 2 + mover - PIECE_PLANES;
            table[mover][g] = static_cast<std::uint16_t>(FIRST_MOVE_ROWS[g] + place);
        }
    return table;
}();

// A threat's worth: the piece's value, then whether it is undefended, then the lower type; the lowest bits have its row in the group.
constexpr std::uint16_t threat_worth(std::size_t type, bool is_defended) {
    const std::size_t row = type * 2 + std::size_t{is_defended};
    const std::size_t order = (static_cast<std::size_t>(std::min(EXCHANGE_VALUES[type], 20)) * 2 + std::size_t{!is_defended}) * 16 + PIECE_TYPES - type;
    return static_cast<std::uint16_t>(order * 32 + row);
}
static_assert(threat_worth(KING, false) > threat_worth(KING, true) && threat_worth(KING, true) > threat_worth(DRAGON, false));

}  // namespace

void SparseReader::read(const PieceSets& sets) {
    sets_ = sets;
    contents_.fill(0);
    colors_ = {};
    for (const Color c : {BLACK, WHITE})
        for (int t = PAWN; t < PIECE_TYPES; ++t) {
            const Bitboard& squares = sets_.of(c, static_cast<PieceType>(t));
            colors_[c] |= squares;
            const auto content = static_cast<std::uint8_t>(1 + kind_of(c, static_cast<PieceType>(t)));
            squares.for_each([&](Square s) { contents_[static_cast<std::size_t>(s)] = content; });
        }
    occupied_ = colors_[BLACK] | colors_[WHITE];
    for (const Color c : {BLACK, WHITE}) {
        attacks_[c] = attack_planes(sets_, c, occupied_);
        const Bitboard& king = sets_.of(c, KING);
        kings_[c] = king.any() ? king.first() : NO_SQUARE;
    }
    count_attackers();
    least_.fill(NO_PIECE_TYPE);
    for (const PieceType t : BY_VALUE)
        attacks_[WHITE][t - PAWN].for_each([&](Square s) { least_[static_cast<std::size_t>(s)] = t; });
    worth_.fill(0);
    colors_[WHITE].for_each([&](Square s) {
        const auto at = static_cast<std::size_t>(s);
        worth_[at] = threat_worth(contents_[at] - PIECE_PLANES, attackers_[at] % 3U != 0);
    });
    is_mirrored_ = kings_[BLACK] != NO_SQUARE && file_of(kings_[BLACK]) > 4;
}

void SparseReader::count_attackers() {
    // Eight squares at once, a byte each.
    std::array<std::uint64_t, ROUNDED_SQUARES / 8> counts{};
    for (const Color c : {BLACK, WHITE})
        for (const std::size_t plane : {ONCE, TWICE}) {
            const Bitboard& squares = attacks_[c][plane];
            const std::uint64_t first = squares.low() | squares.high() << 63, rest = squares.high() >> 1;
            for (std::size_t i = 0; i < counts.size(); ++i)
                counts[i] += BYTES_OF_BITS[(i < 8 ? first >> 8 * i : rest >> 8 * (i - 8)) & 0xFF] * (c == BLACK ? 3 : 1);
        }
    std::memcpy(attackers_.data(), counts.data(), attackers_.size());
}

std::size_t SparseReader::rows(std::span<std::uint16_t, MAX_SPARSE_ROWS> out) const {
    std::uint16_t* next = out.data();
    const auto add = [&next](std::size_t row) { *next++ = static_cast<std::uint16_t>(row); };
    const AttackPlanes &own = attacks_[BLACK], &others = attacks_[WHITE];

    (occupied_ | own[ONCE] | others[ONCE]).for_each([&](Square s) {
        const auto at = static_cast<std::size_t>(s);
        add((contents_[at] * 9U + attackers_[at]) * SQUARES + static_cast<std::size_t>(seen(s)));
    });

    std::size_t first = FIRST_HAND_ROW;
    for (const Color c : {BLACK, WHITE})
        for (std::size_t i = 0; i < HAND_TYPES; ++i) {
            const int held = std::min(sets_.hands[c].count(HAND_ORDER[i]), HAND_PLANES[i]);
            for (int n = 0; n < held; ++n) add(first + static_cast<std::size_t>(n));
            first += static_cast<std::size_t>(HAND_PLANES[i]);
        }
    if ((others[ONCE] & sets_.of(BLACK, KING)).any()) add(first);

    // Where a square of a king's zone has its rows.
    const auto zone_row = [&](Color king, Square s) {
        const Square at = seen(s), centre = seen(kings_[king]);
        const int file = file_of(at) - file_of(centre) + ZONE_SIDE / 2, rank = rank_of(at) - rank_of(centre) + ZONE_SIDE / 2;
        return FIRST_ZONE_ROW + static_cast<std::size_t>((king * ZONE_SIDE + file) * ZONE_SIDE + rank) * (CONTENTS + PIECE_KINDS);
    };
    std::array<Bitboard, 2> zones{};
    std::array<std::array<std::uint16_t, SQUARES>, 2> zone_rows;  // of the squares in the zones
    for (const Color king : {BLACK, WHITE}) {
        if (kings_[king] == NO_SQUARE) continue;
        zones[king] = ZONES[static_cast<std::size_t>(kings_[king])];
        zones[king].for_each([&](Square s) {
            const std::size_t row = zone_row(king, s);
            zone_rows[king][static_cast<std::size_t>(s)] = static_cast<std::uint16_t>(row);
            add(row + contents_[static_cast<std::size_t>(s)]);
        });
    }
    for (const Color by : {BLACK, WHITE})
        for (int t = PAWN; t < PIECE_TYPES; ++t) {
            const Bitboard& attacked = attacks_[by][static_cast<std::size_t>(t - PAWN)];
            if (attacked.none()) continue;
            const std::size_t attacker = kind_of(by, static_cast<PieceType>(t));
            (attacked & occupied_).for_each([&](Square s) {
                add(FIRST_THREAT_ROW + (contents_[static_cast<std::size_t>(s)] - 1U) * PIECE_KINDS + attacker);
            });
            for (const Color king : {BLACK, WHITE})
                (attacked & zones[king]).for_each([&](Square s) {
                    add(zone_rows[king][static_cast<std::size_t>(s)] + CONTENTS + attacker);
                });
        }
    return static_cast<std::size_t>(next - out.data());
}

void SparseReader::moves(std::span<const Move> moves, MoveFeatures* out) const {
    const bool is_white = sets_.turn == WHITE;
    const KingPlaces& places_of = KING_PLACES_OF[std::size_t{is_mirrored_}];
    const auto &near_own = places_of[static_cast<std::size_t>(kings_[BLACK])], &near_others = places_of[static_cast<std::size_t>(kings_[WHITE])];
    for (const Move m : moves) {
        const bool is_drop = m.is_drop();
        const Square to = is_white ? rotate(m.to()) : m.to();
        const auto at = static_cast<std::size_t>(to);
        const std::size_t content = contents_[at], captured = content == 0 ? 0 : content - PIECE_PLANES, least = least_[at];
        const std::size_t own = attackers_[at] / 3U, others = attackers_[at] % 3U;

        std::size_t type = 0, mover = 0, origin = 0;
        bool is_supported = false;
        Bitboard occupied = occupied_;
        std::uint16_t label = 0;
        if (is_drop) {
            type = m.dropped();
            mover = PIECE_PLANES + type - PAWN;
            is_supported = own != 0;
            label = policy_label(BLACK, Move::drop(m.dropped(), seen(to)));
        } else {
            const Square from = is_white ? rotate(m.from()) : m.from();
            const auto start = static_cast<std::size_t>(from);
            type = contents_[start];
            mover = type - PAWN;
            is_supported = own == 2;
            origin = least_[start] * 2U + std::size_t{attackers_[start] >= 3};
            occupied.toggle(from);
            label = policy_label(BLACK, Move::normal(seen(from), seen(to), m.is_promotion()));
        }
        const int risk = EXCHANGE_VALUES[type] - EXCHANGE_VALUES[captured];
        const bool is_bad = (least != 0) & (risk > 0) & (!is_supported | (EXCHANGE_VALUES[least] + 1 < risk));

        // The best piece attacked from the destination.
        const auto after = static_cast<PieceType>(m.is_promotion() ? type | PROMOTED : type);
        std::uint16_t threat = 0;
        (attacks(BLACK, after, to, occupied) & colors_[WHITE]).for_each([&](Square s) {
            threat = std::max(threat, worth_[static_cast<std::size_t>(s)]);
        });

        const int rank = rank_of(to);
        const std::array<std::size_t, MOVE_GROUPS> places = {
            captured,
            (least * 2 + std::size_t{is_supported}) * 2 + std::size_t{others == 2},
            origin,
            near_others[at],
            near_own[at],
            threat % 32U,
            rank > 0 ? contents_[at - 1] : CONTENTS,
            rank < 8 ? contents_[at + 1] : CONTENTS,
        };
        out->label = static_cast<std::uint16_t>(label + (is_bad ? SPARSE_LABELS / 2 : 0));
        for (std::size_t g = 0; g < MOVE_GROUPS; ++g) out->rows[g] = static_cast<std::uint16_t>(FIRST_ROWS_OF[mover][g] + places[g]);
        ++out;
    }
}

}  // namespace fukayomi
