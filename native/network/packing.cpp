#include "network/packing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

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

KernelPoints to_points(std::span<const float> weights, std::size_t number) {
    Kernel kernel;
    std::copy_n(weights.data() + number * kernel.size(), kernel.size(), kernel.begin());
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
            const KernelPoints points = to_points(weights, out * channels + in);
            float* const cell = packed.data() + out / panel * panel * width + in * panel + out % panel;
            for (std::size_t p = 0; p < POINTS; ++p) cell[p * width * width] = static_cast<float>(points[p]);
        }
    return packed;
}

ShortConvolution pack_short_convolution(std::span<const float> weights, std::size_t channels, std::size_t width, std::size_t panel) {
    constexpr double MOST = std::numeric_limits<std::int16_t>::max();  // 2^15 - 1: times twice 2^15, a sum is below 2^31
    ShortConvolution packed{AlignedShorts(POINTS * width * width), AlignedFloats(POINTS * width)};
    std::vector<KernelPoints> column(channels);
    const double rounding = static_cast<double>(channels) / 2;  // what it can add to a sum
    for (std::size_t out = 0; out < channels; ++out) {
        for (std::size_t in = 0; in < channels; ++in) column[in] = to_points(weights, out * channels + in);
        for (std::size_t p = 0; p < POINTS; ++p) {
            double sum = 0, largest = 0;
            for (const KernelPoints& points : column) {
                sum += std::abs(points[p]);
                largest = std::max(largest, std::abs(points[p]));
            }
            const float scale = static_cast<float>(std::max(largest / (MOST - 1), sum / std::max(2 * MOST - rounding, 1.0)));
            if (scale < std::numeric_limits<float>::min()) continue;  // nothing but zeros
            packed.scales.data()[p * width + out] = scale;
            for (std::size_t in = 0; in < channels; ++in)
                packed.weights.data()[p * width * width + out / panel * panel * width + in / 2 * 2 * panel + out % panel * 2 + in % 2] =
                    static_cast<std::int16_t>(std::lround(column[in][p] / scale));
        }
    }
    return packed;
}

AlignedFloats pack_row(std::span<const float> values, std::size_t width) {
    AlignedFloats row(width);
    std::copy(values.begin(), values.end(), row.data());
    return row;
}

}  // namespace fukayomi
