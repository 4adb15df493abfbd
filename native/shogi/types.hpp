// The vocabulary of the board: colours, squares, pieces, moves. Values are those of the field's file formats
// (dlshogi, hcpe), so that no table translates between memory and disk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fukayomi {

enum Color : std::uint8_t { BLACK = 0, WHITE = 1 };
constexpr Color operator~(Color c) { return static_cast<Color>(c ^ 1); }

// A square is (file - 1) * 9 + (rank - 1): 1a = 0, 1i = 8, 2a = 9, 9i = 80. Files count from Black's right.
using Square = int;
constexpr int SQUARES = 81;
constexpr Square NO_SQUARE = 81;
constexpr Square make_square(int file, int rank) { return file * 9 + rank; }  // both from 0
constexpr int file_of(Square s) { return s / 9; }
constexpr int rank_of(Square s) { return s % 9; }
constexpr Square rotate(Square s) { return 80 - s; }
// The rank as the given side counts it: 0 is the far end of the enemy's camp.
constexpr int relative_rank(Color c, int rank) { return c == BLACK ? rank : 8 - rank; }

enum PieceType : std::uint8_t {
    NO_PIECE_TYPE = 0,
    PAWN,
    LANCE,
    KNIGHT,
    SILVER,
    BISHOP,
    ROOK,
    GOLD,
    KING,
    PRO_PAWN,
    PRO_LANCE,
    PRO_KNIGHT,
    PRO_SILVER,
    HORSE,
    DRAGON,
};
constexpr int PIECE_TYPES = 15;  // including NO_PIECE_TYPE at 0
constexpr int PROMOTED = 8;
constexpr bool is_promoted(PieceType t) { return t > KING; }
constexpr bool can_promote(PieceType t) { return t >= PAWN && t <= ROOK; }
constexpr PieceType promote(PieceType t) { return static_cast<PieceType>(t | PROMOTED); }
constexpr PieceType unpromote(PieceType t) { return t == KING ? KING : static_cast<PieceType>(t & ~PROMOTED); }
// Ranks at the far end on which a piece could never move again.
constexpr int dead_ranks(PieceType t) { return t == PAWN || t == LANCE ? 1 : t == KNIGHT ? 2 : 0; }

// A piece on the board: its type, plus 16 for White.
enum Piece : std::uint8_t { NO_PIECE = 0 };
constexpr Piece make_piece(Color c, PieceType t) { return static_cast<Piece>(t | (c << 4)); }
constexpr PieceType type_of(Piece p) { return static_cast<PieceType>(p & 15); }
constexpr Color color_of(Piece p) { return static_cast<Color>(p >> 4); }

// Pieces in hand have an order of their own (P L N S G B R), which the formats and the input planes use.
constexpr int HAND_TYPES = 7;
constexpr std::array<PieceType, HAND_TYPES> HAND_ORDER = {PAWN, LANCE, KNIGHT, SILVER, GOLD, BISHOP, ROOK};
constexpr int hand_index(PieceType t) {
    constexpr std::array<std::int8_t, 8> table = {-1, 0, 1, 2, 3, 5, 6, 4};
    return table[static_cast<std::size_t>(t)];
}

// A hand packed into 32 bits: 5 bits of pawns, then 3, 3, 3, 3 (L N S G) and 2, 2 (B R), with a gap bit between the
// fields, so that "every count of a is at least that of b" is one subtraction and one mask.
class Hand {
  public:
    constexpr Hand() = default;
    constexpr int count(PieceType t) const {
        const auto i = static_cast<std::size_t>(hand_index(t));
        return static_cast<int>((bits_ >> SHIFT[i]) & MASK[i]);
    }
    constexpr bool has(PieceType t) const { return count(t) != 0; }
    constexpr void add(PieceType t) { bits_ += 1U << SHIFT[static_cast<std::size_t>(hand_index(t))]; }
    constexpr void remove(PieceType t) { bits_ -= 1U << SHIFT[static_cast<std::size_t>(hand_index(t))]; }
    constexpr bool empty() const { return bits_ == 0; }
    constexpr std::uint32_t bits() const { return bits_; }
    // Superior or equal: at least as many of every piece.
    constexpr bool covers(Hand other) const { return (((bits_ | GAPS) - other.bits_) & GAPS) == GAPS; }
    // The sum, the greatest and the least of both counts, piece by piece. A sum must not exceed a set.
    friend constexpr Hand operator+(Hand a, Hand b) { return Hand(a.bits_ + b.bits_); }
    friend constexpr Hand most(Hand a, Hand b) { return Hand(a.bits_ ^ ((a.bits_ ^ b.bits_) & a.fields_below(b))); }
    friend constexpr Hand least(Hand a, Hand b) { return Hand(b.bits_ ^ ((a.bits_ ^ b.bits_) & a.fields_below(b))); }
    // These pieces where `other` has any (or has none), and no others.
    constexpr Hand where_has(Hand other) const { return Hand(bits_ & ~Hand().fields_not_below(other)); }
    constexpr Hand where_lacks(Hand other) const { return Hand(bits_ & Hand().fields_not_below(other)); }
    friend constexpr bool operator==(Hand a, Hand b) { return a.bits_ == b.bits_; }

