// RowView that begin with the same 32-byte key (an hcp), brought together: by a hash first, then by the key itself, so that
// keys whose hashes are equal never mix, in whatever order they come.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace fukayomi {

constexpr std::size_t KEY_BYTES = 32;
constexpr unsigned HASH_BITS = 64;

// The hash of docs/formats.md: splitmix64's finaliser over each of the key's four words (Steele, Lea, Flood, 2014).
// Only the highest `bits` of it are kept; fewer than all serve the tests of equal hashes.
inline std::uint64_t hash_key(const std::uint8_t* key, unsigned bits = HASH_BITS) {
    std::uint64_t hash = 0;
    for (std::size_t at = 0; at < KEY_BYTES; at += sizeof(std::uint64_t)) {
        std::uint64_t word;
        std::memcpy(&word, key + at, sizeof word);
        hash ^= word;
        hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9u;
        hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBu;
        hash ^= hash >> 31;
    }
    return bits == 0 ? 0 : hash & (~std::uint64_t{0} << (HASH_BITS - bits));
}

// RowView of equal width, each of which begins with a key.
struct RowView {
    const std::uint8_t* data;
    std::size_t count;
    std::size_t width;

    const std::uint8_t* operator[](std::size_t row) const { return data + row * width; }
};

// Asks for memory that will be read soon. Rows are visited in the order of their hashes, which no processor foresees.
inline void prefetch_row([[maybe_unused]] const std::uint8_t* row) {
#if defined(__GNUC__)
    __builtin_prefetch(row);
    __builtin_prefetch(row + KEY_BYTES);
#endif
}

// Where each row goes if the hash's highest `bucket_bits` say which bucket: the rows' numbers, bucket after bucket and
// within a bucket in their own order, and how many rows each bucket has [1 << bucket_bits].
// Throws std::out_of_range for more than 2^32 - 1 rows.
struct Buckets {
    std::vector<std::uint32_t> order;
    std::vector<std::uint64_t> counts;
};
Buckets bucket_rows(RowView rows, unsigned bucket_bits, unsigned hash_bits);

// The rows themselves, put into `out` in that order; returns how many each bucket has.
std::vector<std::uint64_t> spread_rows(RowView rows, unsigned bucket_bits, unsigned hash_bits, std::uint8_t* out);

// The keys' numbers, group after group: groups by (hash, key bytes), and within a group in their own order.
// Throws std::out_of_range for more than 2^32 - 1 keys.
struct Groups {
    std::vector<std::uint32_t> order;
    std::vector<std::uint32_t> ends;  // [groups], where in `order` each group ends

    // visit(members) for each group, in their order; their rows, which begin at `keys`, are fetched ahead.
    template <class Visit>
    void for_each(std::span<const std::uint8_t* const> keys, Visit visit) const {
        constexpr std::size_t AHEAD = 16;
        for (std::size_t i = 0; i < std::min(AHEAD, order.size()); ++i) prefetch_row(keys[order[i]]);
        std::size_t begin = 0;
        for (const std::uint32_t end : ends) {
            for (std::size_t i = begin + AHEAD; i < std::min(end + AHEAD, order.size()); ++i) prefetch_row(keys[order[i]]);
            visit(std::span(order.data() + begin, end - begin));
            begin = end;
        }
    }
};
Groups group_keys(std::span<const std::uint8_t* const> keys, unsigned hash_bits);

}  // namespace fukayomi
