// The file of a sparse network: a header, then arrays, little-endian, each at a multiple of 64 bytes. docs/formats.md has it to the byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sparse/features.hpp"

namespace fukayomi {

constexpr std::array<std::uint8_t, 8> SPARSE_MAGIC = {0x93, 'S', 'P', 'A', 'R', 'S', 'E', '\n'};
constexpr std::uint32_t SPARSE_FILE_VERSION = 1;
constexpr std::size_t SPARSE_HEADER_BYTES = 64;

struct SparseWidths {
    std::size_t policy;  // accumulators, multiples of 64
    std::size_t value;
    std::size_t shared;  // a multiple of 32, at most policy / 2
    std::size_t hidden;  // a multiple of 8
    std::size_t columns() const { return policy + value; }
};

// Rows of squares that no position of a game has are not in the file, and count as zeros: an empty square that nobody attacks; the own
// king on files 6 to 9; the opponent's king under attack; pieces that could not move on.
constexpr bool is_kept(std::size_t row) {
    if (row >= SQUARE_ROWS) return true;
    const std::size_t square = row % SQUARES, file = square / 9, rank = square % 9;
    const std::size_t theirs = row / SQUARES % 3, mine = row / SQUARES / 3 % 3, content = row / SQUARES / 9;
    if (content == 0) return mine != 0 || theirs != 0;
    const bool is_own = content <= PIECE_PLANES;
    const std::size_t type = is_own ? content : content - PIECE_PLANES, ahead = is_own ? rank : 8 - rank;
    switch (type) {
        case PAWN:
        case LANCE: return ahead > 0;
        case KNIGHT: return ahead > 1;
        case KING: return is_own ? file <= 4 : mine == 0;
        default: return true;
    }
}
constexpr std::size_t KEPT_ROWS = [] {
    std::size_t count = 0;
    for (std::size_t row = 0; row < SPARSE_ROWS; ++row) count += is_kept(row) ? 1 : 0;
    return count;
}();

// Steps of an accumulator from 0 to 1.
constexpr std::uint16_t MIN_TOP = 64, MAX_TOP = 1023;

// The arrays of a file; they point into it, and may lie anywhere.
struct SparseArrays {
    SparseWidths widths;
    const std::uint8_t* scales;         // float [16]: SparseScales, then zeros
    const std::uint8_t* tops;           // uint16 [columns]
    const std::uint8_t* bias;           // int16 [columns]
    const std::uint8_t* table;          // int8 [KEPT_ROWS, columns]
    const std::uint8_t* label_table;    // int8 [SPARSE_LABELS, policy / 2]
    const std::uint8_t* label_scales;   // float [SPARSE_LABELS]: what one step of a row is worth, times a number of 127 parts
    const std::uint8_t* label_bias;     // int16 [SPARSE_LABELS]
    const std::uint8_t* group_table;    // int8 [MOVE_ROWS, shared]
    const std::uint8_t* group_bias;     // int16 [MOVE_ROWS]
    const std::uint8_t* value_rows;     // int16 [KEPT_ROWS]
    const std::uint8_t* value_layer1;   // int16 [hidden, value / 2]
    const std::uint8_t* value_scales1;  // float [hidden]
    const std::uint8_t* value_bias1;    // float [hidden]
    const std::uint8_t* value_layer2;   // float [hidden, hidden]
    const std::uint8_t* value_bias2;    // float [hidden]
    const std::uint8_t* value_layer3;   // float [hidden]
};

// What one step of a table is worth.
struct SparseScales {
    float groups;     // times a number of 127 parts
    float move_bias;  // of label_bias and group_bias
    float value_rows;
    float value_bias3;  // the last layer's bias
};

// Finds the arrays. Throws std::invalid_argument, with what is wrong, for bytes that are no such file; does not look at the hash.
SparseArrays read_sparse_file(std::span<const std::uint8_t> file);

}  // namespace fukayomi
