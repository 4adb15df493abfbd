// What a sparse network spends its time in, compiled once for each set of vector instructions. All give the same bits: integers are
// exact, and floats are added in one order, whatever the width of a vector.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fukayomi {

// The tables of the moves, in memory: rows are padded by zeros to a multiple of ROW_UNIT bytes.
constexpr std::size_t ROW_UNIT = 64;
struct MoveRows {
    const std::int8_t* labels;  // [SPARSE_LABELS][label_stride]
    const std::int8_t* groups;  // [MOVE_ROWS][group_stride]
    std::size_t label_stride, group_stride;
};

constexpr std::size_t MOVES_AT_ONCE = 4;
constexpr std::size_t HIDDEN_UNIT = 32;

struct SparseKernels {
    const char* name;  // of the instructions

    // Accumulators: the bias and the sum of rows, modulo 2^16. Column 2i of a row is a byte that has 128 added to it, column 2i + 1 one
    // without. Bias and sums have columns 0, 2, 4 ..., then 1, 3, 5 ... The number of columns is a multiple of 64.
    void (*sum_rows)(const std::uint16_t* rows, std::size_t count, const std::uint8_t* table, std::size_t columns, const std::int16_t* bias,
                     std::int16_t* sums);

    // Numbers of half of `columns` accumulators each from one and the one `columns` / 2 further: network.hpp has the formula. Here and
    // there, columns 0, 2, 4 ... of the sums, of their tops and of the factors are at `even`, the others `odd` places further.
    void (*products)(const std::int16_t* sums, const std::int16_t* tops, const std::int16_t* factors, std::size_t odd, std::size_t columns,
                     std::uint8_t* numbers);

    // For each move, [count][1 + 8] rows: the numbers times its row of the label, and times the sum of its eight rows of the groups.
    // Writes up to MOVES_AT_ONCE - 1 further sums. `numbers` are at most 127, and followed by zeros for the padding.
    void (*move_sums)(const std::uint16_t* moves, std::size_t count, const std::uint8_t* numbers, const MoveRows& tables,
                      std::int32_t* labels, std::int32_t* groups);

    // numbers [count], as pairs of 16 bits, times weights, packed as [count / 2][outputs][2]; outputs: a multiple of HIDDEN_UNIT.
    void (*multiply_numbers)(const std::uint16_t* numbers, std::size_t count, const std::int16_t* weights, std::size_t outputs,
                             std::int32_t* sums);

    // out = bias + in [count] times weights [count][outputs], one input after another.
    void (*multiply_floats)(const float* in, std::size_t count, const float* weights, const float* bias, std::size_t outputs, float* out);
};

const SparseKernels& portable_sparse_kernels();
const SparseKernels* sse4_sparse_kernels();  // nullptr: not compiled, as below
const SparseKernels* neon_sparse_kernels();
const SparseKernels* avx2_sparse_kernels();
const SparseKernels* avx_vnni_sparse_kernels();
const SparseKernels* avx512_sparse_kernels();
const SparseKernels* vnni_sparse_kernels();

}  // namespace fukayomi
