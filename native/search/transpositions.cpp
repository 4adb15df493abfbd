#include "search/transpositions.hpp"

#include <bit>

namespace fukayomi {

namespace {

constexpr std::size_t TREE_BYTES_PER_PLACE = 256;  // an expanded node with its edges

}  // namespace

Transpositions::Transpositions(ChunkPool& pool, NodePool& nodes) : nodes_(nodes) {
    if (!nodes.has_keys()) return;
    table_.assign(std::bit_floor(pool.max_bytes() / TREE_BYTES_PER_PLACE), NOWHERE);
    pool.account(table_.capacity() * sizeof(Index));
}

// The node may have been dropped since it was entered, and its cell may be in use for another position.
bool Transpositions::can_give(Index i, std::size_t at) const {
    if (i >= nodes_.cells() || nodes_.key(i) == 0 || place(nodes_.key(i)) != at) return false;
    const Node& node = nodes_[i];
    return node.visits > 0 && node.proof == Proof::NONE && !node.needs_past;
}

Index Transpositions::find(std::uint64_t key) const {
    const std::size_t at = place(key);
    return can_give(table_[at], at) && nodes_.key(table_[at]) == key ? table_[at] : NOWHERE;
}

Index Transpositions::enter(Index i) {
    const std::uint64_t key = nodes_.key(i);
    const std::size_t at = place(key);
    Index& best = table_[at];
    if (can_give(i, at) && (!can_give(best, at) || nodes_[best].visits < nodes_[i].visits)) best = i;
    return find(key);
}

}  // namespace fukayomi
