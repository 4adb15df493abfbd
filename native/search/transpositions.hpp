// The nodes of a tree that hold the same position, reached by other moves: which of them knows most of it.
//
// A table of fixed size has, for the hash of a position, its most visited node. Only visited nodes whose values hold wherever
// the position comes up are in it: not what is proven, and not what contains a repetition of a position before the node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/node.hpp"
#include "search/pool.hpp"

namespace fukayomi {

class Transpositions {
public:
    // Nodes without keys have none, and no memory is used.
    Transpositions(ChunkPool& pool, NodePool& nodes);
    void clear() { std::fill(table_.begin(), table_.end(), NOWHERE); }

    // The most visited node of a position; NOWHERE if there is none.
    Index find(std::uint64_t key) const;
    // Enters an expanded node where it is the most visited one, and returns that of its position, which may be itself.
    Index enter(Index node);

private:
    std::size_t place(std::uint64_t key) const { return key & (table_.size() - 1); }
    bool can_give(Index node, std::size_t place) const;

    NodePool& nodes_;
    std::vector<Index> table_;
};

}  // namespace fukayomi
