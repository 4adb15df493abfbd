// hcpe3: games with the search's visits. A game is a header of 36 bytes (hcp of the start, uint16 number of moves, uint8
// result with flags, uint8 opponent), then for each move 6 bytes (uint16 move, int16 evaluation, uint16 number of
// candidates) and 4 bytes a candidate (uint16 move, uint16 visits). All little-endian; nothing marks a file or its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codec/hcp.hpp"

namespace fukayomi {

constexpr std::size_t HCPE3_HEADER_BYTES = 36;
constexpr std::size_t HCPE3_MOVE_BYTES = 6;
constexpr std::size_t HCPE3_CANDIDATE_BYTES = 4;

// Games as columns: G games, P moves (plies), C candidates.
struct GameColumns {
    std::vector<std::uint64_t> offsets;           // [G] where each game begins in the bytes it was read from
    std::vector<Hcp> starts;                      // [G]
    std::vector<std::uint8_t> results;            // [G] 0 draw, 1 Black won, 2 White won; plus flags
    std::vector<std::uint8_t> opponents;          // [G]
    std::vector<std::uint64_t> plies{0};          // [G + 1]: the moves of game g are plies[g] to plies[g + 1]
    std::vector<Hcp> hcps;                        // [P] before each move
    std::vector<std::uint16_t> moves;             // [P] the move played
    std::vector<std::int16_t> evals;              // [P] from the side to move
    std::vector<std::uint64_t> candidates{0};     // [P + 1]: those of move p are candidates[p] to candidates[p + 1]
    std::vector<std::uint16_t> candidate_moves;   // [C]
    std::vector<std::uint16_t> candidate_visits;  // [C]
};

// Bytes that are no whole game.
struct GameDamage {
    std::size_t offset;  // where the game that is damaged begins
    std::size_t bytes;   // from there on, which were left out
    int ply;             // the move with which something is wrong, from 0; -1: the header
    std::string reason;
};

struct DecodedGames {
    GameColumns games;
    std::vector<GameDamage> damages;
    std::size_t consumed = 0;  // what follows is the beginning of a game whose rest is not there
    std::size_t gap = 0;       // bytes at the beginning that still belong to the damage of the data before
    bool searching = false;    // whether the last damage may go on in what follows
};

// Reads all whole games of some bytes. Each is replayed: its start is a position that the rules allow, each of its moves
// and candidates legal. What is no such game is left out as a whole, and reading goes on with the next one, wherever it
// begins. With `last` nothing follows the bytes, and an unfinished game is damaged. `searching` is what the decoding of
// the bytes before said, if they come from one file in parts.
DecodedGames decode_hcpe3(std::span<const std::uint8_t> data, bool last, bool searching = false);

// The games as bytes. Offsets are not looked at, hcps neither. Throws std::invalid_argument for columns that do not fit
// together, and for numbers that the format cannot hold.
struct GameRows {
    std::span<const std::uint8_t> starts;  // [G * 32]
    std::span<const std::uint8_t> results;
    std::span<const std::uint8_t> opponents;
    std::span<const std::uint64_t> plies;
    std::span<const std::uint16_t> moves;
    std::span<const std::int16_t> evals;
    std::span<const std::uint64_t> candidates;
    std::span<const std::uint16_t> candidate_moves;
    std::span<const std::uint16_t> candidate_visits;
};
std::vector<std::uint8_t> encode_hcpe3(const GameRows& games);

}  // namespace fukayomi
