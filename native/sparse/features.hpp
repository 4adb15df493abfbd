// What a sparse network reads: rows of its tables, few of which are set in any position. tests/native/sparse/plain_features.py has
// the same definition square by square.
//
// All is seen by the side to move ("own"): White's board is rotated, and a board with the own king on files 6 to 9 is mirrored, so
// that this king stands on files 1 to 5. A new definition is a new SPARSE_FEATURES_VERSION.
//
//   rows of a position   each square with a piece or an attack: content x own attacks (0, 1, 2+) x opponent's, by square;
//                        pieces in hand, check; each piece and the kinds of pieces that attack it, without squares;
//                        around each king, 5 x 5 squares: contents and attackers
//   rows of a move       a policy label, doubled by whether the move looks like a bad exchange, and eight groups: what moves
//                        and captures, the exchange at the destination, the origin, both kings, the threat, the neighbours
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "encode/piece_sets.hpp"

namespace fukayomi {

constexpr int SPARSE_FEATURES_VERSION = 1;

// Kinds of pieces: 0 to 13 own, by PieceType from PAWN on, 14 to 27 the opponent's. Contents: 0 empty, else 1 + kind.
constexpr std::size_t PIECE_KINDS = 2 * PIECE_PLANES;
constexpr std::size_t CONTENTS = 1 + PIECE_KINDS;
constexpr int ZONE_SIDE = 5;

constexpr std::size_t SQUARE_ROWS = CONTENTS * 9 * SQUARES;
constexpr std::size_t HAND_ROWS = 57;  // dlshogi's second input: hands, check
constexpr std::size_t THREAT_ROWS = PIECE_KINDS * PIECE_KINDS;
constexpr std::size_t ZONE_ROWS = 2 * ZONE_SIDE * ZONE_SIDE * (CONTENTS + PIECE_KINDS);
constexpr std::size_t FIRST_HAND_ROW = SQUARE_ROWS;
constexpr std::size_t FIRST_THREAT_ROW = FIRST_HAND_ROW + HAND_ROWS;
constexpr std::size_t FIRST_ZONE_ROW = FIRST_THREAT_ROW + THREAT_ROWS;
constexpr std::size_t SPARSE_ROWS = FIRST_ZONE_ROW + ZONE_ROWS;
static_assert(SPARSE_ROWS == 24'832);

// Room for the rows of a position, which has fewer: every square; a hand's 57; 40 pieces, each attacked by all kinds; full zones.
constexpr std::size_t MAX_SPARSE_ROWS = SQUARES + HAND_ROWS + 40 * PIECE_KINDS + 2 * ZONE_SIDE * ZONE_SIDE * (1 + PIECE_KINDS);

// What moves: 0 to 13 on the board by PieceType from PAWN on, as it was before a promotion; 14 to 20 drops, P L N S B R G.
constexpr std::size_t MOVERS = PIECE_PLANES + 7;
constexpr std::size_t SPARSE_LABELS = 2 * 27 * SQUARES;  // policy label, plus 2187 for a bad exchange
constexpr std::size_t MOVE_GROUPS = 8;
constexpr std::size_t KING_PLACES = 50;  // 7 x 7 around a king, or elsewhere
constexpr std::array<std::size_t, MOVE_GROUPS> MOVE_GROUP_ROWS = {
    MOVERS * PIECE_TYPES,               // what moves, what it captures (0: nothing)
    MOVERS* PIECE_TYPES * 2 * 2,        // what moves; at the destination: the least attacker (0: none),
                                        // support by others, two attackers or more
    PIECE_PLANES* PIECE_TYPES * 2 + 7,  // on the board: what moves; at the origin: the least attacker, whether it
                                        // is defended. A drop: which
    MOVERS* KING_PLACES,                // what moves, the destination from the opponent's king
    MOVERS* KING_PLACES,                // what moves, the destination from the own king
    MOVERS* PIECE_TYPES * 2,            // what moves, the best piece it then attacks (0: none), its defence
    MOVERS*(CONTENTS + 1),              // what moves, what stands before the destination (29: the edge)
    MOVERS*(CONTENTS + 1),              // what moves, what stands behind it
};
constexpr std::array<std::size_t, MOVE_GROUPS + 1> FIRST_MOVE_ROWS = [] {
    std::array<std::size_t, MOVE_GROUPS + 1> first{};
    for (std::size_t g = 0; g < MOVE_GROUPS; ++g) first[g + 1] = first[g] + MOVE_GROUP_ROWS[g];
    return first;
}();
constexpr std::size_t MOVE_ROWS = FIRST_MOVE_ROWS.back();

struct MoveFeatures {
    std::uint16_t label;                          // below SPARSE_LABELS
    std::array<std::uint16_t, MOVE_GROUPS> rows;  // one of each group, counted from the first row of the first group
};

// Reads one position. Everything may be asked as often as needed.
class SparseReader {
  public:
    // A position with a king missing can be read, too.
    void read(const Board& pos) { read(piece_sets(pos)); }
    void read(const PieceSets& sets);

    // Writes the rows, in no particular order, and returns their number; what is behind them is overwritten. A row may occur more than
    // once, and then counts so often.
    std::size_t rows(std::span<std::uint16_t, MAX_SPARSE_ROWS> out) const;
    // The features of legal moves of the position, as the board has them; `out` has room for them.
    void moves(std::span<const Move> moves, MoveFeatures* out) const;
    bool is_mirrored() const { return is_mirrored_; }

  private:
    Square seen(Square s) const { return is_mirrored_ ? MIRRORED[static_cast<std::size_t>(s)] : static_cast<std::uint8_t>(s); }
    void count_attackers();
    void find_least_attackers();
    void find_threats();
    std::uint16_t threat(PieceType type, Square from, Bitboard occupied) const;
    std::uint16_t threat_along_lines(PieceType type, Square from, Bitboard occupied) const;
    struct Destination;
    using Destinations = std::array<Destination, SQUARES>;
    void describe(Destinations& destinations) const;

    static constexpr std::array<std::uint8_t, SQUARES> MIRRORED = [] {
        std::array<std::uint8_t, SQUARES> table{};
        for (Square s = 0; s < SQUARES; ++s)
            table[static_cast<std::size_t>(s)] = static_cast<std::uint8_t>(make_square(8 - file_of(s), rank_of(s)));
        return table;
    }();

    static constexpr std::size_t ROUNDED_SQUARES = (SQUARES + 7) / 8 * 8;

    PieceSets sets_;
    Bitboard occupied_;
    std::array<Bitboard, 2> colors_;
    std::array<AttackPlanes, 2> attacks_;
    std::array<Square, 2> kings_;
    // By square as it was read.
    std::array<std::uint8_t, SQUARES> contents_;
    std::array<std::uint8_t, ROUNDED_SQUARES> least_;      // the opponent's least valuable attacker's PieceType, 0: none
    std::array<std::uint8_t, ROUNDED_SQUARES> attackers_;  // 3 times own attacks (0, 1, 2+), plus the opponent's

    // What threats are worth, on a board with a margin, so that steps to all squares are shifts.
    static constexpr std::size_t FILE_STEP = 11, FIRST_SQUARE = FILE_STEP + 2, WITH_MARGIN = 11 * FILE_STEP + 8;
    static constexpr std::size_t with_margin(Square s) { return FIRST_SQUARE + static_cast<std::size_t>(s + s / 9 * 2); }
    using Threats = std::array<std::uint16_t, WITH_MARGIN>;
    Threats worth_;                   // of the opponent's pieces: the best has the highest; 0 elsewhere
    std::array<Threats, 6> by_step_;  // of the best piece that an own one would attack from a square, by its kind of steps
    bool is_mirrored_ = false;
};

}  // namespace fukayomi
