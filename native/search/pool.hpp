// Memory for the tree, by 32-bit indices, under one hard cap.
//
// Everything comes in chunks of 64 KiB from one pool, which refuses a chunk beyond the cap: the bytes that it reports are
// all that the tree holds. Nodes are cells with a free list. Edges and children are blocks of many sizes, whose free lists
// would fragment as a game goes from thirty legal moves to a hundred. So blocks are written one after another, a released
// block is only marked, and a chunk that is mostly released is compacted in place when memory is needed: its remaining
// blocks move down, and the links of their owners are updated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "search/node.hpp"

namespace fukayomi {

constexpr std::size_t CHUNK_BYTES = std::size_t{1} << 16;

struct alignas(64) Chunk {
    std::byte bytes[CHUNK_BYTES];
};

class ChunkPool {
  public:
    explicit ChunkPool(std::size_t max_bytes);

    Chunk* acquire();  // null when the cap is reached
    void release(Chunk* chunk) { free_.push_back(chunk); }

    // Counts a table of a user of the pool.
    void account(std::size_t bytes) { tables_ += bytes; }
    std::size_t bytes() const { return chunks_.size() * CHUNK_BYTES + tables_; }
    std::size_t table_bytes() const { return tables_; }
    std::size_t max_bytes() const { return max_bytes_; }
    std::size_t max_chunks() const { return max_bytes_ / CHUNK_BYTES; }

  private:
    std::size_t max_bytes_;
    std::size_t tables_ = 0;
    std::vector<std::unique_ptr<Chunk>> chunks_;
    std::vector<Chunk*> free_;
};

class NodePool {
  public:
    static constexpr Index NODES_PER_CHUNK = CHUNK_BYTES / sizeof(Node);

    explicit NodePool(ChunkPool& pool);

    Node& operator[](Index i) { return reinterpret_cast<Node*>(chunks_[i / NODES_PER_CHUNK]->bytes)[i % NODES_PER_CHUNK]; }
    const Node& operator[](Index i) const {
        return reinterpret_cast<const Node*>(chunks_[i / NODES_PER_CHUNK]->bytes)[i % NODES_PER_CHUNK];
    }

    Index allocate();  // NOWHERE when the cap is reached
    void release(Index i);
    void clear();
    std::size_t size() const { return used_; }
    Index cells() const { return next_; }  // those in use, and free ones, which have no children

  private:
    ChunkPool& pool_;
    std::vector<Chunk*> chunks_;
    Index next_ = 0;  // the first cell that was never used
    Index free_ = NOWHERE;
    std::size_t used_ = 0;
};

// Blocks of one kind; `link` is where a node keeps the index of its block of that kind.
class BlockPool {
  public:
    static constexpr std::size_t UNIT_BYTES = 16;
    static constexpr std::size_t UNITS_PER_CHUNK = CHUNK_BYTES / UNIT_BYTES;

    BlockPool(ChunkPool& pool, NodePool& nodes, Index Node::* link);

    // The new block's index, or NOWHERE when the cap is reached. Other blocks may move: pointers into this pool become invalid.
    // The owner's link is not set.
    Index allocate(Index owner, std::size_t payload_bytes);
    void release(Index block);
    void clear();

    template <class T>
    T* payload(Index block) const {
        return reinterpret_cast<T*>(unit(block) + sizeof(Header));
    }
    std::size_t payload_bytes(Index block) const { return header(block).units * UNIT_BYTES - sizeof(Header); }
    std::size_t live_units() const { return live_units_; }
    static std::size_t units_for(std::size_t payload_bytes) { return (sizeof(Header) + payload_bytes + UNIT_BYTES - 1) / UNIT_BYTES; }

  private:
    struct Header {
        Index owner;  // NOWHERE: released
        std::uint32_t units;
    };
    struct Area {
        Chunk* chunk;
        std::uint16_t filled;  // units written, released ones included
        std::uint16_t live;
        bool is_listed;  // in reclaimable_
    };

    std::byte* unit(Index i) const { return areas_[i / UNITS_PER_CHUNK].chunk->bytes + (i % UNITS_PER_CHUNK) * UNIT_BYTES; }
    Header& header(Index block) const { return *reinterpret_cast<Header*>(unit(block)); }
    bool open_area(std::size_t units);
    void list_if_reclaimable(std::size_t area);
    void compact(std::size_t area);

    ChunkPool& pool_;
    NodePool& nodes_;
    Index Node::* link_;
    std::vector<Area> areas_;
    std::vector<std::uint32_t> reclaimable_;  // areas at least half released
    std::size_t current_ = NOWHERE;
    std::size_t live_units_ = 0;
};

}  // namespace fukayomi
