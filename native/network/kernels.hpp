// What a network spends its time in, compiled once for each set of vector instructions.
//
// Activations are boards with a border: [position][11 * 11 squares][channel]. The border is zero and never written, so that the
// 3x3 convolutions need no special case at the edge. Channels are padded to a multiple of `panel`.
//
// 3x3 convolutions use Winograd's algorithm F(3x3, 3x3) (Lavin and Gray 2015, arXiv:1509.09308): nine tiles of 3x3 squares cover the
// board exactly, and a tile costs 25 multiplications a pair of channels instead of 81. Each of the 25 points is a product of
// matrices, [tiles, channels] times [channels, channels].
//
// These products take floats, or 16-bit integers, of which a processor multiplies twice as many at once: tiles times a scale of their
// position, matrices divided by one of each column. Sums in 32 bits are exact; `pack_short_convolution` sees to it that none overflows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fukayomi {

enum class Activation { RELU, SILU };

constexpr std::size_t BOARD_SIDE = 11;
constexpr std::size_t BOARD_CELLS = BOARD_SIDE * BOARD_SIDE;
constexpr std::size_t TILES = 9;    // of a board
constexpr std::size_t POINTS = 25;  // of a tile

struct Kernels {
    const char* name;   // of the instructions
    std::size_t panel;  // columns of a packed matrix that lie together

    // Tiles of boards as points: [25][stride], at each point [position * 9 + tile][channel].
    void (*to_points)(const float* boards, std::size_t positions, std::size_t channels, float* points, std::size_t stride);

    // Points as boards, times a scale of each position, with bias, then what is added (boards too; none: nullptr), then the activation.
    void (*from_points)(const float* points, std::size_t stride, std::size_t positions, std::size_t channels, const float* scales,
                        const float* bias, const float* added, Activation activation, float* boards);

    // rows [count, inner] times matrix [inner, columns], packed as [columns / panel][inner][panel], to out [count, columns].
    void (*multiply)(const float* rows, std::size_t row_stride, std::size_t count, std::size_t inner, const float* matrix,
                     std::size_t columns, float* out, std::size_t out_stride);

    // row += other
    void (*add)(float* row, const float* other, std::size_t count);

    // x = activation(x + bias), row by row.
    void (*activate)(float* rows, std::size_t row_stride, std::size_t count, std::size_t columns, const float* bias, Activation activation);

    float (*dot)(const float* a, const float* b, std::size_t count);

    // The largest absolute value; NaN if there is one.
    float (*largest)(const float* values, std::size_t count);

    // As `to_points`, each position times its scale, rounded. nullptr, as the next one: these instructions gain nothing from integers.
    void (*to_short_points)(const float* boards, std::size_t positions, std::size_t channels, const float* scales, std::int16_t* points,
                            std::size_t stride);

    // As `multiply`; the matrix is packed as [columns / panel][inner / 2][panel][2], and each column of `out` is multiplied by its scale.
    void (*multiply_short)(const std::int16_t* rows, std::size_t row_stride, std::size_t count, std::size_t inner,
                           const std::int16_t* matrix, const float* scales, std::size_t columns, float* out, std::size_t out_stride);
};

const Kernels& portable_kernels();
const Kernels* avx2_kernels();    // nullptr: not compiled
const Kernels* avx512_kernels();  // nullptr: not compiled
const Kernels* vnni_kernels();    // nullptr: not compiled

}  // namespace fukayomi
