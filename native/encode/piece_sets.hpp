// A position as the side to move sees it: sets of squares, one for each piece, and what they attack.
#pragma once

#include <array>

#include "codec/hcp.hpp"
#include "shogi/board.hpp"

namespace fukayomi {

constexpr std::size_t PIECE_PLANES = PIECE_TYPES - 1;    // of a colour
constexpr std::size_t ATTACK_PLANES = PIECE_PLANES + 3;  // by type, then attacked at least once, twice, thrice
constexpr std::size_t ATTACKED = PIECE_PLANES;           // at least once, among the attack planes

using AttackPlanes = std::array<Bitboard, ATTACK_PLANES>;

// White's board is rotated and the colours are swapped: BLACK is the side to move.
PieceSets piece_sets(const Board& pos);

// The squares that a side's pieces attack: by type, then attacked at least once, twice, thrice. Squares of own pieces count.
AttackPlanes attack_planes(const PieceSets& sets, Color by, Bitboard occupied);

// Every square of the set steps one rank back, as Black sees it; those at the edge fall off.
constexpr Bitboard step_down(Bitboard b) {
    const Bitboard kept = and_not(b, rank_mask(8));
    return {kept.low() << 1, kept.high() << 1};
}

}  // namespace fukayomi
