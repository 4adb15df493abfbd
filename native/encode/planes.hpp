// dlshogi's input planes, from the side to move's point of view (White's board is rotated, colours swapped).
//
// features1: 62 planes of 81 squares; plane = colour * 31 + k (colour 0 = side to move), k 0-13 pieces, 14-27 attacks
// by piece type, 28-30 attacked at least once, twice, thrice. features2: 57 constant planes; 28 for the own hand and 28
// for the opponent's (thermometer), the last one for check. A packed position has one more, the colour to move, which
// dlshogi does not have: for networks that ask for it.
#pragma once

#include <cstdint>
#include <span>

#include "codec/hcp.hpp"
#include "shogi/board.hpp"

namespace fukayomi {

constexpr int FEATURES1 = 62;
constexpr int FEATURES2 = 57;
constexpr int COLOUR_PLANE = FEATURES2;     // ones if White is to move
constexpr std::size_t PACKED1_BYTES = 628;  // 62 * 81 bits, bit i = flat index i of [62][81], LSB first; the rest zero
constexpr std::size_t PACKED2_BYTES = 8;    // 58 bits, LSB first

using Packed1 = std::span<std::uint8_t, PACKED1_BYTES>;
using Packed2 = std::span<std::uint8_t, PACKED2_BYTES>;

void encode_packed(const Board& pos, Packed1 planes1, Packed2 planes2);

// The sets are as the side to move, `sets.turn`, sees them: BLACK is that side. Returns false if its opponent is in check, which the
// rules do not allow.
bool encode_packed_sets(const PieceSets& sets, Packed1 planes1, Packed2 planes2);

// Directly from the code, without the keys and the checkers of a Position, which is several times as fast. Throws as
// decode_hcp does; the planes are undefined then. Returns the pieces as the side to move sees them.
PieceSets encode_packed_hcp(HcpView hcp, Packed1 planes1, Packed2 planes2);

// The pieces of packed planes as the side to move sees them. More pieces in hand than there are planes are lost. Throws
// ParseError(PACKED) if two pieces share a square.
PieceSets decode_packed(std::span<const std::uint8_t, PACKED1_BYTES> planes1, std::span<const std::uint8_t, PACKED2_BYTES> planes2);

// One packed position to floats: [62, 81] and [count2, 81], zeros and ones; count2 is at most 58.
void unpack_float(std::span<const std::uint8_t, PACKED1_BYTES> planes1, std::span<const std::uint8_t, PACKED2_BYTES> planes2,
                  std::size_t count2, float* features1, float* features2);

}  // namespace fukayomi
