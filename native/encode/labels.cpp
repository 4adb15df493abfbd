#include "encode/labels.hpp"

#include <array>
#include <cstdlib>

namespace fukayomi {
namespace {

constexpr std::uint8_t NO_DIRECTION = 255;
constexpr int PROMOTIONS = 10;  // the first direction with promotion
constexpr int DROPS = 20;

constexpr int absolute(int x) { return x < 0 ? -x : x; }

// As Black sees it. LEFT is where the file numbers are higher.
constexpr std::uint8_t direction(Square from, Square to) {
    const int left = file_of(to) - file_of(from);
    const int down = rank_of(to) - rank_of(from);
    if (down == -2 && absolute(left) == 1) return left > 0 ? 8 : 9;
    if ((left == 0 && down == 0) || (left != 0 && down != 0 && absolute(left) != absolute(down))) return NO_DIRECTION;
    if (down == 0) return left > 0 ? 3 : 4;
    const int first = down < 0 ? 0 : 5;
    return static_cast<std::uint8_t>(left == 0 ? first : first + (left > 0 ? 1 : 2));
}

constexpr auto DIRECTIONS = [] {
    std::array<std::uint8_t, SQUARES * SQUARES> table{};
    for (Square from = 0; from < SQUARES; ++from)
        for (Square to = 0; to < SQUARES; ++to) table[static_cast<std::size_t>(from * SQUARES + to)] = direction(from, to);
    return table;
}();

constexpr std::uint8_t direction_of(Color turn, Move m) {  // of a move on the board
    const Square from = turn == BLACK ? m.from() : rotate(m.from());
    const Square to = turn == BLACK ? m.to() : rotate(m.to());
    return DIRECTIONS[static_cast<std::size_t>(from * SQUARES + to)];
}

// By side and by the bits of a move without promotion; 0 where there is no such move.
constexpr auto LABELS = [] {
    std::array<std::array<std::uint16_t, 1 << 14>, 2> table{};
    for (const Color turn : {BLACK, WHITE})
        for (std::uint16_t raw = 0; raw < 1 << 14; ++raw) {
            const Move m(raw);
            if (m.to() >= SQUARES || (m.is_drop() && m.dropped() > GOLD)) continue;
            const int plane = m.is_drop() ? DROPS + m.dropped() - PAWN : direction_of(turn, m);
            const Square to = turn == BLACK ? m.to() : rotate(m.to());
            if (plane != NO_DIRECTION) table[turn][raw] = static_cast<std::uint16_t>(plane * SQUARES + to);
        }
    return table;
}();

}  // namespace

bool has_policy_label(Color turn, Move m) {
    if ((m.raw() & (1 << 15)) != 0 || m.to() >= SQUARES) return false;
    if (m.is_drop()) return m.dropped() <= GOLD && !m.is_promotion();
    return direction_of(turn, m) != NO_DIRECTION;
}

std::uint16_t policy_label(Color turn, Move m) {
    const auto direction_and_to = LABELS[turn][m.raw() & (LABELS[turn].size() - 1)];
    return static_cast<std::uint16_t>(direction_and_to + (m.is_promotion() ? PROMOTIONS * SQUARES : 0));
}

}  // namespace fukayomi
