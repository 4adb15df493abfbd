// RowView that begin with the same 32-byte key (an hcp), brought together: by a hash first, then by the key itself, so that
// keys whose hashes are equal never mix, in whatever order they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fukayomi {

constexpr std::size_t KEY_BYTES = 32;
constexpr unsigned HASH_BITS = 64;

// The hash of docs/formats.md: splitmix64's finaliser over each of the key's four words (Steele, Lea, Flood, 2014).
// Only the highest `bits` of it are kept; fewer than all serve the tests of equal hashes.
std::uint64_t hash_key(const std::uint8_t* key, unsigned bits = HASH_BITS);

// RowView of equal width, each of which begins with a key.
struct RowView {
    const std::uint8_t* data;
    std::size_t count;
    std::size_t width;

    const std::uint8_t* operator[](std::size_t row) const { return data + row * width; }
};

// Where each row goes if the hash's highest `bucket_bits` say which bucket: the rows' numbers, bucket after bucket and
// within a bucket in their own order, and how many rows each bucket has [1 << bucket_bits].
// Throws std::out_of_range for more than 2^32 - 1 rows.
struct Buckets {
    std::vector<std::uint32_t> order;
    std::vector<std::uint64_t> counts;
};
Buckets bucket_rows(RowView rows, unsigned bucket_bits, unsigned hash_bits);

// The keys' numbers, group after group: groups by (hash, key bytes), and within a group in their own order.
// Throws std::out_of_range for more than 2^32 - 1 keys.
struct Groups {
    std::vector<std::uint32_t> order;
    std::vector<std::uint32_t> ends;  // [groups], where in `order` each group ends

    std::size_t size() const { return ends.size(); }
    std::span<const std::uint32_t> operator[](std::size_t group) const {
        const std::size_t begin = group == 0 ? 0 : ends[group - 1];
        return {order.data() + begin, ends[group] - begin};
    }
};
Groups group_keys(std::span<const std::uint8_t* const> keys, unsigned hash_bits);

}  // namespace fukayomi
