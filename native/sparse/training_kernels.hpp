// One block of a layer of training.hpp, compiled once for each set of vector instructions.
#pragma once

#include "sparse/training.hpp"

namespace fukayomi {

struct TrainingKernels {
    void (*sum_rows)(const Bags& bags, const float* table, const float* bias, float* out, std::size_t stride);
    void (*sum_rows_backward)(const Bags& bags, const float* gradients, std::size_t stride, float* table_gradients);
    // Adds the block's part to the logits of the positions from `first` to `last`. `groups`: nullptr where the block has none.
    void (*move_logits)(const MoveBags& moves, std::size_t first, std::size_t last, const float* labels, const float* groups,
                        const float* hidden, std::size_t stride, float* logits);
    void (*move_logits_backward)(const MoveBags& moves, const float* labels, const float* groups, const float* hidden,
                                 std::size_t stride, const float* gradients, float* label_gradients, float* group_gradients,
                                 float* hidden_gradients);
};

const TrainingKernels& portable_training_kernels();
const TrainingKernels* avx2_training_kernels();    // nullptr: not compiled
const TrainingKernels* avx512_training_kernels();  // nullptr: not compiled

}  // namespace fukayomi
