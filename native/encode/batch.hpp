// Many positions at once: arrays in, arrays out. A bad record throws ParseError(PACKED), whose message begins with the
// record's index; what was written for the records before it stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codec/evaluation.hpp"
#include "codec/hcp.hpp"
#include "encode/planes.hpp"
#include "encode/slot.hpp"
#include "encode/soft_policy.hpp"
#include "shogi/board.hpp"

namespace fukayomi {

constexpr std::size_t HCPE_BYTES = 38;  // hcp [32], eval int16, best move uint16, result uint8, one unused byte
constexpr unsigned RESULT_BITS = 3;     // of the result byte of hcpe2 and hcpe3

// The result byte (0 draw, 1 Black won, 2 White won) for the side to move: 1 won, 0.5 drawn, 0 lost. Throws ParseError for
// any other byte.
float result_for(Color turn, unsigned result);

// hcps [n, 32] -> planes1 [n, 628], planes2 [n, 8].
void decode_hcp_batch(std::size_t n, const std::uint8_t* hcps, std::uint8_t* planes1, std::uint8_t* planes2);

// hcps [n, 32] -> the first n rows of the input: each position with all of its legal moves. Also the moves and their labels
// [n, 593], in the same order. What is behind the moves of a row stays.
void write_hcp_batch(std::size_t n, const std::uint8_t* hcps, SlotInput& input, std::uint16_t* moves, std::uint16_t* labels);

// The inputs and targets of training, each [n, ...]; results and values are the side to move's.
struct Targets {
    std::uint8_t* planes1;  // [n, 628]
    std::uint8_t* planes2;  // [n, 8]
    std::uint16_t* labels;  // [n], of the best move; NO_POLICY_LABEL where hcpe's move is 0
    float* results;         // [n], 1 won, 0.5 drawn, 0 lost
    float* values;          // [n], 0 to 1: the evaluation as a probability of winning
};
// records [n, 38]; eval_scales [n], or null: EVAL_SCALE for all.
void decode_hcpe_batch(std::size_t n, const std::uint8_t* records, const double* eval_scales, const Targets& out);

// Averaged positions, [n, 64], with all of their moves, [moves, 16], in their order: codec/averages.hpp. The weight
// of a move comes from its visits, or in a position without visits from its plays (add_candidates); labels are those of
// the moves with the greatest weight, the first of equal ones.
SoftPolicy decode_average_batch(std::size_t n, const std::uint8_t* positions, std::size_t moves, const std::uint8_t* move_rows,
                                double temperature, const Targets& out);

// planes1 [n, 628], planes2 [n, 8] -> features1 [n, 62, 9, 9], features2 [n, count2, 9, 9]; count2 is at most 58.
void unpack_batch(std::size_t n, const std::uint8_t* planes1, const std::uint8_t* planes2, std::size_t count2, float* features1,
                  float* features2);

// policy [n, 2187], labels [n, 593], counts [n] -> logits [n, 593], the first counts[i] of each row; the rest stays.
// Throws std::out_of_range, which names the row, for a count or a label that is too large.
void gather_batch(std::size_t n, const float* policy, const std::uint16_t* labels, const std::uint16_t* counts, float* logits);

// The hcp before each move, and the one after the last: [moves + 1]. Throws ParseError(ILLEGAL_MOVE) or, if the start
// has no hcp, ParseError(PACKED).
std::vector<Hcp> replay_hcps(const Board& start, std::size_t moves, const std::uint16_t* raw_moves);

}  // namespace fukayomi
