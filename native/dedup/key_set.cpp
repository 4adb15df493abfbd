#include "dedup/key_set.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "dedup/groups.hpp"

namespace fukayomi {

namespace {

constexpr std::size_t HEADER_BYTES = 36, MOVE_BYTES = 6, CANDIDATE_BYTES = 4;

std::size_t number_at(const std::uint8_t* bytes) { return bytes[0] | static_cast<std::size_t>(bytes[1]) << 8; }

// The bytes of the game of one move that begins here.
std::size_t game_bytes(std::span<const std::uint8_t> games, std::size_t at) {
    const std::size_t left = games.size() - at;
    if (left >= HEADER_BYTES + MOVE_BYTES && number_at(&games[at + KEY_BYTES]) == 1) {
        const std::size_t size = HEADER_BYTES + MOVE_BYTES + CANDIDATE_BYTES * number_at(&games[at + HEADER_BYTES + 4]);
        if (size <= left) return size;
    }
    throw std::invalid_argument("at offset " + std::to_string(at) + " is no game of one move (hcpe3)");
}

}  // namespace

// A quarter of the places stays free, so that few are looked at.
KeySet::KeySet(std::size_t capacity) : capacity_(capacity) {
    if (capacity > SIZE_MAX / 32) throw std::length_error("a set of positions cannot have " + std::to_string(capacity));
    places_.resize(capacity + capacity / 3 + 8);
}

bool KeySet::add(const std::uint8_t* key) {
    const std::uint64_t hash = std::max(hash_key(key), std::uint64_t{1});
    std::size_t place = hash % places_.size();
    while (places_[place] != 0) {
        if (places_[place] == hash) return false;
        if (++place == places_.size()) place = 0;
    }
    if (size_ == capacity_) throw std::length_error("the set of positions is full: it has " + std::to_string(capacity_));
    places_[place] = hash;
    ++size_;
    return true;
}

std::vector<std::uint8_t> add_new_positions(KeySet& set, std::span<const std::uint8_t> games, std::size_t& count) {
    for (std::size_t at = 0; at < games.size();) at += game_bytes(games, at);
    std::vector<std::uint8_t> found;
    found.reserve(games.size());
    count = 0;
    for (std::size_t at = 0; at < games.size();) {
        const auto game = games.subspan(at, game_bytes(games, at));
        if (set.add(game.data())) {
            found.insert(found.end(), game.begin(), game.end());
            ++count;
        }
        at += game.size();
    }
    return found;
}

}  // namespace fukayomi
