// The memory that an evaluator reads and writes. C is its capacity; a leaf has one row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "encode/labels.hpp"
#include "encode/planes.hpp"
#include "shogi/types.hpp"

namespace fukayomi {

struct SlotInput {
    std::uint8_t* planes1;   // [C, PACKED1_BYTES]
    std::uint8_t* planes2;   // [C, PACKED2_BYTES]
    std::uint16_t* labels;   // [C, MAX_MOVES]: policy labels of the leaf's moves; only the first counts[row] are written
    std::uint16_t* counts;   // [C]: number of moves
};

struct SlotOutput {
    float* logits;  // [C, MAX_MOVES], in the order of the labels
    float* values;  // [C]: win probability of the side to move
};

}  // namespace fukayomi
