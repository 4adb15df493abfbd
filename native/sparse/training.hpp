// Forward and backward of the two sparse layers, in float32, for training.
//
// Tables lie in blocks of BLOCK columns, [columns / BLOCK][rows][BLOCK]: a batch is computed block by block, so that the rows that
// positions share stay in the cache. A block is one thread's, and sums in the order of the batch, so results do not depend on the number
// of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fukayomi {

constexpr std::size_t BLOCK = 32;

// The greatest of some rows; 0 of none.
std::uint16_t greatest(std::span<const std::uint16_t> rows);

// N positions with the rows of a table that each adds up: those from offsets[n] to offsets[n + 1].
struct Bags {
    std::size_t count = 0;
    const std::uint16_t* rows = nullptr;
    const std::int64_t* offsets = nullptr;  // [N + 1]
};

// N positions with M moves in all: those from offsets[n] to offsets[n + 1].
struct MoveBags {
    std::size_t count = 0;
    const std::int64_t* offsets = nullptr;  // [N + 1]
    const std::uint16_t* labels = nullptr;  // [M]
    const std::uint16_t* groups = nullptr;  // [M, MOVE_GROUPS]
};

// The rows of the first layer by their parts, each in blocks of columns. A row of a square is squares + attacked + placed.
constexpr std::size_t ROW_CONTENTS = 29, ROW_ATTACKS = 9, ROW_SQUARES = 81;
struct RowParts {
    const float* squares = nullptr;   // [blocks][ROW_CONTENTS][ROW_ATTACKS][ROW_SQUARES][BLOCK]
    const float* attacked = nullptr;  // [blocks][ROW_CONTENTS][ROW_ATTACKS][BLOCK]
    const float* placed = nullptr;    // [blocks][ROW_CONTENTS][ROW_SQUARES][BLOCK]
    const float* others = nullptr;    // [blocks][the other rows][BLOCK]
    const float* bias = nullptr;      // [columns]
};
struct RowPartGradients {
    float* squares = nullptr;
    float* attacked = nullptr;
    float* placed = nullptr;
    float* others = nullptr;
    float* bias = nullptr;
};

// The first layer of one head: the sum of each position's rows and the bias, clipped to 0 to 1: accumulators, [2 * pairs][N][BLOCK]; and
// the products of their first half with the second, [N, pairs * BLOCK].
struct FirstLayer {
    std::size_t pairs = 0;  // of blocks whose columns are multiplied
    float* accumulators = nullptr;
    float* products = nullptr;
};
void first_layer(const Bags& bags, const RowParts& parts, const FirstLayer& out, std::size_t threads);
// Writes the gradients of all parts. `layer`: what first_layer wrote, with gradients in the place of the products.
void first_layer_backward(const Bags& bags, const FirstLayer& layer, const RowPartGradients& gradients, std::size_t threads);

// out[n] = the sum of the weights of its rows: [N].
void sum_weights(const Bags& bags, const float* weights, float* out);
// Writes the gradient of each of the `rows` weights.
void sum_weights_backward(const Bags& bags, const float* gradients, std::size_t rows, float* weight_gradients);

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
