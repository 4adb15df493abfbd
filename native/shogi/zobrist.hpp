// Keys for hashing positions. They are made from a fixed seed, so that a key means the same in every run.
#pragma once

#include <array>
#include <cstdint>

#include "shogi/types.hpp"

namespace fukayomi {

// The finaliser of splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
constexpr std::uint64_t mix64(std::uint64_t x) {
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9ULL;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

struct ZobristTables {
    std::array<std::array<std::uint64_t, SQUARES>, 32> piece{};  // [piece][square]
    std::uint64_t turn = 0;                                      // White to move
};

constexpr ZobristTables make_zobrist() {
    ZobristTables t;
    std::uint64_t state = 0x66756B61796F6D69ULL;  // "fukayomi"
    const auto next = [&state] { return mix64(state += 0x9E3779B97F4A7C15ULL); };
    for (auto& squares : t.piece)
        for (auto& key : squares) key = next();
    t.turn = next();
    return t;
}

inline constexpr ZobristTables ZOBRIST = make_zobrist();

// Both hands in one key. Hands change little and are read once a position: mixing beats a table.
constexpr std::uint64_t hands_key(Hand black, Hand white) {
    return mix64((static_cast<std::uint64_t>(white.bits()) << 32 | black.bits()) + 0x9E3779B97F4A7C15ULL);
}

}  // namespace fukayomi
