// The rows of averaged positions (avg), little-endian; docs/formats.md has the file.
//   position   64  hcp [32], draws, Black's and White's wins, moves uint32 each, value uint64, first move uint64
//   move       16  of a position: move uint16, 2 bytes 0, played uint32, visits uint64
#pragma once

#include <cstddef>
#include <cstdint>

namespace fukayomi {

constexpr std::size_t POSITION_BYTES = 64;
constexpr std::size_t POSITION_RESULTS = 32, POSITION_MOVES = 44, POSITION_VALUE = 48, POSITION_FIRST = 56;

constexpr std::size_t MOVE_BYTES = 16;
constexpr std::size_t MOVE_PLAYED = 4, MOVE_VISITS = 8;

// Chances of winning are added up as whole numbers, in units of 1 / VALUE_ONE.
constexpr std::uint64_t VALUE_ONE = std::uint64_t{1} << 32;

// What the visits of a search add up to where all searches weigh the same.
constexpr std::uint64_t EVEN_VISITS = std::uint64_t{1} << 32;

}  // namespace fukayomi
