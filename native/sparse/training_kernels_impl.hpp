// Everything is in an unnamed namespace and nothing comes from the standard library: no function that is compiled here for newer
// processors may take the place of its namesake elsewhere.
#pragma once

#include "network/lanes.hpp"
#include "sparse/training_kernels.hpp"

namespace fukayomi {
namespace {

constexpr std::size_t GROUPS = 8;

constexpr std::size_t VECTORS = BLOCK / LANES;

// The columns of one block.
struct Floats {
    Lanes at[VECTORS];

    static Floats load_from(const float* from) {
        Floats x;
        FUKAYOMI_UNROLL
        for (std::size_t i = 0; i < VECTORS; ++i) x.at[i] = load(from + i * LANES);
        return x;
    }
    void store_to(float* to) const {
        FUKAYOMI_UNROLL
        for (std::size_t i = 0; i < VECTORS; ++i) store(to + i * LANES, at[i]);
    }
    void add(const float* other) {
        FUKAYOMI_UNROLL
        for (std::size_t i = 0; i < VECTORS; ++i) at[i] = at[i] + load(other + i * LANES);
    }
    void add(float factor, const Floats& other) {
        FUKAYOMI_UNROLL
        for (std::size_t i = 0; i < VECTORS; ++i) at[i] = at[i] + factor * other.at[i];
    }
    void add_to(float* to) const {
        FUKAYOMI_UNROLL
        for (std::size_t i = 0; i < VECTORS; ++i) store(to + i * LANES, load(to + i * LANES) + at[i]);
    }
    float dot(const Floats& other) const {
        Lanes sum = at[0] * other.at[0];
        FUKAYOMI_UNROLL
        for (std::size_t i = 1; i < VECTORS; ++i) sum = sum + at[i] * other.at[i];
        float values[LANES];
        store(values, sum);
        float total = 0.0F;
        for (std::size_t i = 0; i < LANES; ++i) total += values[i];
        return total;
    }
};

Floats zeros() {
    Floats x;
    for (std::size_t i = 0; i < VECTORS; ++i) x.at[i] = all(0.0F);
    return x;
}

void sum_rows_of_block(const Bags& bags, const float* table, const float* bias, float* out, std::size_t stride) {
    const Floats start = Floats::load_from(bias);
    for (std::size_t n = 0; n < bags.count; ++n) {
        Floats sum = start;
        for (std::int64_t i = bags.offsets[n]; i < bags.offsets[n + 1]; ++i) sum.add(table + bags.rows[i] * BLOCK);
        sum.store_to(out + n * stride);
    }
}

void sum_rows_backward_of_block(const Bags& bags, const float* gradients, std::size_t stride, float* table_gradients) {
    for (std::size_t n = 0; n < bags.count; ++n) {
        const Floats gradient = Floats::load_from(gradients + n * stride);
        for (std::int64_t i = bags.offsets[n]; i < bags.offsets[n + 1]; ++i)
            gradient.add_to(table_gradients + bags.rows[i] * BLOCK);
    }
}

Floats weights_of(const MoveBags& moves, std::int64_t m, const float* labels, const float* groups) {
    Floats weights = Floats::load_from(labels + moves.labels[m] * BLOCK);
    if (groups != nullptr)
        for (std::size_t g = 0; g < GROUPS; ++g)
            weights.add(groups + moves.groups[static_cast<std::size_t>(m) * GROUPS + g] * BLOCK);
    return weights;
}

void move_logits_of_block(const MoveBags& moves, std::size_t first, std::size_t last, const float* labels, const float* groups,
                          const float* hidden, std::size_t stride, float* logits) {
    for (std::size_t n = first; n < last; ++n) {
        const Floats own = Floats::load_from(hidden + n * stride);
        for (std::int64_t m = moves.offsets[n]; m < moves.offsets[n + 1]; ++m)
            logits[m] += own.dot(weights_of(moves, m, labels, groups));
    }
}

void move_logits_backward_of_block(const MoveBags& moves, const float* labels, const float* groups, const float* hidden,
                                   std::size_t stride, const float* gradients, float* label_gradients, float* group_gradients,
                                   float* hidden_gradients) {
    for (std::size_t n = 0; n < moves.count; ++n) {
        const Floats own = Floats::load_from(hidden + n * stride);
        Floats sum = zeros();
        for (std::int64_t m = moves.offsets[n]; m < moves.offsets[n + 1]; ++m) {
            const float gradient = gradients[m];
            sum.add(gradient, weights_of(moves, m, labels, groups));
            Floats step = zeros();
            step.add(gradient, own);
            step.add_to(label_gradients + moves.labels[m] * BLOCK);
            if (groups != nullptr)
                for (std::size_t g = 0; g < GROUPS; ++g)
                    step.add_to(group_gradients + moves.groups[static_cast<std::size_t>(m) * GROUPS + g] * BLOCK);
        }
        sum.store_to(hidden_gradients + n * stride);
    }
}

constexpr TrainingKernels KERNELS = {sum_rows_of_block, sum_rows_backward_of_block, move_logits_of_block,
                                     move_logits_backward_of_block};

}  // namespace
}  // namespace fukayomi
