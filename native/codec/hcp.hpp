// HuffmanCodedPos (hcp): a position in 256 bits, as dlshogi and cshogi write it. No ply, no past.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "shogi/position.hpp"

namespace fukayomi {

constexpr std::size_t HCP_BYTES = 32;
using Hcp = std::array<std::uint8_t, HCP_BYTES>;

Hcp encode_hcp(const Position& pos);
// Throws ParseError(PACKED). The decoded position has ply 1.
Position decode_hcp(std::span<const std::uint8_t, HCP_BYTES> bytes);

}  // namespace fukayomi
