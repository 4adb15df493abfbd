// Leaves on their way to an evaluator and back.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <vector>

#include "search/leaf.hpp"
#include "search/tree.hpp"

namespace fukayomi {

class Search;
struct Reviewer;

// One thread at a time may use a batch. A batch that is destroyed gives its leaves back to the tree.
class Batch {
  public:
    static constexpr std::size_t MAX_CAPACITY = 65536;

    // `cache`: of the evaluator that the batch goes to; none if it is null. `reviewer`: for positions that have become important; likewise.
    // Throws std::invalid_argument at a capacity of 0 or above MAX_CAPACITY.
    Batch(Search& search, std::size_t capacity, EvalCache* cache = nullptr, Reviewer* reviewer = nullptr);
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    std::size_t capacity() const { return leaves_.size(); }
    std::size_t size() const { return count_; }
    bool has_cache() const { return cache_ != nullptr; }
    std::size_t hits() const { return hits_; }  // leaves of the last gather that were found in the cache

  private:
    friend class Search;
    class Use;

    Search& search_;
    EvalCache* cache_;
    Reviewer* reviewer_;
    std::vector<std::unique_ptr<Leaf>> leaves_;
    std::size_t count_ = 0;  // leaves that have a row in the slot
    std::size_t hits_ = 0;
    std::vector<MateCheck> checks_;       // of the leaves that were selected last
    std::vector<std::vector<Move>> due_;  // the moves to positions that are due for a review
    LeafReader reader_;
    std::atomic<bool> is_busy_ = false;

    // Guarded by the search's mutex: the visits to undo in the tree if the batch is cancelled.
    std::size_t in_flight_ = 0;  // the first in_flight_ leaves
    std::size_t reviewed_ = 0;   // the first reviewed_ leaves, which then hold positions under review
    std::vector<Path> collisions_;
    std::size_t collision_count_ = 0;
    bool is_registered_ = false;
};

// Marks a batch as in use. A batch of another search, and two threads with one batch, are mistakes of the caller: throws
// std::invalid_argument and std::logic_error.
class Batch::Use {
  public:
    Use(Batch& batch, const Search& by) : batch_(batch) {
        if (&batch.search_ != &by) throw std::invalid_argument("the batch is of another search");
        if (batch.is_busy_.exchange(true)) throw std::logic_error("another thread is using this batch");
    }
    ~Use() { batch_.is_busy_.store(false); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

  private:
    Batch& batch_;
};

}  // namespace fukayomi
