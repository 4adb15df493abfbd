// What 16 bits of a file say about a move. Moves as PackedSfenValue (psv) writes them: to | from << 7, with 0x4000 for a drop, where `from` is the piece type, and
// 0x8000 for a promotion.
#pragma once

#include <cstdint>

#include "shogi/types.hpp"

namespace fukayomi {

// Whether the bits of hcpe's move are some move at all, on whatever board.
constexpr bool is_move(Move m) {
    if (m.to() >= SQUARES || m.raw() >= 1U << 15) return false;
    return m.is_drop() ? m.dropped() <= GOLD && !m.is_promotion() : m.from() != m.to();
}

constexpr std::uint16_t PSV_DROP = 0x4000;
constexpr std::uint16_t PSV_PROMOTION = 0x8000;

constexpr std::uint16_t psv_move(Move m) {
    if (m.is_drop()) return static_cast<std::uint16_t>(m.to() | (m.dropped() << 7) | PSV_DROP);
    return static_cast<std::uint16_t>(m.to() | (m.from() << 7) | (m.is_promotion() ? PSV_PROMOTION : 0));
}

// No move (0) for bits that are none.
constexpr Move move_from_psv(std::uint16_t bits) {
    const int to = bits & 127;
    const int from = (bits >> 7) & 127;
    const bool promotion = (bits & PSV_PROMOTION) != 0;
    if (to >= SQUARES) return Move();
    if ((bits & PSV_DROP) != 0) {
        if (promotion || from < PAWN || from > GOLD) return Move();
        return Move::drop(static_cast<PieceType>(from), to);
    }
    if (from >= SQUARES || from == to) return Move();
    return Move::normal(from, to, promotion);
}

}  // namespace fukayomi
