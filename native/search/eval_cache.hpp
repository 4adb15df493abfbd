// What a network has said of positions, for all searches that use it: a position that comes again, by other moves, in another
// tree or in a later game, needs no row of a batch.
//
// An entry holds the value and, in two bytes each, the priors of the moves as the tree keeps them: a search goes on exactly as
// if the network had been asked. The planes hold nothing but board, hands and side to move, so the key needs neither the past
// nor the ply.
//
// The memory is a ring of entries, in which a new one takes the place of the oldest, and a table of where they begin. Both
// are divided into parts with a lock each, held while one entry is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "search/node.hpp"
#include "shogi/board.hpp"
#include "shogi/mutex.hpp"
#include "shogi/types.hpp"

namespace fukayomi {

// What an evaluation by one network depends on. Moves never come from the cache, so that two positions of the same key, should
// there ever be any, would get wrong priors but no illegal move.
struct EvalKey {
    std::uint64_t position = 0;  // and softmax temperature
    std::uint32_t moves = 0;     // in their order

    static EvalKey of(const Board& board, const MoveList& moves, float temperature);
};

class EvalCache {
  public:
    static constexpr std::size_t MAX_MEMORY_MB = 65536;

    // Throws std::invalid_argument at a memory size out of range.
    explicit EvalCache(std::size_t memory_mb);

    // Writes the moves with their priors to `edges` and returns the position's value; none if it is not there.
    std::optional<float> find(EvalKey key, const MoveList& moves, std::span<Edge> edges);
    void store(EvalKey key, std::span<const Edge> edges, float value);

    std::size_t bytes() const { return bytes_; }  // of memory, most of it untouched until there are entries

  private:
    static constexpr std::size_t PARTS = 16;
    static constexpr std::size_t WAYS = 4;  // places of an entry in the table

    struct Free {
        void operator()(void* memory) const;
    };
    template <class T>
    using Memory = std::unique_ptr<T[], Free>;
    template <class T>
    Memory<T> allocate(std::size_t count);  // zeros

    struct Part {
        Mutex mutex;
        Memory<std::uint32_t> table;                      // [buckets_, WAYS]: the word where an entry begins, or once began
        Memory<std::uint64_t> ring;                       // [words_]
        std::size_t next FUKAYOMI_GUARDED_BY(mutex) = 0;  // where the next entry goes
    };

    Part& part(EvalKey key) { return parts_[key.position >> 60]; }
    std::uint32_t* bucket(const Part& part, EvalKey key) const { return &part.table[(key.position & (buckets_ - 1)) * WAYS]; }
    bool is_at(const Part& part, std::size_t word, EvalKey key, std::size_t count) const;

    std::size_t buckets_;  // a power of two
    std::size_t words_;
    std::size_t bytes_ = 0;
    std::unique_ptr<Part[]> parts_;
};

}  // namespace fukayomi
