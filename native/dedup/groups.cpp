#include "dedup/groups.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

namespace fukayomi {

namespace {

struct Item {
    std::uint64_t hash;
    std::uint32_t index;
};

bool before(const Item& a, const Item& b) { return a.hash != b.hash ? a.hash < b.hash : a.index < b.index; }

// Most bins have a few items; large ones are of keys that come again and again.
void sort_bin(std::span<Item> items) {
    constexpr std::size_t SMALL = 24;
    if (items.size() > SMALL) return std::sort(items.begin(), items.end(), before);
    for (std::size_t i = 1; i < items.size(); ++i) {
        const Item item = items[i];
        std::size_t at = i;
        for (; at > 0 && before(item, items[at - 1]); --at) items[at] = items[at - 1];
        items[at] = item;
    }
}

void check_count(std::size_t count) {
    if (count > std::numeric_limits<std::uint32_t>::max()) throw std::out_of_range("more rows than 32 bits can number");
}

bool same_key(const std::uint8_t* a, const std::uint8_t* b) { return std::memcmp(a, b, KEY_BYTES) == 0; }

// The items by (hash, index). Hashes are spread evenly, so one pass puts each within a few places of where it belongs.
std::vector<Item> sorted_items(std::span<const std::uint8_t* const> keys, unsigned hash_bits) {
    std::vector<std::uint64_t> hashes(keys.size());
    std::uint64_t low = std::numeric_limits<std::uint64_t>::max(), high = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        hashes[i] = hash_key(keys[i], hash_bits);
        low = std::min(low, hashes[i]);
        high = std::max(high, hashes[i]);
    }
    const int bin_bits = std::max(1, static_cast<int>(std::bit_width(keys.size())) - 2);  // two to four rows a bin
    const int shift = std::max(0, static_cast<int>(std::bit_width(high - low)) - bin_bits);
    std::vector<std::uint32_t> ends(static_cast<std::size_t>((high - low) >> shift) + 2);
    for (const std::uint64_t hash : hashes) ++ends[static_cast<std::size_t>((hash - low) >> shift) + 1];
    for (std::size_t bin = 1; bin < ends.size(); ++bin) ends[bin] += ends[bin - 1];

    std::vector<Item> items(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i)
        items[ends[static_cast<std::size_t>((hashes[i] - low) >> shift)]++] = {hashes[i], static_cast<std::uint32_t>(i)};
    std::size_t begin = 0;
    for (std::size_t bin = 0; bin + 1 < ends.size(); ++bin) {
        const std::size_t end = ends[bin];
        sort_bin(std::span(items.data() + begin, end - begin));
        begin = end;
    }
    return items;
}

// Where rows go, bucket after bucket.
struct Places {
    Places(RowView rows, unsigned bucket_bits, unsigned hash_bits)
        : counts(std::size_t{1} << bucket_bits), bucket_of_(rows.count), next_(counts.size()) {
        check_count(rows.count);
        for (std::size_t row = 0; row < rows.count; ++row) {
            const std::uint64_t hash = hash_key(rows[row], hash_bits);
            const std::size_t bucket = bucket_bits == 0 ? 0 : static_cast<std::size_t>(hash >> (HASH_BITS - bucket_bits));
            bucket_of_[row] = static_cast<std::uint16_t>(bucket);
            ++counts[bucket];
        }
        for (std::size_t bucket = 1; bucket < next_.size(); ++bucket)
            next_[bucket] = next_[bucket - 1] + static_cast<std::uint32_t>(counts[bucket - 1]);
    }

    // Of the rows in turn.
    std::size_t take(std::size_t row) { return next_[bucket_of_[row]]++; }

    std::vector<std::uint64_t> counts;

  private:
    std::vector<std::uint16_t> bucket_of_;
    std::vector<std::uint32_t> next_;
};

}  // namespace

Buckets bucket_rows(RowView rows, unsigned bucket_bits, unsigned hash_bits) {
    Places places(rows, bucket_bits, hash_bits);
    Buckets out;
    out.order.resize(rows.count);
    for (std::size_t row = 0; row < rows.count; ++row) out.order[places.take(row)] = static_cast<std::uint32_t>(row);
    out.counts = std::move(places.counts);
    return out;
}

std::vector<std::uint64_t> spread_rows(RowView rows, unsigned bucket_bits, unsigned hash_bits, std::uint8_t* out) {
    Places places(rows, bucket_bits, hash_bits);
    constexpr std::size_t WIDTH = 38;  // hcpe: a width that is known becomes a few moves of registers
    for (std::size_t row = 0; row < rows.count; ++row) {
        if (rows.width == WIDTH)
            std::memcpy(out + places.take(row) * WIDTH, rows.data + row * WIDTH, WIDTH);
        else
            std::memcpy(out + places.take(row) * rows.width, rows[row], rows.width);
    }
    return std::move(places.counts);
}

Groups group_keys(std::span<const std::uint8_t* const> keys, unsigned hash_bits) {
    check_count(keys.size());
    Groups out;
    if (keys.empty()) return out;
    std::vector<Item> items = sorted_items(keys, hash_bits);
    out.order.resize(items.size());
    out.ends.reserve(items.size());
    constexpr std::size_t AHEAD = 16;
    for (std::size_t begin = 0, end; begin < items.size(); begin = end) {
        if (begin + AHEAD + 1 < items.size() && items[begin + AHEAD].hash == items[begin + AHEAD + 1].hash)
            prefetch_row(keys[items[begin + AHEAD].index]);  // it will be compared
        const std::uint8_t* first = keys[items[begin].index];
        bool one_key = true;
        for (end = begin + 1; end < items.size() && items[end].hash == items[begin].hash; ++end)
            one_key = one_key && same_key(first, keys[items[end].index]);
        if (!one_key)
            std::sort(items.data() + begin, items.data() + end, [&](const Item& a, const Item& b) {
                const int order = std::memcmp(keys[a.index], keys[b.index], KEY_BYTES);
                return order != 0 ? order < 0 : a.index < b.index;
            });
        for (std::size_t i = begin; i < end; ++i) {
            out.order[i] = items[i].index;
            const bool is_last = i + 1 == end || (!one_key && !same_key(keys[items[i].index], keys[items[i + 1].index]));
            if (is_last) out.ends.push_back(static_cast<std::uint32_t>(i + 1));
        }
    }
    return out;
}

}  // namespace fukayomi
