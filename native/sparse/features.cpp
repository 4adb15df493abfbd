#include "sparse/features.hpp"

#include <algorithm>

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

// Directions 0 to 9, with and without promotion; a board seen in a mirror swaps left and right.
constexpr std::array<std::uint16_t, 10> MIRRORED_DIRECTIONS = {0, 2, 1, 4, 3, 5, 7, 6, 9, 8};

constexpr std::uint16_t mirrored_label(std::uint16_t label, Square to) {
    const int plane = label / SQUARES;
    const int seen = plane < 20 ? plane / 10 * 10 + MIRRORED_DIRECTIONS[static_cast<std::size_t>(plane % 10)] : plane;
    return static_cast<std::uint16_t>(seen * SQUARES + to);
}

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
        least_[c].fill(NO_PIECE_TYPE);
        for (const PieceType t : BY_VALUE)
            attacks_[c][t - PAWN].for_each([&](Square s) { least_[c][static_cast<std::size_t>(s)] = t; });
    }
    is_mirrored_ = kings_[BLACK] != NO_SQUARE && file_of(kings_[BLACK]) > 4;
}

std::size_t SparseReader::rows(std::span<std::uint16_t, MAX_SPARSE_ROWS> out) const {
    std::uint16_t* next = out.data();
    const auto add = [&next](std::size_t row) { *next++ = static_cast<std::uint16_t>(row); };
    const AttackPlanes &own = attacks_[BLACK], &others = attacks_[WHITE];

    (occupied_ | own[ONCE] | others[ONCE]).for_each([&](Square s) {
        const std::size_t mine = std::size_t{own[ONCE].has(s)} + std::size_t{own[TWICE].has(s)};
        const std::size_t theirs = std::size_t{others[ONCE].has(s)} + std::size_t{others[TWICE].has(s)};
        const std::size_t content = contents_[static_cast<std::size_t>(s)];
        add(((content * 3 + mine) * 3 + theirs) * SQUARES + static_cast<std::size_t>(seen(s)));
    });

    std::size_t first = FIRST_HAND_ROW;
    for (const Color c : {BLACK, WHITE})
        for (std::size_t i = 0; i < HAND_TYPES; ++i) {
            const int held = std::min(sets_.hands[c].count(HAND_ORDER[i]), HAND_PLANES[i]);
            for (int n = 0; n < held; ++n) add(first + static_cast<std::size_t>(n));
            first += static_cast<std::size_t>(HAND_PLANES[i]);
        }
    if ((others[ONCE] & sets_.of(BLACK, KING)).any()) add(first);

    for (const Color by : {BLACK, WHITE})
        for (int t = PAWN; t < PIECE_TYPES; ++t) {
            const std::size_t attacker = kind_of(by, static_cast<PieceType>(t));
            (attacks_[by][static_cast<std::size_t>(t - PAWN)] & occupied_).for_each([&](Square s) {
                add(FIRST_THREAT_ROW + (contents_[static_cast<std::size_t>(s)] - 1U) * PIECE_KINDS + attacker);
            });
        }

    for (const Color king : {BLACK, WHITE}) {
        if (kings_[king] == NO_SQUARE) continue;
        const Square centre = seen(kings_[king]);
        const Bitboard& zone = ZONES[static_cast<std::size_t>(kings_[king])];
        const auto place = [&](Square s) {
            const Square at = seen(s);
            const int file = file_of(at) - file_of(centre) + ZONE_SIDE / 2, rank = rank_of(at) - rank_of(centre) + ZONE_SIDE / 2;
            const auto index = static_cast<std::size_t>((king * ZONE_SIDE + file) * ZONE_SIDE + rank);
            return FIRST_ZONE_ROW + index * (CONTENTS + PIECE_KINDS);
        };
        zone.for_each([&](Square s) { add(place(s) + contents_[static_cast<std::size_t>(s)]); });
        for (const Color by : {BLACK, WHITE})
            for (int t = PAWN; t < PIECE_TYPES; ++t) {
                const std::size_t attacker = CONTENTS + kind_of(by, static_cast<PieceType>(t));
                (attacks_[by][static_cast<std::size_t>(t - PAWN)] & zone).for_each([&](Square s) { add(place(s) + attacker); });
            }
    }
    return static_cast<std::size_t>(next - out.data());
}

