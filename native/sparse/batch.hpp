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
    std::vector<std::uint16_t> rows;         // [K]
    std::vector<std::int64_t> row_offsets;   // [N + 1]
    std::vector<std::uint16_t> labels;       // [M]
    std::vector<std::uint16_t> groups;       // [M, MOVE_GROUPS]
    std::vector<std::int64_t> move_offsets;  // [N + 1]
    std::vector<float> policy;               // [M]: shares of the visits; all 0 where a position has none
    // Of read_sparse_planes alone:
    std::vector<std::int32_t> places;  // [M]: n * POLICY_LABELS + the policy label of the move
    std::vector<std::int64_t> played;  // [N]: number of the move with the position's label, below M; -1: none
};

// Position n has the candidates from offsets[n] to offsets[n + 1]. A candidate that the search leaves out counts for its promotion.
struct SparsePositions {
    std::span<const std::uint8_t> hcps;     // [N * 32]
    std::span<const std::int64_t> offsets;  // [N + 1]
    std::span<const std::uint16_t> moves;
    std::span<const std::uint16_t> visits;
};

// Throws ParseError(PACKED), with the number of the position, for one that has no legal hcp.
SparseBatch read_sparse_batch(const SparsePositions& positions, std::size_t threads);

// N packed positions with what training has for networks that read planes. A label of a move that the search leaves out counts for its
// promotion.
struct SparsePlanes {
    std::span<const std::uint8_t> planes1;  // [N * PACKED1_BYTES]
    std::span<const std::uint8_t> planes2;  // [N * PACKED2_BYTES]
    std::span<const std::uint16_t> labels;  // [N]; NO_POLICY_LABEL: none
    std::span<const std::int32_t> places;   // [C]: n * POLICY_LABELS + label, where the policy is not zero; n < N ascends
    std::span<const float> weights;         // [C]
    bool has_moves = true;                  // false: rows alone are read
};

// Throws ParseError(PACKED), with the number of the position, for planes that are no position that the rules allow.
SparseBatch read_sparse_planes(const SparsePlanes& positions, std::size_t threads);

}  // namespace fukayomi
