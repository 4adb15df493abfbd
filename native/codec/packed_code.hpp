// The two prefix codes that write a position in 256 bits: hcp (Apery, dlshogi) and packed sfen (psfen; YaneuraOu). They
// differ in the codes of a few pieces and in the order of the bits for colour and promotion; all else is common.
//
// The stream, least significant bit first: the side to move (1 bit), the squares of Black's and White's king (7 bits
// each), the other 79 squares in order, Black's hand, White's hand, and the pieces that are set aside in handicap games
// (cshogi's and YaneuraOu's addition). A piece in a hand takes one bit less than on the board, which pays for the square
// it left empty; so every complete set of pieces takes exactly 256 bits.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "shogi/types.hpp"

namespace fukayomi {

struct BitCode {
    std::uint8_t value;
    std::uint8_t bits;
};

constexpr int BOX = 2;         // after Black and White: whoever owns the pieces that are set aside
constexpr int PEEK_BITS = 10;  // bits that choose an entry of PackedCode::board_steps
constexpr std::uint8_t UNCOUNTED = 56;

// One step over the board: some empty squares, then, if all of its code is in sight, a piece.
struct BoardStep {
    std::uint8_t bits;
    std::uint8_t squares;
    std::uint8_t piece;        // NO_PIECE if the step ends with an empty square
    std::uint8_t count_shift;  // of its byte in a word that counts pieces by hand_index; UNCOUNTED is a bin
};

struct HandStep {
    std::uint8_t bits;   // 0: no such code
    std::uint8_t place;  // owner * 7 + place in HAND_ORDER: the order in which they must come
};

// Tables by which a position is read and written.
struct PackedCode {
    const char* name;
    bool hands_in_order;                                    // whether a reader insists on it, so that a position has one code only
    std::array<BitCode, 32> board{};                        // by Piece; kings and NO_PIECE unused
    std::array<std::array<BitCode, HAND_TYPES>, 3> hand{};  // by owner (BLACK, WHITE, BOX) and place in HAND_ORDER
    std::array<BoardStep, 1 << PEEK_BITS> board_steps{};    // by the next bits
    std::array<HandStep, 128> hand_steps{};                 // by the next bits
};

// What distinguishes a code.
struct CodeRules {
    const char* name;
    std::array<BitCode, 8> board;  // by PieceType: Black's, not promoted
    bool promotion_before_color;   // gold has no bit for promotion
    bool hands_in_order;
    std::array<BitCode, HAND_TYPES> hand;      // in HAND_ORDER: Black's; the last bit is the colour
    std::array<std::uint8_t, HAND_TYPES> box;  // of as many bits as the same piece in a hand
};

constexpr BitCode board_code(const CodeRules& rules, Color c, PieceType t) {
    const BitCode code = rules.board[unpromote(t)];
    const int last = code.bits - 1;
    const int color_bit = t == GOLD || rules.promotion_before_color ? last : last - 1;
    const int promotion_bit = rules.promotion_before_color ? last - 1 : last;
    const int promoted = is_promoted(t) ? 1 << promotion_bit : 0;
    return {static_cast<std::uint8_t>(code.value | (c << color_bit) | promoted), code.bits};
}

constexpr BoardStep board_step(const PackedCode& code, unsigned peeked) {
    const int empties = peeked == 0 ? PEEK_BITS : std::countr_zero(peeked);
    const unsigned rest = peeked >> empties;
    for (std::size_t p = 1; p < code.board.size(); ++p) {
        const BitCode c = code.board[p];
        if (c.bits == 0 || c.bits > PEEK_BITS - empties || (rest & ((1U << c.bits) - 1)) != c.value) continue;
        const PieceType t = unpromote(type_of(static_cast<Piece>(p)));
        return {static_cast<std::uint8_t>(empties + c.bits), static_cast<std::uint8_t>(empties + 1), static_cast<std::uint8_t>(p),
                static_cast<std::uint8_t>(8 * hand_index(t))};
    }
    return {static_cast<std::uint8_t>(empties), static_cast<std::uint8_t>(empties), NO_PIECE, UNCOUNTED};
}

constexpr HandStep hand_step(const PackedCode& code, unsigned peeked) {
    for (std::size_t owner = 0; owner < code.hand.size(); ++owner)
        for (std::size_t i = 0; i < HAND_TYPES; ++i) {
            const BitCode c = code.hand[owner][i];
            if ((peeked & ((1U << c.bits) - 1)) == c.value) return {c.bits, static_cast<std::uint8_t>(owner * HAND_TYPES + i)};
        }
    return {0, 0};
}

constexpr PackedCode make_packed_code(const CodeRules& rules) {
    PackedCode code{};
    code.name = rules.name;
    code.hands_in_order = rules.hands_in_order;
    for (const Color c : {BLACK, WHITE})
        for (int type = PAWN; type < PIECE_TYPES; ++type) {
            const auto t = static_cast<PieceType>(type);
            if (t != KING) code.board[make_piece(c, t)] = board_code(rules, c, t);
        }
    for (std::size_t i = 0; i < HAND_TYPES; ++i) {
        const BitCode black = rules.hand[i];
        code.hand[BLACK][i] = black;
        code.hand[WHITE][i] = {static_cast<std::uint8_t>(black.value | (1 << (black.bits - 1))), black.bits};
        code.hand[BOX][i] = {rules.box[i], black.bits};
    }
    for (unsigned i = 0; i < code.board_steps.size(); ++i) code.board_steps[i] = board_step(code, i);
    for (unsigned i = 0; i < code.hand_steps.size(); ++i) code.hand_steps[i] = hand_step(code, i);
    return code;
}

inline constexpr PackedCode HCP_CODE = make_packed_code({
    "hcp",
    {{{0, 0}, {0b0001, 4}, {0b000011, 6}, {0b000111, 6}, {0b001011, 6}, {0b00011111, 8}, {0b00111111, 8}, {0b001111, 6}}},
    false,
    true,
    {{{0b000, 3}, {0b00001, 5}, {0b00011, 5}, {0b00101, 5}, {0b00111, 5}, {0b0011111, 7}, {0b0111111, 7}}},
    {0b010, 0b01001, 0b01011, 0b01101, 0b11101, 0b0001111, 0b0101111},
});

// Writers of packed sfen differ in the order of the hands; we write them in the order of hcp.
inline constexpr PackedCode PSFEN_CODE = make_packed_code({
    "psfen",
    {{{0, 0}, {0b0001, 4}, {0b000011, 6}, {0b001011, 6}, {0b000111, 6}, {0b00011111, 8}, {0b00111111, 8}, {0b001111, 6}}},
    true,
    false,
    {{{0b000, 3}, {0b00001, 5}, {0b00101, 5}, {0b00011, 5}, {0b00111, 5}, {0b0001111, 7}, {0b0011111, 7}}},
    {0b010, 0b01001, 0b01101, 0b01011, 0b11011, 0b0101111, 0b0111111},
});

}  // namespace fukayomi