// 7 x 7 squares around a king, or the rest of the board.
std::size_t SparseReader::king_place(Square to, Color king) const {
    if (kings_[king] == NO_SQUARE) return KING_PLACES - 1;
    const Square at = seen(to), centre = seen(kings_[king]);
    const int file = file_of(at) - file_of(centre) + 3, rank = rank_of(at) - rank_of(centre) + 3;
    return file < 0 || file > 6 || rank < 0 || rank > 6 ? KING_PLACES - 1 : static_cast<std::size_t>(file * 7 + rank);
}

MoveFeatures SparseReader::move(Move m) const {
    const bool is_white = sets_.turn == WHITE;
    const Square to = is_white ? rotate(m.to()) : m.to();
    const auto at = static_cast<std::size_t>(to);
    const bool is_drop = m.is_drop();
    const Square from = is_drop ? NO_SQUARE : is_white ? rotate(m.from()) : m.from();
    const AttackPlanes &own = attacks_[BLACK], &others = attacks_[WHITE];
    const std::size_t type = is_drop ? std::size_t{m.dropped()} : contents_[static_cast<std::size_t>(from)];
    const std::size_t mover = (is_drop ? PIECE_PLANES : 0) + type - PAWN;
    const std::size_t content = contents_[at];
    const std::size_t captured = content == 0 ? 0 : content - PIECE_PLANES;

    const std::size_t least = least_[WHITE][at];
    const bool is_supported = is_drop ? own[ONCE].has(to) : own[TWICE].has(to);
    const bool is_attacked_twice = others[TWICE].has(to);
    const int risk = EXCHANGE_VALUES[type] - EXCHANGE_VALUES[captured];
    const bool is_bad = least != 0 && risk > 0 && (!is_supported || EXCHANGE_VALUES[least] + 1 < risk);

    // The best piece attacked from the destination.
    const auto after = static_cast<PieceType>(m.is_promotion() ? type | PROMOTED : type);
    Bitboard occupied = occupied_;
    if (!is_drop) occupied.toggle(from);
    const Bitboard reached = attacks(BLACK, after, to, occupied) & colors_[WHITE];
    std::size_t target = 0;
    bool is_defended = false;
    reached.for_each([&](Square s) {
        const std::size_t its = contents_[static_cast<std::size_t>(s)] - PIECE_PLANES;
        const bool defended = others[ONCE].has(s);
        const int better = EXCHANGE_VALUES[its] - EXCHANGE_VALUES[target];
        // Of pieces of one value an undefended one, then that of the lower type.
        if (better > 0 || (better == 0 && (is_defended != defended ? is_defended : its < target))) {
            target = its;
            is_defended = defended;
        }
    });

    const int rank = rank_of(to);
    const std::size_t before = rank > 0 ? contents_[at - 1] : CONTENTS, behind = rank < 8 ? contents_[at + 1] : CONTENTS;
    MoveFeatures found;
    std::uint16_t label = policy_label(sets_.turn, m);
    if (is_mirrored_) label = mirrored_label(label, seen(to));
    found.label = static_cast<std::uint16_t>(label + (is_bad ? SPARSE_LABELS / 2 : 0));
    const std::array<std::size_t, MOVE_GROUPS> places = {
        mover * PIECE_TYPES + captured,
        ((mover * PIECE_TYPES + least) * 2 + std::size_t{is_supported}) * 2 + std::size_t{is_attacked_twice},
        is_drop ? PIECE_PLANES * PIECE_TYPES * 2 + type - PAWN
                : (mover * PIECE_TYPES + least_[WHITE][static_cast<std::size_t>(from)]) * 2 + std::size_t{own[ONCE].has(from)},
        mover * KING_PLACES + king_place(to, WHITE),
        mover * KING_PLACES + king_place(to, BLACK),
        (mover * PIECE_TYPES + target) * 2 + std::size_t{is_defended},
        mover * (CONTENTS + 1) + before,
        mover * (CONTENTS + 1) + behind,
    };
    for (std::size_t g = 0; g < MOVE_GROUPS; ++g) found.rows[g] = static_cast<std::uint16_t>(FIRST_MOVE_ROWS[g] + places[g]);
    return found;
}

}  // namespace fukayomi
