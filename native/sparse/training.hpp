// Forward and backward of the two sparse layers, in float32, for training.
//
// Tables lie in blocks of BLOCK columns, [columns / BLOCK][rows][BLOCK]: a batch is computed block by block, so that the rows that
// positions share stay in the cache. A block is one thread's, and sums in the order of the batch, so results do not depend on the number
// of threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fukayomi {

constexpr std::size_t BLOCK = 32;

// N positions with the rows of a table that each adds up: those from offsets[n] to offsets[n + 1].
struct Bags {
    std::size_t count = 0;
    const std::uint16_t* rows = nullptr;
    const std::int64_t* offsets = nullptr;  // [N + 1]
};

// N positions with M moves in all: those from offsets[n] to offsets[n + 1].
struct MoveBags {
    std::size_t count = 0;
    const std::int64_t* offsets = nullptr;   // [N + 1]
    const std::uint16_t* labels = nullptr;   // [M]
    const std::uint16_t* groups = nullptr;   // [M, MOVE_GROUPS]
};

// out[n] = bias + the sum of the rows: [N, columns].
void sum_rows(const Bags& bags, const float* table, std::size_t rows, std::size_t columns, const float* bias, float* out,
              std::size_t threads);
// Adds the gradient of each position, [N, columns], to that of its rows.
void sum_rows_backward(const Bags& bags, const float* gradients, std::size_t rows, std::size_t columns, float* table_gradients,
                       std::size_t threads);

// The layer of moves: tables by label, [hidden / BLOCK][SPARSE_LABELS][BLOCK], and by group row, [shared / BLOCK][MOVE_ROWS][BLOCK],
// with a bias of each row. The first `shared` of the hidden numbers count for the groups.
struct MoveTables {
    std::size_t hidden = 0;
    std::size_t shared = 0;
    const float* labels = nullptr;
    const float* label_bias = nullptr;
    const float* groups = nullptr;
    const float* group_bias = nullptr;
};
struct MoveGradients {
    float* labels = nullptr;
    float* label_bias = nullptr;
    float* groups = nullptr;
    float* group_bias = nullptr;
};

// logits[m] = the biases + hidden[n] . labels[label] + hidden[n][: shared] . the sum of the group rows: [M].
void move_logits(const MoveBags& moves, const MoveTables& tables, const float* hidden, float* logits, std::size_t threads);
// Adds to the gradients of the tables, and writes that of hidden, [N, hidden].
void move_logits_backward(const MoveBags& moves, const MoveTables& tables, const float* hidden, const float* gradients,
                          const MoveGradients& table_gradients, float* hidden_gradients, std::size_t threads);

}  // namespace fukayomi
