// dlshogi's policy labels: direction * 81 + to, both from the side to move's point of view.
// Directions 0-9: UP, UP_LEFT, UP_RIGHT, LEFT, RIGHT, DOWN, DOWN_LEFT, DOWN_RIGHT, UP2_LEFT, UP2_RIGHT; 10-19 the same
// with promotion; 20-26 drops of P L N S B R G.
#pragma once

#include <cstdint>

#include "shogi/types.hpp"

namespace fukayomi {

constexpr int POLICY_LABELS = 2187;
constexpr std::uint16_t NO_POLICY_LABEL = 0xFFFF;  // of a position without a move to learn

// Whether any piece of that side moves like this on an empty board. Takes any 16 bits.
bool has_policy_label(Color turn, Move m);

// Of a drop that Black makes, or White on a rotated board.
constexpr std::uint16_t drop_label(PieceType t, Square to) { return static_cast<std::uint16_t>((20 + t - PAWN) * SQUARES + to); }

// The move must have a label, as every legal move has.
std::uint16_t policy_label(Color turn, Move m);

}  // namespace fukayomi
