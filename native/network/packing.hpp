// Parameters in the order in which the kernels read them.
#pragma once

#include <cstddef>
#include <span>

#include "network/aligned.hpp"

namespace fukayomi {

// The next multiple of a number.
constexpr std::size_t padded(std::size_t count, std::size_t multiple) { return (count + multiple - 1) / multiple * multiple; }

// A matrix [inner, columns], written cell by cell, as `Kernels::multiply` takes it: [columns / panel][inner][panel].
class PackedMatrix {
  public:
    PackedMatrix() = default;
    PackedMatrix(std::size_t inner, std::size_t columns, std::size_t panel)
        : inner_(inner), columns_(padded(columns, panel)), panel_(panel), cells_(inner_ * columns_) {}

    float& at(std::size_t row, std::size_t column) {
        return cells_.data()[column / panel_ * panel_ * inner_ + row * panel_ + column % panel_];
    }

    const float* data() const { return cells_.data(); }
    std::size_t inner() const { return inner_; }
    std::size_t columns() const { return columns_; }
    std::size_t bytes() const { return cells_.bytes(); }

  private:
    std::size_t inner_ = 0, columns_ = 0, panel_ = 1;
    AlignedFloats cells_;
};

// 3x3 kernels [channels, channels, 9] at Winograd's 25 points: a matrix [width, width] for each, one after the other. `width` is
// the number of channels with padding.
AlignedFloats pack_convolution(std::span<const float> weights, std::size_t channels, std::size_t width, std::size_t panel);

// The same in 16 bits: every column of a matrix is divided by its scale and rounded.
struct ShortConvolution {
    AlignedShorts weights;
    AlignedFloats scales;  // [25, width]
};

// The scales are as small as they can be without an overflow of 32 bits in a sum over one column, whatever it is multiplied by.
ShortConvolution pack_short_convolution(std::span<const float> weights, std::size_t channels, std::size_t width, std::size_t panel);

// Values and zeros up to a width.
AlignedFloats pack_row(std::span<const float> values, std::size_t width);

}  // namespace fukayomi
