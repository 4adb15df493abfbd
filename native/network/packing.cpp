#include "network/packing.hpp"

#include <algorithm>
#include <array>

#include "network/kernels.hpp"

namespace fukayomi {

namespace {

using Kernel = std::array<double, 9>;
using KernelPoints = std::array<double, POINTS>;

// The transform that goes with `to_five` and `to_three` of the kernels (Lavin and Gray 2015, section 5.1; interpolation at
// 0, 1, -1, 2 and infinity):
//
//  1/2   0    0
// -1/2 -1/2 -1/2
// -1/6  1/6 -1/6
//  1/6  1/3  2/3
//   0    0    1
std::array<double, 5> to_points(double x0, double x1, double x2) {
    return {x0 / 2, -(x0 + x1 + x2) / 2, (-x0 + x1 - x2) / 6, (x0 + 2 * x1 + 4 * x2) / 6, x2};
}

KernelPoints to_points(const Kernel& kernel) {
    std::array<std::array<double, 5>, 3> columns;
    for (std::size_t j = 0; j < 3; ++j) columns[j] = to_points(kernel[j], kernel[3 + j], kernel[6 + j]);
    KernelPoints points;
    for (std::size_t i = 0; i < 5; ++i) {
        const std::array<double, 5> row = to_points(columns[0][i], columns[1][i], columns[2][i]);
        std::copy(row.begin(), row.end(), points.begin() + static_cast<std::ptrdiff_t>(i * 5));
    }
    return points;
}

}  // namespace

AlignedFloats pack_convolution(std::span<const float> weights, std::size_t channels, std::size_t width, std::size_t panel) {
    AlignedFloats packed(POINTS * width * width);
    for (std::size_t out = 0; out < channels; ++out)
        for (std::size_t in = 0; in < channels; ++in) {
            Kernel kernel;
            std::copy_n(weights.data() + (out * channels + in) * kernel.size(), kernel.size(), kernel.begin());
            const KernelPoints points = to_points(kernel);
            float* const cell = packed.data() + out / panel * panel * width + in * panel + out % panel;
            for (std::size_t p = 0; p < POINTS; ++p) cell[p * width * width] = static_cast<float>(points[p]);
        }
    return packed;
}

AlignedFloats pack_row(std::span<const float> values, std::size_t width) {
    AlignedFloats row(width);
    std::copy(values.begin(), values.end(), row.data());
    return row;
}

}  // namespace fukayomi
