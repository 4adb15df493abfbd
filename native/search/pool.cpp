#include "search/pool.hpp"

#include <algorithm>
#include <cstring>

namespace fukayomi {

ChunkPool::ChunkPool(std::size_t max_bytes) : max_bytes_(max_bytes) {
    chunks_.reserve(max_chunks());
    free_.reserve(max_chunks());
    account(chunks_.capacity() * sizeof(chunks_[0]) + free_.capacity() * sizeof(free_[0]));
}

Chunk* ChunkPool::acquire() {
    if (!free_.empty()) {
        Chunk* chunk = free_.back();
        free_.pop_back();
        return chunk;
    }
    if (bytes() + CHUNK_BYTES > max_bytes_) return nullptr;
    chunks_.push_back(std::make_unique_for_overwrite<Chunk>());
    return chunks_.back().get();
}

NodePool::NodePool(ChunkPool& pool) : pool_(pool) {
    chunks_.reserve(pool.max_chunks());
    pool.account(chunks_.capacity() * sizeof(Chunk*));
}

Index NodePool::allocate() {
    Index i = free_;
    if (i != NOWHERE) {
        free_ = (*this)[i].visits;
    } else {
        if (next_ / NODES_PER_CHUNK == chunks_.size()) {
            Chunk* chunk = pool_.acquire();
            if (chunk == nullptr) return NOWHERE;
            chunks_.push_back(chunk);
        }
        i = next_++;
    }
    ++used_;
    (*this)[i] = Node{};
    return i;
}

void NodePool::release(Index i) {
    (*this)[i].visits = free_;
    (*this)[i].children = NOWHERE;
    free_ = i;
    --used_;
}

void NodePool::clear() {
    for (Chunk* chunk : chunks_) pool_.release(chunk);
    chunks_.clear();
    next_ = 0;
    free_ = NOWHERE;
    used_ = 0;
}

BlockPool::BlockPool(ChunkPool& pool, NodePool& nodes, Index Node::* link) : pool_(pool), nodes_(nodes), link_(link) {
    areas_.reserve(pool.max_chunks());
    reclaimable_.reserve(pool.max_chunks());
    pool.account(areas_.capacity() * sizeof(Area) + reclaimable_.capacity() * sizeof(std::uint32_t));
}

Index BlockPool::allocate(Index owner, std::size_t payload_bytes) {
    const std::size_t units = units_for(payload_bytes);
    if (current_ == NOWHERE || areas_[current_].filled + units > UNITS_PER_CHUNK) {
        if (!open_area(units)) return NOWHERE;
    }
    Area& area = areas_[current_];
    const auto block = static_cast<Index>(current_ * UNITS_PER_CHUNK + area.filled);
    header(block) = {owner, static_cast<std::uint32_t>(units)};
    area.filled = static_cast<std::uint16_t>(area.filled + units);
    area.live = static_cast<std::uint16_t>(area.live + units);
    live_units_ += units;
    return block;
}

void BlockPool::release(Index block) {
    Header& head = header(block);
    Area& area = areas_[block / UNITS_PER_CHUNK];
    area.live = static_cast<std::uint16_t>(area.live - head.units);
    live_units_ -= head.units;
    head.owner = NOWHERE;
    if (block / UNITS_PER_CHUNK != current_) list_if_reclaimable(block / UNITS_PER_CHUNK);
}

void BlockPool::clear() {
    for (const Area& area : areas_) pool_.release(area.chunk);
    areas_.clear();
    reclaimable_.clear();
    current_ = NOWHERE;
    live_units_ = 0;
}

void BlockPool::list_if_reclaimable(std::size_t i) {
    Area& area = areas_[i];
    if (area.is_listed || area.live > UNITS_PER_CHUNK / 2) return;
    area.is_listed = true;
    reclaimable_.push_back(static_cast<std::uint32_t>(i));
}

// Makes an area with space for a block the current one: one that is half released, else a new one, else, at the cap, the
// one with the most space if that is worth the copying.
bool BlockPool::open_area(std::size_t units) {
    if (current_ != NOWHERE) {
        const std::size_t left = current_;
        current_ = NOWHERE;
        list_if_reclaimable(left);
    }
    if (!reclaimable_.empty()) {
        const std::size_t area = reclaimable_.back();
        reclaimable_.pop_back();
        areas_[area].is_listed = false;
        compact(area);
        current_ = area;
        return true;
    }
    if (Chunk* chunk = pool_.acquire(); chunk != nullptr) {
        areas_.push_back({chunk, 0, 0, false});
        current_ = areas_.size() - 1;
        return true;
    }
    const auto emptiest = std::min_element(areas_.begin(), areas_.end(), [](const Area& a, const Area& b) { return a.live < b.live; });
    if (emptiest == areas_.end() || emptiest->live + std::max(units, UNITS_PER_CHUNK / 16) > UNITS_PER_CHUNK) return false;
    current_ = static_cast<std::size_t>(emptiest - areas_.begin());
    compact(current_);
    return true;
}

void BlockPool::compact(std::size_t i) {
    Area& area = areas_[i];
    std::size_t to = 0;
    for (std::size_t from = 0; from < area.filled;) {
        std::byte* source = area.chunk->bytes + from * UNIT_BYTES;
        const Header head = *reinterpret_cast<Header*>(source);
        if (head.owner != NOWHERE) {
            std::memmove(area.chunk->bytes + to * UNIT_BYTES, source, head.units * UNIT_BYTES);
            nodes_[head.owner].*link_ = static_cast<Index>(i * UNITS_PER_CHUNK + to);
            to += head.units;
        }
        from += head.units;
    }
    area.filled = static_cast<std::uint16_t>(to);
}

}  // namespace fukayomi