  private:
    constexpr explicit Hand(std::uint32_t bits) : bits_(bits) {}
    // All bits of the fields in which this hand has at least as many as the other; and of the rest.
    constexpr std::uint32_t fields_not_below(Hand other) const {
        const std::uint32_t gaps = ((bits_ | GAPS) - other.bits_) & GAPS;
        std::uint32_t fields = 0;
        for (std::size_t i = 0; i < HAND_TYPES; ++i) fields |= MASK[i] << SHIFT[i] & (0U - ((gaps / (MASK[i] + 1) >> SHIFT[i]) & 1U));
        return fields;
    }
    constexpr std::uint32_t fields_below(Hand other) const { return ~fields_not_below(other) & ~GAPS; }

    static constexpr std::array<int, HAND_TYPES> SHIFT = {0, 6, 10, 14, 18, 22, 25};
    static constexpr std::array<std::uint32_t, HAND_TYPES> MASK = {31, 7, 7, 7, 7, 3, 3};
    static constexpr std::uint32_t GAPS = (1U << 5) | (1U << 9) | (1U << 13) | (1U << 17) | (1U << 21) | (1U << 24) | (1U << 27);
    std::uint32_t bits_ = 0;
};

// A move in the 16 bits of the hcpe format: to | from << 7 | promotion << 14; a drop has from = 80 + piece type.
class Move {
  public:
    constexpr Move() = default;
    constexpr explicit Move(std::uint16_t raw) : raw_(raw) {}
    static constexpr Move normal(Square from, Square to, bool promotion) {
        return Move(static_cast<std::uint16_t>(to | (from << 7) | (promotion ? 1 << 14 : 0)));
    }
    static constexpr Move drop(PieceType t, Square to) { return Move(static_cast<std::uint16_t>(to | ((80 + t) << 7))); }
    constexpr Square to() const { return raw_ & 127; }
    constexpr bool is_drop() const { return ((raw_ >> 7) & 127) > 80; }
    constexpr Square from() const { return (raw_ >> 7) & 127; }  // only if it is no drop
    constexpr PieceType dropped() const { return static_cast<PieceType>(((raw_ >> 7) & 127) - 80); }
    constexpr bool is_promotion() const { return (raw_ & (1 << 14)) != 0; }
    constexpr std::uint16_t raw() const { return raw_; }
    constexpr explicit operator bool() const { return raw_ != 0; }
    friend constexpr bool operator==(Move a, Move b) { return a.raw_ == b.raw_; }

  private:
    std::uint16_t raw_ = 0;
};

constexpr int MAX_MOVES = 593;  // the most legal moves that any position has

// A list of moves on the stack; no position overflows it.
class MoveList {
  public:
    void push(Move m) { moves_[size_++] = m; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    void clear() { size_ = 0; }
    Move operator[](std::size_t i) const { return moves_[i]; }
    const Move* begin() const { return moves_.data(); }
    const Move* end() const { return moves_.data() + size_; }
    bool contains(Move m) const {
        for (Move x : *this)
            if (x == m) return true;
        return false;
    }

  private:
    std::array<Move, MAX_MOVES + 7> moves_;
    std::size_t size_ = 0;
};

// Who wins with an entered king (入玉宣言): with 31 points under the 24-point rule, where 24 to 30 are a draw; Black with
// 28 and White with 27 under the 27-point rule. With HANDICAP the pieces that the set lacks count for White, who gave
// them up. TRY: who can move the king to the square on which the enemy's king starts.
enum class DeclarationRule : std::uint8_t { NONE, POINTS_24, POINTS_27, POINTS_24_HANDICAP, POINTS_27_HANDICAP, TRY };

// What a position that occurred before means for the side to move. WIN and LOSE are those of perpetual check;
// SUPERIOR and INFERIOR compare the hands over the same board, which only the search uses.
enum class Repetition : std::uint8_t { NONE, DRAW, WIN, LOSE, SUPERIOR, INFERIOR };

}  // namespace fukayomi
