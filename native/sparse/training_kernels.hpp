// One block of a layer of training.hpp, compiled once for each set of vector instructions.
#pragma once

#include "sparse/training.hpp"

namespace fukayomi {

// The positions that have a row: those from starts[row] to starts[row + 1], ascending.
struct RowPositions {
    const std::uint32_t* starts = nullptr;     // [rows + 1]
    const std::uint32_t* positions = nullptr;  // [K]
};

struct TrainingKernels {
    // Writes those rows of the block's table that occur.
    void (*merge_rows)(const std::uint16_t* rows, std::size_t count, const RowParts& block, float* table);
    // The clipped sums of a block: [N][BLOCK].
    void (*sum_rows)(const Bags& bags, const float* table, const float* bias, float* out);
    void (*multiply)(const float* first, const float* second, std::size_t count, float* out, std::size_t stride);
    // The gradient of the sums of a block, [N][BLOCK], from that of its products with another; and that of the bias.
    void (*unclip)(const float* own, const float* other, const float* products, std::size_t stride, std::size_t count, float* out,
                   float* bias);
    // The gradients of all rows. `sums`: of the sums of the block.
    void (*gather_rows)(const RowPositions& positions, std::size_t rows, const float* sums, const RowPartGradients& block);
    // Adds the block's part to the logits of the positions from `first` to `last`. `groups`: nullptr where the block has none.
    void (*move_logits)(const MoveBags& moves, std::size_t first, std::size_t last, const float* labels, const float* groups,
                        const float* hidden, std::size_t stride, float* logits);
    void (*move_logits_backward)(const MoveBags& moves, const float* labels, const float* groups, const float* hidden, std::size_t stride,
                                 const float* gradients, float* label_gradients, float* group_gradients, float* hidden_gradients);
};

const TrainingKernels& portable_training_kernels();
const TrainingKernels* avx2_training_kernels();    // nullptr: not compiled
const TrainingKernels* avx512_training_kernels();  // nullptr: not compiled

}  // namespace fukayomi
