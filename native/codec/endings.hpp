// What the rules say about the last positions of games.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shogi/types.hpp"

namespace fukayomi {

struct GameEnding {
    bool is_mated = false;
    Repetition repetition = Repetition::NONE;  // fourfold, seen from the side to move
    int occurrences = 1;                       // of the last position
    bool can_declare = false;                  // by 27 points, by 24, or by the try rule
    bool black_to_move = true;
    int fourfold_before = -1;  // moves before a position that had occurred four times though the game went on
};

// starts [G * 32], plies [G + 1], moves [P], as GameColumns has them. Throws ParseError for an illegal move, and
// std::invalid_argument if the plies do not lead from 0 to P.
std::vector<GameEnding> judge_endings(std::span<const std::uint8_t> starts, std::span<const std::uint64_t> plies,
                                      std::span<const std::uint16_t> moves);

}  // namespace fukayomi
