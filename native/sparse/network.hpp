// A sparse network on the CPU, in integers: from rows of its tables to the logits of the moves and a win probability.
//
// The result of a position depends on nothing else, and has the same bits with all vector instructions.
//
//   accumulators   sums of rows of 8 bits and a bias, modulo 2^16. A column has steps of its own: `top` of them, 64 to 1023, are 1
//   numbers        of the accumulators a, b of two columns, in 127 parts of 1:
//                      x = min(max(a, 0), top of a) * 64, y = min(max(b, 0), top of b) * 32
//                      number = floor(floor((x * y / 2^16) * factor / 2^14 + 1) / 2), factor = round(127 * 2^20 / (top of a * top of b)),
//                  where each division is rounded down
//   logit          (label_bias + eight group_bias) * move_bias + (numbers . label row) * its scale + (shared numbers . the sum of eight
//                  group rows) * groups: three exact sums in 32 bits, then floats from left to right
//   value          numbers . rows of 16 bits, in 32 bits; the rest in floats, input after input, and the exact sum of value_rows; sigmoid
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "encode/slot.hpp"
#include "network/aligned.hpp"
#include "sparse/file.hpp"
#include "sparse/inference_kernels.hpp"
#include "sparse/input.hpp"

namespace fukayomi {

// The fastest last; never empty.
const std::vector<const SparseKernels*>& usable_sparse_kernels();

class SparseNetwork {
  public:
    // Copies what it needs of a file. Throws as read_sparse_file does.
    SparseNetwork(std::span<const std::uint8_t> file, const SparseKernels& kernels);

    using Input = SparseInput;

    // Memory of one thread.
    class Scratch {
      public:
        explicit Scratch(const SparseNetwork& network);

      private:
        friend class SparseNetwork;
        Aligned<std::int16_t> sums_, shared_sums_;
        Aligned<std::uint8_t> users_;  // [SPARSE_ROWS]
        Aligned<std::uint16_t> shared_, own_;
        Aligned<std::uint8_t> policy_, value_;
        Aligned<std::uint16_t> wide_value_;
        Aligned<std::int32_t> labels_, groups_, hidden_sums_;
        AlignedFloats hidden1_, hidden2_;
    };

    // Positions `first` to `first + count - 1` of a slot. False: a result is not finite.
    bool evaluate(Scratch& scratch, std::size_t first, std::size_t count, const SparseInput& in, const SlotOutput& out) const;

    const SparseKernels& kernels() const { return kernels_; }
    const SparseWidths& widths() const { return widths_; }
    std::size_t bytes() const;

  private:
    // Some rows of the table, and what they add.
    struct Sums {
        const std::int16_t* columns;
        std::int32_t value;  // of value_rows
    };
    // Writes what follows from the sum of `start` and more rows.
    bool finish(Scratch& scratch, std::size_t n, const Sums& start, std::span<const std::uint16_t> rows, const SparseInput& in,
                const SlotOutput& out) const;
    bool evaluate_some(Scratch& scratch, std::size_t first, std::size_t count, const SparseInput& in, const SlotOutput& out) const;
    std::int32_t value_sum(std::span<const std::uint16_t> rows) const;
    bool policy(Scratch& scratch, std::span<const MoveFeatures> moves, float* logits) const;
    float value_logit(Scratch& scratch, std::int32_t row_sum) const;

    const SparseKernels& kernels_;
    SparseWidths widths_;
    SparseScales scales_;
    std::size_t label_stride_, group_stride_, hidden_;  // with padding
    Aligned<std::uint8_t> table_;                       // [SPARSE_ROWS, columns]
    Aligned<std::int16_t> tops_, bias_, factors_;       // [columns]: 0, 2, 4 ..., then 1, 3, 5 ...
    Aligned<std::int8_t> label_table_, group_table_;
    Aligned<std::int16_t> label_bias_, group_bias_, value_rows_;
    Aligned<std::int16_t> value_layer1_;  // [value / 4][hidden][2]
    AlignedFloats label_scales_, value_scales1_, value_bias1_, value_layer2_, value_bias2_, value_layer3_;
};

}  // namespace fukayomi
