// Positions for a sparse network, with what it should say of their moves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/hcp.hpp"
#include "sparse/features.hpp"

namespace fukayomi {

// N positions with K rows and M moves in all. The moves are those that the search tries: without needless non-promotions.
struct SparseBatch {
    std::vector<std::uint16_t> rows;          // [K]
    std::vector<std::int64_t> row_offsets;    // [N + 1]
    std::vector<std::uint16_t> labels;        // [M]
    std::vector<std::uint16_t> groups;        // [M, MOVE_GROUPS]
    std::vector<std::int64_t> move_offsets;   // [N + 1]
    std::vector<float> policy;                // [M]: shares of the visits; all 0 where a position has none
};

// Position n has the candidates from offsets[n] to offsets[n + 1]. A candidate that the search leaves out counts for its promotion.
struct SparsePositions {
    std::span<const std::uint8_t> hcps;  // [N * 32]
    std::span<const std::int64_t> offsets;  // [N + 1]
    std::span<const std::uint16_t> moves;
    std::span<const std::uint16_t> visits;
};

// Throws ParseError(PACKED) for a position that has no legal hcp.
SparseBatch read_sparse_batch(const SparsePositions& positions, std::size_t threads);

}  // namespace fukayomi
