// Whether games of self-play kept to their settings, and ended as their results say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codec/hcpe3.hpp"

namespace fukayomi {

// What the settings of the games promise.
struct SelfplayRules {
    int least_plies = 0;               // a shorter game is not written
    int most_plies = 320;              // a game of this length is a draw
    double resign_threshold = 0.99;    // a game may end by resignation where |2p - 1| is above it, p being a win probability
    std::uint32_t most_visits = 2000;  // of all candidates of a move together
    DeclarationRule declaration = DeclarationRule::POINTS_27;
};

enum class EndReason : std::uint8_t { MATE, RESIGNATION, REPETITION, DECLARATION, MAX_PLIES, NONE };

struct GameFault {
    std::size_t game;
    int ply;  // from 0; -1: not about a move
    std::string reason;
};

struct SelfplayCheck {
    std::vector<std::uint8_t> ends;  // [G]: EndReason; NONE for a game with a fault
    std::vector<GameFault> faults;   // the first of each game
};

// Replays games that decode_hcpe3 has read, so their moves and candidates are known to be legal.
//
// A game ends with mate, or with the flag that says why (a repetition, which ends the game when a position comes back
// within 16 plies; a declaration; the maximum of plies), or by resignation, for which the last evaluation is evidence. A
// mate that was found is written to its end, without candidates and with the evaluation of a mate; its moves may repeat
// positions. A side that is another program has no candidates, and may resign as it likes.
SelfplayCheck check_selfplay(const GameColumns& games, const SelfplayRules& rules);

}  // namespace fukayomi
