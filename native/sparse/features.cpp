#include "sparse/features.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "encode/labels.hpp"
#include "shogi/attacks.hpp"

namespace fukayomi {
namespace {

constexpr std::size_t ONCE = ATTACKED, TWICE = ATTACKED + 1;

// What a piece is worth in an exchange, by PieceType.
constexpr std::array<std::uint8_t, PIECE_TYPES> EXCHANGE_VALUES = {0, 1, 3, 3, 5, 8, 9, 6, 100, 2, 4, 4, 6, 11, 13};

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

// By content: the type of an opponent's piece. By attackers: the opponent's.
constexpr auto CAPTURED = [] {
    std::array<std::uint8_t, CONTENTS> table{};
    for (std::size_t content = 1 + PIECE_PLANES; content < CONTENTS; ++content)
        table[content] = static_cast<std::uint8_t>(content - PIECE_PLANES);
    return table;
}();
constexpr std::array<std::uint8_t, 9> OTHERS = {0, 1, 2, 0, 1, 2, 0, 1, 2};

enum : std::uint8_t { NO_STEP, PAWN_STEP, KNIGHT_STEPS, SILVER_STEPS, GOLD_STEPS, KING_STEPS };
constexpr std::array<std::uint8_t, PIECE_TYPES> STEPS = {NO_STEP,    PAWN_STEP,  NO_STEP,    KNIGHT_STEPS, SILVER_STEPS,
                                                         NO_STEP,    NO_STEP,    GOLD_STEPS, KING_STEPS,   GOLD_STEPS,
                                                         GOLD_STEPS, GOLD_STEPS, GOLD_STEPS, KING_STEPS,   KING_STEPS};
constexpr bool is_slider(PieceType t) { return t == LANCE || t == BISHOP || t == ROOK || t == HORSE || t == DRAGON; }

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

// Adds a number to the squares of a set, eight squares at once.
template <std::size_t COUNT>
void add_to_squares(Bitboard squares, std::uint64_t number, std::array<std::uint8_t, COUNT>& to) {
    const std::uint64_t first = squares.low() | squares.high() << 63, rest = squares.high() >> 1;
    for (std::size_t i = 0; i < COUNT / 8; ++i) {
        std::uint64_t eight;
        std::memcpy(&eight, to.data() + 8 * i, sizeof eight);
        eight += BYTES_OF_BITS[(i < 8 ? first >> 8 * i : rest >> 8 * (i - 8)) & 0xFF] * number;
        std::memcpy(to.data() + 8 * i, &eight, sizeof eight);
    }
}

constexpr int ZONE_BITS = 9 * ZONE_SIDE;  // of a word with the files of a king's zone
static_assert(ZONE_BITS + SQUARES - 63 <= 63);

// Writes a row for each bit of a word, in which the highest is not set: by fours, as it cannot be foreseen how many there are.
inline std::uint16_t* add_bits(std::uint64_t word, const std::array<std::uint16_t, 64>& rows, std::size_t more, std::uint16_t* out) {
    std::uint16_t* const end = out + std::popcount(word);
    for (; word != 0; out += 4)
        for (std::size_t i = 0; i < 4; ++i) {
            out[i] = static_cast<std::uint16_t>(rows[static_cast<std::size_t>(std::countr_zero(word | std::uint64_t{1} << 63))] + more);
            word &= word - 1;
        }
    return end;
}

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

// Eight rows as four numbers of 16 bits in each of two words, so that they are added at once: no sum has more bits.
using EightRows = std::array<std::uint64_t, 2>;
static_assert(MOVE_ROWS < 1U << 16 && MOVE_GROUPS == 8);

// The first row of each group for what moves.
constexpr auto FIRST_ROWS_OF = [] {
    std::array<EightRows, MOVERS> table{};
    for (std::size_t mover = 0; mover < MOVERS; ++mover)
        for (std::size_t g = 0; g < MOVE_GROUPS; ++g) {
            std::size_t place = mover * (MOVE_GROUP_ROWS[g] / MOVERS);
            if (g == 2) place = mover < PIECE_PLANES ? mover * PIECE_TYPES * 2 : PIECE_PLANES * PIECE_TYPES * 2 + mover - PIECE_PLANES;
            table[mover][g / 4] |= std::uint64_t{FIRST_MOVE_ROWS[g] + place} << 16 * (g % 4);
        }
    return table;
}();

// A threat's worth: the piece's value, then whether it is undefended, then the lower type; the lowest bits have its row in the group.
constexpr std::uint16_t threat_worth(std::size_t type, bool is_defended) {
    const std::size_t row = type * 2 + std::size_t{is_defended};
    const std::size_t order =
        (std::min(std::size_t{EXCHANGE_VALUES[type]}, std::size_t{20}) * 2 + std::size_t{!is_defended}) * 16 + PIECE_TYPES - type;
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
    find_least_attackers();
    find_threats();
    is_mirrored_ = kings_[BLACK] != NO_SQUARE && file_of(kings_[BLACK]) > 4;
}

void SparseReader::count_attackers() {
    attackers_.fill(0);
    for (const Color c : {BLACK, WHITE})
        for (const std::size_t plane : {ONCE, TWICE}) add_to_squares(attacks_[c][plane], c == BLACK ? 3 : 1, attackers_);
}

void SparseReader::find_least_attackers() {
    std::array<Bitboard, 4> bits{};  // of the types
    Bitboard attacked;
    for (std::size_t i = BY_VALUE.size(); i-- > 0;) {
        const PieceType t = BY_VALUE[i];
        const Bitboard found = and_not(attacks_[WHITE][t - PAWN], attacked);
        attacked |= found;
        for (std::size_t bit = 0; bit < bits.size(); ++bit)
            if ((t >> bit & 1) != 0) bits[bit] |= found;
    }
    least_.fill(0);
    for (std::size_t bit = 0; bit < bits.size(); ++bit) add_to_squares(bits[bit], 1U << bit, least_);
}

void SparseReader::find_threats() {
    worth_.fill(0);
    colors_[WHITE].for_each([&](Square s) {
        const auto at = static_cast<std::size_t>(s);
        worth_[with_margin(s)] = threat_worth(contents_[at] - PIECE_PLANES, attackers_[at] % 3U != 0);
    });
    by_step_[NO_STEP].fill(0);
    // All squares at once.
    constexpr std::size_t END = FIRST_SQUARE + 104;
    static_assert(END > with_margin(SQUARES - 1) && END + FILE_STEP + 1 <= WITH_MARGIN);
    const std::uint16_t* const worth = worth_.data();
    for (std::size_t i = FIRST_SQUARE; i < END; ++i) {
        const std::uint16_t ahead = worth[i - 1];
        const std::uint16_t three = std::max(ahead, std::max(worth[i - 1 - FILE_STEP], worth[i - 1 + FILE_STEP]));
        const std::uint16_t behind = std::max(worth[i + 1 - FILE_STEP], worth[i + 1 + FILE_STEP]);
        const std::uint16_t beside = std::max(worth[i + 1], std::max(worth[i - FILE_STEP], worth[i + FILE_STEP]));
        by_step_[PAWN_STEP][i] = ahead;
        by_step_[KNIGHT_STEPS][i] = std::max(worth[i - 2 - FILE_STEP], worth[i - 2 + FILE_STEP]);
        by_step_[SILVER_STEPS][i] = std::max(three, behind);
        by_step_[GOLD_STEPS][i] = std::max(three, beside);
        by_step_[KING_STEPS][i] = std::max(std::max(three, behind), beside);
    }
}

// Of the best piece that one of this type attacks from a square.
inline std::uint16_t SparseReader::threat(PieceType type, Square from, Bitboard occupied) const {
    const std::uint16_t by_step = by_step_[STEPS[type]][with_margin(from)];
    return is_slider(type) ? std::max(by_step, threat_along_lines(type, from, occupied)) : by_step;
}

std::uint16_t SparseReader::threat_along_lines(PieceType type, Square from, Bitboard occupied) const {
    const Bitboard attacked = type == LANCE               ? lance_attacks(BLACK, from, occupied)
                              : unpromote(type) == BISHOP ? bishop_attacks(from, occupied)
                                                          : rook_attacks(from, occupied);
    std::uint16_t best = 0;
    (attacked & colors_[WHITE]).for_each([&](Square s) { best = std::max(best, worth_[with_margin(s)]); });
    return best;
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
    // Three words have all that a kind of piece attacks: pieces on files 1 to 7; the own king's zone, and behind it pieces on files 8 and
    // 9; the other king's zone. Here are the rows of their bits for the first kind.
    std::array<std::array<std::uint16_t, 64>, 3> rows_of_bits{};
    std::array<Bitboard, 2> zones{};
    std::array<int, 2> begins{};
    for (const Color king : {BLACK, WHITE}) {
        if (kings_[king] == NO_SQUARE) continue;
        const int begin = 9 * std::clamp(file_of(kings_[king]) - ZONE_SIDE / 2, 0, 9 - ZONE_SIDE);
        begins[king] = begin;
        zones[king] = ZONES[static_cast<std::size_t>(kings_[king])];
        zones[king].for_each([&](Square s) {
            const std::size_t row = zone_row(king, s);
            rows_of_bits[1U + king][static_cast<std::size_t>(s - begin)] = static_cast<std::uint16_t>(row + CONTENTS);
            add(row + contents_[static_cast<std::size_t>(s)]);
        });
    }
    occupied_.for_each([&](Square s) {
        const std::size_t row = FIRST_THREAT_ROW + (contents_[static_cast<std::size_t>(s)] - 1U) * PIECE_KINDS;
        (s < 63 ? rows_of_bits[0][static_cast<std::size_t>(s)] : rows_of_bits[1][static_cast<std::size_t>(s - 63 + ZONE_BITS)]) =
            static_cast<std::uint16_t>(row);
    });
    const auto window = [&](Bitboard squares, Color king) {
        const Bitboard inside = squares & zones[king];
        return inside.low() >> begins[king] | inside.high() << (63 - begins[king]);
    };
    for (const Color by : {BLACK, WHITE})
        for (int t = PAWN; t < PIECE_TYPES; ++t) {
            const Bitboard& attacked = attacks_[by][static_cast<std::size_t>(t - PAWN)];
            if (attacked.none()) continue;
            const std::size_t attacker = kind_of(by, static_cast<PieceType>(t));
            const Bitboard pieces = attacked & occupied_;
            next = add_bits(pieces.low(), rows_of_bits[0], attacker, next);
            next = add_bits(window(attacked, BLACK) | pieces.high() << ZONE_BITS, rows_of_bits[1], attacker, next);
            next = add_bits(window(attacked, WHITE), rows_of_bits[2], attacker, next);
        }
    return static_cast<std::size_t>(next - out.data());
}

// What moves to a square have in common.
struct SparseReader::Destination {
    EightRows places;                     // in the groups, but for what moves, where from, with what support, to what end
    std::array<std::uint8_t, 2> highest;  // value in an exchange that does not look bad, without and with support
};

void SparseReader::describe(Destinations& destinations) const {
    const KingPlaces& places_of = KING_PLACES_OF[std::size_t{is_mirrored_}];
    const auto &near_own = places_of[static_cast<std::size_t>(kings_[BLACK])],
               &near_others = places_of[static_cast<std::size_t>(kings_[WHITE])];
    std::array<std::uint8_t, SQUARES> before, behind;
    std::copy_n(contents_.begin(), SQUARES - 1, before.begin() + 1);
    std::copy_n(contents_.begin() + 1, SQUARES - 1, behind.begin());
    for (std::size_t file = 0; file < SQUARES; file += 9) before[file] = behind[file + 8] = CONTENTS;
    for (std::size_t at = 0; at < SQUARES; ++at) {
        const std::size_t captured = CAPTURED[contents_[at]], least = least_[at], value = EXCHANGE_VALUES[captured];
        const std::uint64_t exchange = least * 4 + std::size_t{OTHERS[attackers_[at]] == 2};
        destinations[at].places = {captured | exchange << 16 | std::uint64_t{near_others[at]} << 48,
                                   near_own[at] | std::uint64_t{before[at]} << 32 | std::uint64_t{behind[at]} << 48};
        const std::size_t free = least == 0 ? 255 : 0;
        destinations[at].highest = {static_cast<std::uint8_t>(value | free),
                                    static_cast<std::uint8_t>((value + EXCHANGE_VALUES[least] + 1) | free)};
    }
}

void SparseReader::moves(std::span<const Move> moves, MoveFeatures* out) const {
    Destinations destinations;
    describe(destinations);
    const bool is_white = sets_.turn == WHITE;
    for (const Move m : moves) {
        const Square to = is_white ? rotate(m.to()) : m.to();
        const auto at = static_cast<std::size_t>(to);
        std::size_t type = 0, mover = 0, origin = 0, label = 0;
        std::uint16_t threat_there = 0;
        bool is_supported = false;
        if (m.is_drop()) {
            type = m.dropped();
            mover = PIECE_PLANES + type - PAWN;
            is_supported = attackers_[at] >= 3;
            threat_there = threat(m.dropped(), to, occupied_);
            label = drop_label(m.dropped(), seen(to));
        } else {
            const Square from = is_white ? rotate(m.from()) : m.from();
            const auto start = static_cast<std::size_t>(from);
            type = contents_[start];
            mover = type - PAWN;
            is_supported = attackers_[at] >= 6;
            origin = least_[start] * 2U + std::size_t{attackers_[start] >= 3};
            threat_there = threat(static_cast<PieceType>(m.is_promotion() ? type | PROMOTED : type), to, occupied_ ^ Bitboard::of(from));
            label = policy_label(BLACK, Move::normal(seen(from), seen(to), m.is_promotion()));
        }
        const Destination& there = destinations[at];
        const bool is_bad = EXCHANGE_VALUES[type] > there.highest[std::size_t{is_supported}];
        out->label = static_cast<std::uint16_t>(label + std::size_t{is_bad} * (SPARSE_LABELS / 2));
        const EightRows& first = FIRST_ROWS_OF[mover];
        const EightRows rows = {first[0] + there.places[0] + (std::uint64_t{is_supported} << 17) + (std::uint64_t{origin} << 32),
                                first[1] + there.places[1] + (std::uint64_t{threat_there % 32U} << 16)};
        std::memcpy(out->rows.data(), rows.data(), sizeof rows);
        ++out;
    }
}

}  // namespace fukayomi
