#include "codec/book_key.hpp"

#include <array>
#include <random>

namespace fukayomi {
namespace {

constexpr std::size_t PIECES = 31;       // by Piece, NO_PIECE included
constexpr std::size_t HAND_COUNTS = 19;  // 0 to 18

// Random words in the order in which Apery draws them, from the generator's default seed.
struct Tables {
    std::array<std::array<std::uint64_t, SQUARES>, PIECES> piece;
    std::array<std::array<std::uint64_t, HAND_COUNTS>, HAND_TYPES> hand;
    std::uint64_t turn;

    Tables() {
        std::mt19937_64 random;
        for (auto& squares : piece)
            for (auto& word : squares) word = random();
        for (auto& counts : hand)
            for (auto& word : counts) word = random();
        turn = random();
    }
};

const Tables& tables() {
    static const Tables once;
    return once;
}

}  // namespace

std::uint64_t book_key(const Board& pos) {
    const Tables& t = tables();
    std::uint64_t key = pos.turn() == WHITE ? t.turn : 0;
    pos.occupied().for_each([&](Square s) { key ^= t.piece[pos.piece_on(s)][static_cast<std::size_t>(s)]; });
    for (std::size_t i = 0; i < HAND_TYPES; ++i) key ^= t.hand[i][static_cast<std::size_t>(pos.hand(pos.turn()).count(HAND_ORDER[i]))];
    return key;
}

}  // namespace fukayomi
