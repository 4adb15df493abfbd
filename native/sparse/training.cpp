#include "sparse/training.hpp"

#include <algorithm>
#include <vector>

#include "network/processor.hpp"
#include "sparse/features.hpp"
#include "sparse/recycled.hpp"
#include "sparse/share_out.hpp"
#include "sparse/training_kernels.hpp"

namespace fukayomi {

namespace {

const TrainingKernels& kernels() {
    static const TrainingKernels& fastest = [&]() -> const TrainingKernels& {
        const Instructions& has = usable_instructions();
        if (has.avx512 && avx512_training_kernels() != nullptr) return *avx512_training_kernels();
        if (has.avx2 && avx2_training_kernels() != nullptr) return *avx2_training_kernels();
        return portable_training_kernels();
    }();
    return fastest;
}

static_assert(CONTENTS == ROW_CONTENTS && SQUARES == ROW_SQUARES && SQUARE_ROWS == ROW_CONTENTS * ROW_ATTACKS * ROW_SQUARES);
constexpr std::size_t BLOCK_SQUARES = SQUARE_ROWS * BLOCK, BLOCK_ATTACKED = ROW_CONTENTS * ROW_ATTACKS * BLOCK,
                      BLOCK_PLACED = ROW_CONTENTS * ROW_SQUARES * BLOCK, BLOCK_OTHERS = (SPARSE_ROWS - SQUARE_ROWS) * BLOCK;

template <class Parts>
Parts of_block(const Parts& parts, std::size_t block) {
    return {parts.squares + block * BLOCK_SQUARES, parts.attacked + block * BLOCK_ATTACKED, parts.placed + block * BLOCK_PLACED,
            parts.others + block * BLOCK_OTHERS, parts.bias + block * BLOCK};
}

std::vector<std::uint16_t> rows_that_occur(const Bags& bags) {
    std::vector<std::uint8_t> occurs(SPARSE_ROWS);
    for (std::int64_t i = 0; i < bags.offsets[bags.count]; ++i) occurs[bags.rows[i]] = 1;
    std::vector<std::uint16_t> rows;
    for (std::size_t row = 0; row < SPARSE_ROWS; ++row)
        if (occurs[row] != 0) rows.push_back(static_cast<std::uint16_t>(row));
    return rows;
}

// The positions of each row.
struct Transposed {
    std::vector<std::uint32_t> starts, positions;
    explicit Transposed(const Bags& bags) : starts(SPARSE_ROWS + 1), positions(static_cast<std::size_t>(bags.offsets[bags.count])) {
        for (std::size_t i = 0; i < positions.size(); ++i) ++starts[bags.rows[i] + 1U];
        for (std::size_t row = 0; row < SPARSE_ROWS; ++row) starts[row + 1] += starts[row];
        std::vector<std::uint32_t> next(starts.begin(), starts.end() - 1);
        for (std::size_t n = 0; n < bags.count; ++n)
            for (std::int64_t i = bags.offsets[n]; i < bags.offsets[n + 1]; ++i)
                positions[next[bags.rows[i]]++] = static_cast<std::uint32_t>(n);
    }
};

}  // namespace

std::uint16_t greatest(std::span<const std::uint16_t> rows) {
    std::uint16_t found = 0;
    for (const std::uint16_t row : rows) found = std::max(found, row);
    return found;
}

void first_layer(const Bags& bags, const RowParts& parts, const FirstLayer& out, std::size_t threads) {
    const std::vector<std::uint16_t> rows = rows_that_occur(bags);
    const std::size_t size = bags.count * BLOCK;
    share_out(2 * out.pairs, threads, [&](std::size_t block) {
        const RowParts own = of_block(parts, block);
        const Recycled table(SPARSE_ROWS * BLOCK);
        kernels().merge_rows(rows.data(), rows.size(), own, table.data());
        kernels().sum_rows(bags, table.data(), own.bias, out.accumulators + block * size);
    });
    share_out(out.pairs, threads, [&](std::size_t pair) {
        kernels().multiply(out.accumulators + pair * size, out.accumulators + (out.pairs + pair) * size, bags.count,
                           out.products + pair * BLOCK, out.pairs * BLOCK);
    });
}

void first_layer_backward(const Bags& bags, const FirstLayer& layer, const RowPartGradients& gradients, std::size_t threads) {
    const Transposed transposed(bags);
    const RowPositions positions{transposed.starts.data(), transposed.positions.data()};
    const std::size_t size = bags.count * BLOCK;
    share_out(2 * layer.pairs, threads, [&](std::size_t block) {
        const std::size_t pair = block % layer.pairs, other = (block + layer.pairs) % (2 * layer.pairs);
        const RowPartGradients own = of_block(gradients, block);
        const Recycled sums(size);
        kernels().unclip(layer.accumulators + block * size, layer.accumulators + other * size, layer.products + pair * BLOCK,
                         layer.pairs * BLOCK, bags.count, sums.data(), own.bias);
        kernels().gather_rows(positions, SPARSE_ROWS, sums.data(), own);
    });
}

void sum_weights(const Bags& bags, const float* weights, float* out) {
    for (std::size_t n = 0; n < bags.count; ++n) {
        float sum = 0.0F;
        for (std::int64_t i = bags.offsets[n]; i < bags.offsets[n + 1]; ++i) sum += weights[bags.rows[i]];
        out[n] = sum;
    }
}

void sum_weights_backward(const Bags& bags, const float* gradients, std::size_t rows, float* weight_gradients) {
    std::fill_n(weight_gradients, rows, 0.0F);
    for (std::size_t n = 0; n < bags.count; ++n)
        for (std::int64_t i = bags.offsets[n]; i < bags.offsets[n + 1]; ++i) weight_gradients[bags.rows[i]] += gradients[n];
}

void move_logits(const MoveBags& moves, const MoveTables& tables, const float* hidden, float* logits, std::size_t threads) {
    const std::size_t parts = std::max<std::size_t>(1, std::min(threads, moves.count));
    share_out(parts, threads, [&](std::size_t part) {
        const std::size_t first = moves.count * part / parts, last = moves.count * (part + 1) / parts;
        for (std::int64_t m = moves.offsets[first]; m < moves.offsets[last]; ++m) {
            logits[m] = tables.label_bias[moves.labels[m]];
            for (std::size_t g = 0; g < MOVE_GROUPS; ++g)
                logits[m] += tables.group_bias[moves.groups[static_cast<std::size_t>(m) * MOVE_GROUPS + g]];
        }
        for (std::size_t block = 0; block < tables.hidden / BLOCK; ++block) {
            const float* groups = block < tables.shared / BLOCK ? tables.groups + block * MOVE_ROWS * BLOCK : nullptr;
            kernels().move_logits(moves, first, last, tables.labels + block * SPARSE_LABELS * BLOCK, groups, hidden + block * BLOCK,
                                  tables.hidden, logits);
        }
    });
}

void move_logits_backward(const MoveBags& moves, const MoveTables& tables, const float* hidden, const float* gradients,
                          const MoveGradients& table_gradients, float* hidden_gradients, std::size_t threads) {
    const std::size_t blocks = tables.hidden / BLOCK;
    share_out(blocks + 1, threads, [&](std::size_t block) {
        if (block == blocks) {  // the biases
            for (std::int64_t m = 0; m < moves.offsets[moves.count]; ++m) {
                table_gradients.label_bias[moves.labels[m]] += gradients[m];
                for (std::size_t g = 0; g < MOVE_GROUPS; ++g)
                    table_gradients.group_bias[moves.groups[static_cast<std::size_t>(m) * MOVE_GROUPS + g]] += gradients[m];
            }
            return;
        }
        const bool has_groups = block < tables.shared / BLOCK;
        kernels().move_logits_backward(
            moves, tables.labels + block * SPARSE_LABELS * BLOCK, has_groups ? tables.groups + block * MOVE_ROWS * BLOCK : nullptr,
            hidden + block * BLOCK, tables.hidden, gradients, table_gradients.labels + block * SPARSE_LABELS * BLOCK,
            has_groups ? table_gradients.groups + block * MOVE_ROWS * BLOCK : nullptr, hidden_gradients + block * BLOCK);
    });
}

}  // namespace fukayomi
