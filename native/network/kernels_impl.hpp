// The kernels, for vectors of FUKAYOMI_LANES floats. Everything is in an unnamed namespace and nothing comes from the standard library:
// no function that is compiled here for newer processors may take the place of its namesake elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "network/kernels.hpp"
#include "network/lanes.hpp"

#if defined(__AVX512BW__) || defined(__AVX2__)
#include <immintrin.h>
#define FUKAYOMI_SHORTS
#endif

namespace fukayomi {
namespace {

constexpr std::size_t PANEL = 2 * LANES;
constexpr std::size_t ROWS = LANES == 16 ? 12 : 6;  // with two vectors each, the sums of a product just fit into the registers

#if defined(__GNUC__) || defined(__clang__)
inline std::int32_t pair_at(const std::int16_t* from) {
    std::int32_t pair;
    __builtin_memcpy(&pair, from, sizeof pair);
    return pair;
}
#else
inline std::int32_t pair_at(const std::int16_t* from) {
    return static_cast<std::int32_t>(static_cast<std::uint16_t>(from[0]) | static_cast<std::uint32_t>(from[1]) << 16);
}
#endif

// ------------------------------------------------------------------------------------------------- activations

// e^x for x <= 0: 2^n times a polynomial for the rest, to within 2e-7 of the value (Cephes' coefficients for expf).
inline float exp_negative(float x) {
    const float bounded = x < -87.0f ? -87.0f : x;
    const float rounded = bounded * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: the integer part is in the low bits
    const float n = rounded - 12582912.0f;
    const float r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    const std::uint32_t power = (__builtin_bit_cast(std::uint32_t, rounded) + 127u - 0x4b400000u) << 23;
    return (p * r * r + r + 1.0f) * __builtin_bit_cast(float, power);
}

inline float silu(float x) {
    const float e = exp_negative(x < 0 ? x : -x);
    const float sigmoid = (x < 0 ? e : 1.0f) / (1.0f + e);
    return (x < -87.0f ? -87.0f : x) * sigmoid;  // beyond, the bound of the exponential would be multiplied up
}

inline Lanes silu(Lanes x) {
    float values[LANES];
    store(values, x);
    for (std::size_t i = 0; i < LANES; ++i) values[i] = silu(values[i]);
    return load(values);
}

template <Activation ACTIVATION>
inline Lanes activated(Lanes x) {
    if constexpr (ACTIVATION == Activation::RELU)
        return positive(x);
    else
        return silu(x);
}

template <Activation ACTIVATION>
void activate_rows(float* rows, std::size_t row_stride, std::size_t count, std::size_t columns, const float* bias) {
    for (std::size_t r = 0; r < count; ++r)
        for (std::size_t c = 0; c < columns; c += LANES) {
            float* const x = rows + r * row_stride + c;
            store(x, activated<ACTIVATION>(load(x) + load(bias + c)));
        }
}

void activate(float* rows, std::size_t row_stride, std::size_t count, std::size_t columns, const float* bias, Activation activation) {
    if (activation == Activation::RELU)
        activate_rows<Activation::RELU>(rows, row_stride, count, columns, bias);
    else
        activate_rows<Activation::SILU>(rows, row_stride, count, columns, bias);
}

// -------------------------------------------------------------------------------------- Winograd's transforms
//
// Interpolation at 0, 1, -1, 2 and infinity. `packing.cpp` has the transform of the kernels that goes with it.

struct Five {
    Lanes at[5];
};

struct Three {
    Lanes at[3];
};

//  2 -1 -2  1  0
//  0 -2 -1  1  0
//  0  2 -3  1  0
//  0 -1  0  1  0
//  0  2 -1 -2  1
inline Five to_five(Lanes x0, Lanes x1, Lanes x2, Lanes x3, Lanes x4) {
    const Lanes t = x3 - x1, u = x3 - x2;
    return {{2.0f * (x0 - x2) + t, u - 2.0f * x1, 2.0f * (x1 - x2) + u, t, (x4 - x2) - 2.0f * t}};
}

//  1  1  1  1  0
//  0  1 -1  2  0
//  0  1  1  4  1
inline Three to_three(Lanes x0, Lanes x1, Lanes x2, Lanes x3, Lanes x4) {
    const Lanes sum = x1 + x2;
    return {{x0 + sum + x3, 2.0f * x3 + (x1 - x2), 4.0f * x3 + (sum + x4)}};
}

// The first square of a tile's 5x5 on the board with its border.
inline std::size_t corner(std::size_t tile) { return tile / 3 * 3 * BOARD_SIDE + tile % 3 * 3; }

// Half of the transform of a tile: columns of squares. `square(i, j)` is one of its 5x5.
template <class Square>
inline void columns_to_five(const Square& square, Five* columns) {
    for (std::size_t j = 0; j < 5; ++j) columns[j] = to_five(square(0, j), square(1, j), square(2, j), square(3, j), square(4, j));
}

// The other half: a row of points.
inline Five row_to_five(const Five* columns, std::size_t i) {
    return to_five(columns[0].at[i], columns[1].at[i], columns[2].at[i], columns[3].at[i], columns[4].at[i]);
}

void to_points(const float* boards, std::size_t positions, std::size_t channels, float* points, std::size_t stride) {
    for (std::size_t n = 0; n < positions; ++n)
        for (std::size_t tile = 0; tile < TILES; ++tile) {
            const float* const from = boards + (n * BOARD_CELLS + corner(tile)) * channels;
            float* const to = points + (n * TILES + tile) * channels;
            for (std::size_t c = 0; c < channels; c += LANES) {
                Five columns[5];
                columns_to_five([&](std::size_t i, std::size_t j) { return load(from + (i * BOARD_SIDE + j) * channels + c); }, columns);
                for (std::size_t i = 0; i < 5; ++i) {
                    const Five row = row_to_five(columns, i);
                    for (std::size_t j = 0; j < 5; ++j) store(to + (i * 5 + j) * stride + c, row.at[j]);
                }
            }
        }
}

template <Activation ACTIVATION>
void boards_from_points(const float* points, std::size_t stride, std::size_t positions, std::size_t channels, const float* scales,
                        const float* bias, const float* added, float* boards) {
    for (std::size_t n = 0; n < positions; ++n) {
        const Lanes scale = all(scales[n]);
        for (std::size_t tile = 0; tile < TILES; ++tile) {
            const float* const from = points + (n * TILES + tile) * channels;
            const std::size_t first = (n * BOARD_CELLS + corner(tile) + BOARD_SIDE + 1) * channels;
            for (std::size_t c = 0; c < channels; c += LANES) {
                const auto point = [&](std::size_t i, std::size_t j) { return load(from + (i * 5 + j) * stride + c); };
                Three columns[5];
                for (std::size_t j = 0; j < 5; ++j) columns[j] = to_three(point(0, j), point(1, j), point(2, j), point(3, j), point(4, j));
                const Lanes shift = load(bias + c);
                for (std::size_t i = 0; i < 3; ++i) {
                    const Three row = to_three(columns[0].at[i], columns[1].at[i], columns[2].at[i], columns[3].at[i], columns[4].at[i]);
                    for (std::size_t j = 0; j < 3; ++j) {
                        const std::size_t square = first + (i * BOARD_SIDE + j) * channels + c;
                        Lanes x = row.at[j] * scale + shift;
                        if (added != nullptr) x = x + load(added + square);
                        store(boards + square, activated<ACTIVATION>(x));
                    }
                }
            }
        }
    }
}

void from_points(const float* points, std::size_t stride, std::size_t positions, std::size_t channels, const float* scales,
                 const float* bias, const float* added, Activation activation, float* boards) {
    if (activation == Activation::RELU)
        boards_from_points<Activation::RELU>(points, stride, positions, channels, scales, bias, added, boards);
    else
        boards_from_points<Activation::SILU>(points, stride, positions, channels, scales, bias, added, boards);
}

// ------------------------------------------------------------------------------------------------- products

// Some rows times one panel. The sums stay in registers, so the loops over rows must be unrolled.
template <std::size_t COUNT>
inline void multiply_block(const float* rows, std::size_t row_stride, std::size_t inner, const float* panel, float* out,
                           std::size_t out_stride) {
    Lanes left[COUNT], right[COUNT];
    FUKAYOMI_UNROLL
    for (std::size_t r = 0; r < COUNT; ++r) left[r] = right[r] = all(0.0f);
    for (std::size_t k = 0; k < inner; ++k) {
        prefetch(panel + (k + inner) * PANEL);  // the next panel, which may be on another page
        const Lanes a = load(panel + k * PANEL), b = load(panel + k * PANEL + LANES);
        FUKAYOMI_UNROLL
        for (std::size_t r = 0; r < COUNT; ++r) {
            const float x = rows[r * row_stride + k];
            left[r] = left[r] + x * a;
            right[r] = right[r] + x * b;
        }
    }
    FUKAYOMI_UNROLL
    for (std::size_t r = 0; r < COUNT; ++r) {
        store(out + r * out_stride, left[r]);
        store(out + r * out_stride + LANES, right[r]);
    }
}

// `block.operator()<COUNT>(r)` for COUNT rows from r on, if that many are left.
template <std::size_t COUNT, class Block>
inline void rest_block(std::size_t r, std::size_t left, const Block& block) {
    if (left == COUNT)
        block.template operator()<COUNT>(r);
    else if constexpr (COUNT > 1)
        rest_block<COUNT - 1>(r, left, block);
}

// All rows in blocks for which there are registers; a last one that would be small shares with the one before it.
template <class Block>
inline void each_block(std::size_t count, const Block& block) {
    std::size_t r = 0;
    while (count - r >= 2 * ROWS || count - r == ROWS) {
        block.template operator()<ROWS>(r);
        r += ROWS;
    }
    const std::size_t left = count - r, half = left > ROWS ? (left + 1) / 2 : left;
    rest_block<ROWS>(r, half, block);
    rest_block<ROWS>(r + half, left - half, block);
}

void multiply(const float* rows, std::size_t row_stride, std::size_t count, std::size_t inner, const float* matrix, std::size_t columns,
              float* out, std::size_t out_stride) {
    for (std::size_t column = 0; column < columns; column += PANEL)
        each_block(count, [&]<std::size_t COUNT>(std::size_t r) {
            multiply_block<COUNT>(rows + r * row_stride, row_stride, inner, matrix + column * inner, out + r * out_stride + column,
                                  out_stride);
        });
}

void add(float* row, const float* other, std::size_t count) {
    for (std::size_t i = 0; i < count; i += LANES) store(row + i, load(row + i) + load(other + i));
}

float dot(const float* a, const float* b, std::size_t count) {
    Lanes sum = all(0.0f);
    for (std::size_t i = 0; i < count; i += LANES) sum = sum + load(a + i) * load(b + i);
    float parts[LANES];
    store(parts, sum);
    float total = 0;
    for (std::size_t i = 0; i < LANES; ++i) total += parts[i];
    return total;
}

// An unsigned comparison of the bits, in which NaN is above infinity, and that above every number.
float largest(const float* values, std::size_t count) {
    std::uint32_t parts[LANES] = {};
    for (std::size_t i = 0; i < count; i += LANES)
        for (std::size_t lane = 0; lane < LANES; ++lane) {
            const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, values[i + lane]) & 0x7fffffffu;
            parts[lane] = bits > parts[lane] ? bits : parts[lane];
        }
    std::uint32_t most = 0;
    for (std::size_t lane = 0; lane < LANES; ++lane) most = parts[lane] > most ? parts[lane] : most;
    return __builtin_bit_cast(float, most);
}

// ------------------------------------------------------------------------------------------------- 16-bit integers

#ifdef FUKAYOMI_SHORTS
#ifdef __AVX512BW__
using Sums = __m512i;
inline Sums no_sums() { return _mm512_setzero_si512(); }
inline Sums load_pairs(const std::int16_t* from) { return _mm512_loadu_si512(from); }
inline Sums all_pairs(std::int32_t pair) { return _mm512_set1_epi32(pair); }
inline Sums add_products(Sums sums, Sums x, Sums y) {
#ifdef __AVX512VNNI__
    return _mm512_dpwssd_epi32(sums, x, y);
#else
    return _mm512_add_epi32(sums, _mm512_madd_epi16(x, y));
#endif
}
inline void store_scaled(float* to, Sums sums, const float* scales) {
    _mm512_storeu_ps(to, _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_loadu_ps(scales)));
}
inline void store_rounded(std::int16_t* to, Lanes x) {
    float values[LANES];
    store(values, x);
    const __m512i rounded = _mm512_cvtps_epi32(_mm512_loadu_ps(values));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtsepi32_epi16(rounded));
}
inline void store_rounded(std::int16_t* to, Lanes x, Lanes y) {
    store_rounded(to, x);
    store_rounded(to + LANES, y);
}
#else
using Sums = __m256i;
inline Sums no_sums() { return _mm256_setzero_si256(); }
inline Sums load_pairs(const std::int16_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
inline Sums all_pairs(std::int32_t pair) { return _mm256_set1_epi32(pair); }
inline Sums add_products(Sums sums, Sums x, Sums y) { return _mm256_add_epi32(sums, _mm256_madd_epi16(x, y)); }
inline void store_scaled(float* to, Sums sums, const float* scales) {
    _mm256_storeu_ps(to, _mm256_mul_ps(_mm256_cvtepi32_ps(sums), _mm256_loadu_ps(scales)));
}
inline __m256i rounded(Lanes x) {
    float values[LANES];
    store(values, x);
    return _mm256_cvtps_epi32(_mm256_loadu_ps(values));
}
inline void store_rounded(std::int16_t* to, Lanes x, Lanes y) {
    const __m256i mixed = _mm256_packs_epi32(rounded(x), rounded(y));  // quarters of x and y in turn
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute4x64_epi64(mixed, 0b11'01'10'00));
}
#endif

// GCC would compute all products of a step before it adds them up, and have no registers for them.
#if defined(__GNUC__) || defined(__clang__)
#define FUKAYOMI_KEEP_ORDER(X, Y) __asm__ volatile("" : "+v"(X), "+v"(Y))
#else
#define FUKAYOMI_KEEP_ORDER(X, Y)
#endif

void to_short_points(const float* boards, std::size_t positions, std::size_t channels, const float* scales, std::int16_t* points,
                     std::size_t stride) {
    for (std::size_t n = 0; n < positions; ++n) {
        const Lanes scale = all(scales[n]);
        for (std::size_t tile = 0; tile < TILES; ++tile) {
            const float* const from = boards + (n * BOARD_CELLS + corner(tile)) * channels;
            std::int16_t* const to = points + (n * TILES + tile) * channels;
            for (std::size_t c = 0; c < channels; c += PANEL) {
                const auto squares_from = [&](std::size_t first) {
                    return [=](std::size_t i, std::size_t j) { return load(from + (i * BOARD_SIDE + j) * channels + first) * scale; };
                };
                Five left[5], right[5];
                columns_to_five(squares_from(c), left);
                columns_to_five(squares_from(c + LANES), right);
                for (std::size_t i = 0; i < 5; ++i) {
                    const Five a = row_to_five(left, i), b = row_to_five(right, i);
                    for (std::size_t j = 0; j < 5; ++j) store_rounded(to + (i * 5 + j) * stride + c, a.at[j], b.at[j]);
                }
            }
        }
    }
}

template <std::size_t COUNT>
inline void multiply_short_block(const std::int16_t* rows, std::size_t row_stride, std::size_t inner, const std::int16_t* panel,
                                 const float* scales, float* out, std::size_t out_stride) {
    Sums left[COUNT], right[COUNT];
    FUKAYOMI_UNROLL
    for (std::size_t r = 0; r < COUNT; ++r) left[r] = right[r] = no_sums();
    for (std::size_t k = 0; k < inner; k += 2) {
        prefetch(panel + (k + inner) * PANEL);
        const Sums a = load_pairs(panel + k * PANEL), b = load_pairs(panel + k * PANEL + PANEL);
        FUKAYOMI_UNROLL
        for (std::size_t r = 0; r < COUNT; ++r) {
            const Sums x = all_pairs(pair_at(rows + r * row_stride + k));
            left[r] = add_products(left[r], x, a);
            right[r] = add_products(right[r], x, b);
            FUKAYOMI_KEEP_ORDER(left[r], right[r]);
        }
    }
    FUKAYOMI_UNROLL
    for (std::size_t r = 0; r < COUNT; ++r) {
        store_scaled(out + r * out_stride, left[r], scales);
        store_scaled(out + r * out_stride + LANES, right[r], scales + LANES);
    }
}

void multiply_short(const std::int16_t* rows, std::size_t row_stride, std::size_t count, std::size_t inner, const std::int16_t* matrix,
                    const float* scales, std::size_t columns, float* out, std::size_t out_stride) {
    for (std::size_t column = 0; column < columns; column += PANEL)
        each_block(count, [&]<std::size_t COUNT>(std::size_t r) {
            multiply_short_block<COUNT>(rows + r * row_stride, row_stride, inner, matrix + column * inner, scales + column,
                                        out + r * out_stride + column, out_stride);
        });
}

constexpr auto TO_SHORT_POINTS = &to_short_points;
constexpr auto MULTIPLY_SHORT = &multiply_short;
#else
constexpr decltype(Kernels::to_short_points) TO_SHORT_POINTS = nullptr;
constexpr decltype(Kernels::multiply_short) MULTIPLY_SHORT = nullptr;
#endif

constexpr Kernels KERNELS = {FUKAYOMI_INSTRUCTIONS, PANEL,         &to_points, &from_points, &multiply, &add, &activate, &dot, &largest,
                             TO_SHORT_POINTS,       MULTIPLY_SHORT};

}  // namespace
}  // namespace fukayomi
