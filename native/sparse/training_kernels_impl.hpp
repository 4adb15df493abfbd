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
    void clip() {
        FUKAYOMI_UNROLL
        for (std::size_t i = 0; i < VECTORS; ++i) at[i] = smaller(positive(at[i]), all(1.0F));
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
        return total(sum);
    }
};

Floats zeros() {
    Floats x;
    for (std::size_t i = 0; i < VECTORS; ++i) x.at[i] = all(0.0F);
    return x;
}

void merge_rows_of_block(const std::uint16_t* rows, std::size_t count, const RowParts& block, float* table) {
    constexpr std::size_t square_rows = ROW_CONTENTS * ROW_ATTACKS * ROW_SQUARES;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t row = rows[i];
        Floats sum;
        if (row < square_rows) {
            const std::size_t content = row / (ROW_ATTACKS * ROW_SQUARES);
            sum = Floats::load_from(block.squares + row * BLOCK);
            sum.add(block.attacked + row / ROW_SQUARES * BLOCK);
            sum.add(block.placed + (content * ROW_SQUARES + row % ROW_SQUARES) * BLOCK);
        } else {
            sum = Floats::load_from(block.others + (row - square_rows) * BLOCK);
        }
        sum.store_to(table + row * BLOCK);
    }
}

// Two sums at a time: an addition need not wait for the one before it.
void sum_rows_of_block(const Bags& bags, const float* table, const float* bias, float* out) {
    const Floats start = Floats::load_from(bias);
    for (std::size_t n = 0; n < bags.count; ++n) {
        Floats even = start, odd = zeros();
        const std::uint16_t* row = bags.rows + bags.offsets[n];
        const std::uint16_t* const end = bags.rows + bags.offsets[n + 1];
        for (; row + 1 < end; row += 2) {
            even.add(table + row[0] * BLOCK);
            odd.add(table + row[1] * BLOCK);
        }
        if (row < end) even.add(table + row[0] * BLOCK);
        even.add(1.0F, odd);
        even.clip();
        even.store_to(out + n * BLOCK);
    }
}

void multiply_blocks(const float* first, const float* second, std::size_t count, float* out, std::size_t stride) {
    for (std::size_t n = 0; n < count; ++n)
        for (std::size_t i = 0; i < BLOCK; i += LANES)
            store(out + n * stride + i, load(first + n * BLOCK + i) * load(second + n * BLOCK + i));
}

void unclip_block(const float* own, const float* other, const float* products, std::size_t stride, std::size_t count, float* out,
                  float* bias) {
    Floats sum = zeros();
    for (std::size_t n = 0; n < count; ++n) {
        Floats gradient;
        FUKAYOMI_UNROLL
        for (std::size_t i = 0; i < VECTORS; ++i) {
            const std::size_t at = n * BLOCK + i * LANES;
            gradient.at[i] = inside(load(own + at), load(other + at) * load(products + n * stride + i * LANES));
        }
        gradient.store_to(out + n * BLOCK);
        sum.add(1.0F, gradient);
    }
    sum.store_to(bias);
}

Floats gathered(const RowPositions& positions, std::size_t row, const float* sums) {
    Floats even = zeros(), odd = zeros();
    const std::uint32_t* position = positions.positions + positions.starts[row];
    const std::uint32_t* const end = positions.positions + positions.starts[row + 1];
    for (; position + 1 < end; position += 2) {
        even.add(sums + position[0] * BLOCK);
        odd.add(sums + position[1] * BLOCK);
    }
    if (position < end) even.add(sums + position[0] * BLOCK);
    even.add(1.0F, odd);
    return even;
}

void gather_rows_of_block(const RowPositions& positions, std::size_t rows, const float* sums, const RowPartGradients& block) {
    std::size_t row = 0;
    for (std::size_t content = 0; content < ROW_CONTENTS; ++content) {
        float* const placed = block.placed + content * ROW_SQUARES * BLOCK;
        for (std::size_t attacks = 0; attacks < ROW_ATTACKS; ++attacks) {
            Floats of_all = zeros();
            for (std::size_t square = 0; square < ROW_SQUARES; ++square, ++row) {
                const Floats gradient = gathered(positions, row, sums);
                gradient.store_to(block.squares + row * BLOCK);
                of_all.add(1.0F, gradient);
                if (attacks == 0)
                    gradient.store_to(placed + square * BLOCK);
                else
                    gradient.add_to(placed + square * BLOCK);
            }
            of_all.store_to(block.attacked + (content * ROW_ATTACKS + attacks) * BLOCK);
        }
    }
    float* others = block.others;
    for (; row < rows; ++row, others += BLOCK) gathered(positions, row, sums).store_to(others);
}

Floats weights_of(const MoveBags& moves, std::int64_t m, const float* labels, const float* groups) {
    Floats weights = Floats::load_from(labels + moves.labels[m] * BLOCK);
    if (groups != nullptr)
        for (std::size_t g = 0; g < GROUPS; ++g) weights.add(groups + moves.groups[static_cast<std::size_t>(m) * GROUPS + g] * BLOCK);
    return weights;
}

void move_logits_of_block(const MoveBags& moves, std::size_t first, std::size_t last, const float* labels, const float* groups,
                          const float* hidden, std::size_t stride, float* logits) {
    for (std::size_t n = first; n < last; ++n) {
        const Floats own = Floats::load_from(hidden + n * stride);
        for (std::int64_t m = moves.offsets[n]; m < moves.offsets[n + 1]; ++m) logits[m] += own.dot(weights_of(moves, m, labels, groups));
    }
}

void move_logits_backward_of_block(const MoveBags& moves, const float* labels, const float* groups, const float* hidden, std::size_t stride,
                                   const float* gradients, float* label_gradients, float* group_gradients, float* hidden_gradients) {
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

constexpr TrainingKernels KERNELS = {
    merge_rows_of_block,          sum_rows_of_block, multiply_blocks, unclip_block, gather_rows_of_block, move_logits_of_block,
    move_logits_backward_of_block};

}  // namespace
}  // namespace fukayomi
