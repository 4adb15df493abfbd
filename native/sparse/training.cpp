#include "sparse/training.hpp"

#include <algorithm>

#include "network/processor.hpp"
#include "sparse/features.hpp"
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

}  // namespace

void sum_rows(const Bags& bags, const float* table, std::size_t rows, std::size_t columns, const float* bias, float* out,
              std::size_t threads) {
    share_out(columns / BLOCK, threads, [&](std::size_t block) {
        kernels().sum_rows(bags, table + block * rows * BLOCK, bias + block * BLOCK, out + block * BLOCK, columns);
    });
}

void sum_rows_backward(const Bags& bags, const float* gradients, std::size_t rows, std::size_t columns, float* table_gradients,
                       std::size_t threads) {
    share_out(columns / BLOCK, threads, [&](std::size_t block) {
        kernels().sum_rows_backward(bags, gradients + block * BLOCK, columns, table_gradients + block * rows * BLOCK);
    });
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
            kernels().move_logits(moves, first, last, tables.labels + block * SPARSE_LABELS * BLOCK, groups,
                                  hidden + block * BLOCK, tables.hidden, logits);
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
