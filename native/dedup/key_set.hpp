// The positions that have been seen, by 64 bits of each: a set that only grows, up to a number that is fixed when it is made. Two
// positions count as one where their hashes are equal, which among a hundred million happens with a chance of 1 in 3 700.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fukayomi {

class KeySet {
  public:
    // Room for `capacity` keys, in 11 bytes each. Throws std::bad_alloc and std::length_error.
    explicit KeySet(std::size_t capacity);

    // Adds a key (32 bytes) and returns whether it is new. Throws std::length_error if the set is full.
    bool add(const std::uint8_t* key);

    std::size_t size() const { return size_; }
    std::size_t capacity() const { return capacity_; }
    std::size_t bytes() const { return places_.size() * sizeof(std::uint64_t); }

  private:
    std::size_t capacity_;
    std::size_t size_ = 0;
    std::vector<std::uint64_t> places_;  // hashes; 0: free
};

// Games of one move (hcpe3) whose positions are not in the set yet, in their order; the set then has them.
// `count` becomes their number. Throws std::invalid_argument at bytes that are not such games, which add nothing, and
// std::length_error as add.
std::vector<std::uint8_t> add_new_positions(KeySet& set, std::span<const std::uint8_t> games, std::size_t& count);

}  // namespace fukayomi
