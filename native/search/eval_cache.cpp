#include "search/eval_cache.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "shogi/require.hpp"
#include "shogi/zobrist.hpp"

namespace fukayomi {

namespace {

// An entry is a header and `count` priors of two bytes, without padding between them.
struct Header {
    std::uint64_t position;
    std::uint32_t moves;
    float value;
    std::uint16_t count;
};
constexpr std::size_t HEADER_BYTES = 18;
constexpr std::size_t WORD_BYTES = sizeof(std::uint64_t);
constexpr std::size_t SMALLEST_ENTRY_BYTES = 64;  // most have more, so that the table has a place for nearly all

constexpr std::size_t entry_words(std::size_t count) {
    return (HEADER_BYTES + count * sizeof(std::uint16_t) + WORD_BYTES - 1) / WORD_BYTES;
}

}  // namespace

EvalKey EvalKey::of(const Board& board, const MoveList& moves, float temperature) {
    std::uint32_t hash = 0;
    for (const Move m : moves) hash = hash * 0x9E3779B1U + m.raw();
    return {mix64(board.key() ^ mix64(std::bit_cast<std::uint32_t>(temperature))), hash};
}

void EvalCache::Free::operator()(void* memory) const { std::free(memory); }

// Memory from calloc is not there before it is used.
template <class T>
EvalCache::Memory<T> EvalCache::allocate(std::size_t count) {
    Memory<T> memory(static_cast<T*>(std::calloc(count, sizeof(T))));
    if (!memory) throw std::bad_alloc();
    bytes_ += count * sizeof(T);
    return memory;
}

EvalCache::EvalCache(std::size_t memory_mb) {
    require_between("memory_mb", memory_mb, 1, MAX_MEMORY_MB);
    const std::size_t part_bytes = (memory_mb << 20) / PARTS - sizeof(Part);
    buckets_ = std::bit_floor(part_bytes / SMALLEST_ENTRY_BYTES / WAYS);
    words_ = (part_bytes - buckets_ * WAYS * sizeof(std::uint32_t)) / WORD_BYTES;
    parts_ = std::make_unique<Part[]>(PARTS);
    bytes_ = PARTS * sizeof(Part);
    for (std::size_t i = 0; i < PARTS; ++i) {
        parts_[i].table = allocate<std::uint32_t>(buckets_ * WAYS);
        parts_[i].ring = allocate<std::uint64_t>(words_);
    }
}

// A place in the table may be out of date, and its entry overwritten by part of another: only the whole key decides.
bool EvalCache::is_at(const Part& part, std::size_t word, EvalKey key, std::size_t count) const {
    if (word + entry_words(count) > words_) return false;
    Header header;
    std::memcpy(&header, &part.ring[word], HEADER_BYTES);
    return header.position == key.position && header.moves == key.moves && header.count == count;
}

std::optional<float> EvalCache::find(EvalKey key, const MoveList& moves, std::span<Edge> edges) {
    Part& here = part(key);
    const Lock lock(here.mutex);
    const std::uint32_t* places = bucket(here, key);
    const std::uint32_t* place =
        std::find_if(places, places + WAYS, [&](std::uint32_t word) { return is_at(here, word, key, moves.size()); });
    if (place == places + WAYS) return std::nullopt;
    const auto* entry = reinterpret_cast<const std::byte*>(&here.ring[*place]);
    Header header;
    std::memcpy(&header, entry, HEADER_BYTES);
    for (std::size_t i = 0; i < moves.size(); ++i) {
        std::uint16_t prior;
        std::memcpy(&prior, entry + HEADER_BYTES + i * sizeof prior, sizeof prior);
        edges[i] = make_edge_of(prior, moves[i]);
    }
    return header.value;
}

void EvalCache::store(EvalKey key, std::span<const Edge> edges, float value) {
    Part& here = part(key);
    const Lock lock(here.mutex);
    std::uint32_t* places = bucket(here, key);
    std::uint32_t* place = places;
    std::size_t greatest_age = 0;
    for (std::uint32_t* p = places; p < places + WAYS; ++p) {
        if (is_at(here, *p, key, edges.size())) return;
        const std::size_t age = (here.next + words_ - *p) % words_;
        if (age < greatest_age) continue;
        place = p;
        greatest_age = age;
    }
    if (here.next + entry_words(edges.size()) > words_) here.next = 0;
    auto* entry = reinterpret_cast<std::byte*>(&here.ring[here.next]);
    const Header header{key.position, key.moves, value, static_cast<std::uint16_t>(edges.size())};
    std::memcpy(entry, &header, HEADER_BYTES);
    for (std::size_t i = 0; i < edges.size(); ++i) {
        const auto prior = static_cast<std::uint16_t>(edge_prior_bits(edges[i]));
        std::memcpy(entry + HEADER_BYTES + i * sizeof prior, &prior, sizeof prior);
    }
    *place = static_cast<std::uint32_t>(here.next);
    here.next += entry_words(edges.size());
}

}  // namespace fukayomi
