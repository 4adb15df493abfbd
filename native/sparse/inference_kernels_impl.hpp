// Everything is in an unnamed namespace and nothing comes from the standard library: no function that is compiled here for newer
// processors may take the place of its namesake elsewhere.
//
// FUKAYOMI_BITS is the width of a vector: 0 (plain code, of which a compiler makes what it can, but for the sums of rows), 128, 256
// or 512.
// FUKAYOMI_NEON: the vectors of 128 bits are those of 64-bit ARM.
// FUKAYOMI_DOT: the instructions multiply bytes and add four products to 32 bits at once.
#pragma once

#if defined(FUKAYOMI_NEON)
#include <arm_neon.h>
#elif FUKAYOMI_BITS > 0
#include <immintrin.h>
#endif

#include "sparse/inference_kernels.hpp"

namespace fukayomi {
namespace {

constexpr std::size_t GROUPS = 8;
constexpr std::size_t MOVE_WORDS = 1 + GROUPS;

#if FUKAYOMI_BITS == 512
typedef __m512i Vector;
constexpr std::size_t VECTORS = 12;  // of a row that are added together: each needs two registers
inline Vector load(const void* from) { return _mm512_loadu_si512(from); }
inline void store(void* to, Vector x) { _mm512_storeu_si512(to, x); }
inline Vector zeros() { return _mm512_setzero_si512(); }
inline Vector shorts(short x) { return _mm512_set1_epi16(x); }
inline Vector add_shorts(Vector x, Vector y) { return _mm512_add_epi16(x, y); }
inline Vector subtract_shorts(Vector x, Vector y) { return _mm512_sub_epi16(x, y); }
inline Vector high_bytes(Vector x) { return _mm512_srai_epi16(x, 8); }
inline Vector times_256(Vector x) { return _mm512_slli_epi16(x, 8); }
inline Vector add_words(Vector x, Vector y) { return _mm512_add_epi32(x, y); }
inline Vector multiply_pairs(Vector x, Vector y) { return _mm512_madd_epi16(x, y); }
inline Vector pair_everywhere(int pair) { return _mm512_set1_epi32(pair); }
#ifdef FUKAYOMI_DOT
inline Vector add_dot(Vector sum, Vector numbers, Vector weights) { return _mm512_dpbusd_epi32(sum, numbers, weights); }
#else
inline Vector add_dot(Vector sum, Vector numbers, Vector weights) {
    return add_words(sum, multiply_pairs(_mm512_maddubs_epi16(numbers, weights), shorts(1)));
}
#endif
inline __m256i halves(Vector x) { return _mm256_add_epi32(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1)); }
#elif FUKAYOMI_BITS == 256
typedef __m256i Vector;
constexpr std::size_t VECTORS = 6;
inline Vector load(const void* from) { return _mm256_loadu_si256(static_cast<const Vector*>(from)); }
inline void store(void* to, Vector x) { _mm256_storeu_si256(static_cast<Vector*>(to), x); }
inline Vector zeros() { return _mm256_setzero_si256(); }
inline Vector shorts(short x) { return _mm256_set1_epi16(x); }
inline Vector add_shorts(Vector x, Vector y) { return _mm256_add_epi16(x, y); }
inline Vector subtract_shorts(Vector x, Vector y) { return _mm256_sub_epi16(x, y); }
inline Vector high_bytes(Vector x) { return _mm256_srai_epi16(x, 8); }
inline Vector times_256(Vector x) { return _mm256_slli_epi16(x, 8); }
inline Vector add_words(Vector x, Vector y) { return _mm256_add_epi32(x, y); }
inline Vector multiply_pairs(Vector x, Vector y) { return _mm256_madd_epi16(x, y); }
inline Vector pair_everywhere(int pair) { return _mm256_set1_epi32(pair); }
#ifdef FUKAYOMI_DOT
inline Vector add_dot(Vector sum, Vector numbers, Vector weights) { return _mm256_dpbusd_avx_epi32(sum, numbers, weights); }
#else
inline Vector add_dot(Vector sum, Vector numbers, Vector weights) {
    return add_words(sum, multiply_pairs(_mm256_maddubs_epi16(numbers, weights), shorts(1)));
}
#endif
inline __m256i halves(Vector x) { return x; }
#elif defined(FUKAYOMI_NEON)
typedef int16x8_t Vector;
constexpr std::size_t VECTORS = 12;
inline Vector load(const void* from) { return vreinterpretq_s16_u8(vld1q_u8(static_cast<const std::uint8_t*>(from))); }
inline void store(void* to, Vector x) { vst1q_u8(static_cast<std::uint8_t*>(to), vreinterpretq_u8_s16(x)); }
inline Vector zeros() { return vdupq_n_s16(0); }
inline Vector shorts(short x) { return vdupq_n_s16(x); }
inline Vector add_shorts(Vector x, Vector y) { return vaddq_s16(x, y); }
inline Vector subtract_shorts(Vector x, Vector y) { return vsubq_s16(x, y); }
inline Vector high_bytes(Vector x) { return vshrq_n_s16(x, 8); }
inline Vector times_256(Vector x) { return vshlq_n_s16(x, 8); }
inline int32x4_t words(Vector x) { return vreinterpretq_s32_s16(x); }
inline Vector add_words(Vector x, Vector y) { return vreinterpretq_s16_s32(vaddq_s32(words(x), words(y))); }
inline Vector multiply_pairs(Vector x, Vector y) {
    return vreinterpretq_s16_s32(vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y)));
}
inline Vector pair_everywhere(int pair) { return vreinterpretq_s16_s32(vdupq_n_s32(pair)); }
// Two products of 127 and -128 fit into 16 bits. Which of them meet is another order than elsewhere; all are added in the end.
inline Vector add_dot(Vector sum, Vector numbers, Vector weights) {
    const int8x16_t x = vreinterpretq_s8_s16(numbers), y = vreinterpretq_s8_s16(weights);
    return vreinterpretq_s16_s32(vpadalq_s16(words(sum), vmlal_high_s8(vmull_s8(vget_low_s8(x), vget_low_s8(y)), x, y)));
}
#elif FUKAYOMI_BITS == 128
typedef __m128i Vector;
constexpr std::size_t VECTORS = 6;
inline Vector load(const void* from) { return _mm_loadu_si128(static_cast<const Vector*>(from)); }
inline void store(void* to, Vector x) { _mm_storeu_si128(static_cast<Vector*>(to), x); }
inline Vector zeros() { return _mm_setzero_si128(); }
inline Vector shorts(short x) { return _mm_set1_epi16(x); }
inline Vector add_shorts(Vector x, Vector y) { return _mm_add_epi16(x, y); }
inline Vector subtract_shorts(Vector x, Vector y) { return _mm_sub_epi16(x, y); }
inline Vector high_bytes(Vector x) { return _mm_srai_epi16(x, 8); }
inline Vector times_256(Vector x) { return _mm_slli_epi16(x, 8); }
inline Vector add_words(Vector x, Vector y) { return _mm_add_epi32(x, y); }
inline Vector multiply_pairs(Vector x, Vector y) { return _mm_madd_epi16(x, y); }
inline Vector pair_everywhere(int pair) { return _mm_set1_epi32(pair); }
inline Vector add_dot(Vector sum, Vector numbers, Vector weights) {
    return add_words(sum, multiply_pairs(_mm_maddubs_epi16(numbers, weights), shorts(1)));
}
#elif defined(__GNUC__) || defined(__clang__)
#define FUKAYOMI_PLAIN_VECTORS
typedef std::uint16_t Vector __attribute__((vector_size(16)));
typedef std::int16_t SignedVector __attribute__((vector_size(16)));
typedef std::uint16_t UnalignedVector __attribute__((vector_size(16), aligned(1), may_alias));
constexpr std::size_t VECTORS = 6;
inline Vector load(const void* from) { return *static_cast<const UnalignedVector*>(from); }
inline void store(void* to, Vector x) { *static_cast<UnalignedVector*>(to) = x; }
inline Vector zeros() { return Vector{}; }
inline Vector shorts(short x) { return Vector{} + static_cast<std::uint16_t>(x); }
inline Vector add_shorts(Vector x, Vector y) { return x + y; }
inline Vector subtract_shorts(Vector x, Vector y) { return x - y; }
inline Vector high_bytes(Vector x) { return reinterpret_cast<Vector>(reinterpret_cast<SignedVector>(x) >> 8); }
inline Vector times_256(Vector x) { return x << 8; }
#endif

#if FUKAYOMI_BITS > 0 || defined(FUKAYOMI_PLAIN_VECTORS)

#if defined(__GNUC__) || defined(__clang__)
#define FUKAYOMI_UNROLL _Pragma("GCC unroll 12")
// A sum stays in its register: GCC 12 would move all of them to memory and back for each row.
inline void keep(Vector& x) {
#if FUKAYOMI_BITS == 512
    asm("" : "+v"(x));
#elif defined(__x86_64__)
    asm("" : "+x"(x));
#elif defined(__aarch64__)
    asm("" : "+w"(x));
#else
    static_cast<void>(x);
#endif
}
#else
#define FUKAYOMI_UNROLL
inline void keep(Vector&) {}
#endif

// Two columns lie in a word of 16 bits, 256 a + b with b from 0 to 255. The sum of the words and the sum of all a, both modulo 2^16,
// have both sums: fewer instructions than to widen each byte.
template <std::size_t COUNT>
inline void sum_strip(const std::uint16_t* rows, std::size_t count, const std::uint8_t* table, std::size_t stride, const std::int16_t* bias,
                      std::size_t odd, std::int16_t* sums) {
    constexpr std::size_t SHORTS = sizeof(Vector) / 2;
    Vector words[COUNT], highs[COUNT];
    FUKAYOMI_UNROLL
    for (std::size_t i = 0; i < COUNT; ++i) words[i] = highs[i] = zeros();
    for (const std::uint16_t *next = rows, *const end = rows + count; next != end;) {
        const std::uint8_t* const row = table + *next++ * stride;
        FUKAYOMI_UNROLL
        for (std::size_t i = 0; i < COUNT; ++i) {
            const Vector x = load(row + i * sizeof(Vector));
            words[i] = add_shorts(words[i], x);
            highs[i] = add_shorts(highs[i], high_bytes(x));
        }
        FUKAYOMI_UNROLL
        for (std::size_t i = 0; i < COUNT; ++i) {
            keep(words[i]);
            keep(highs[i]);
        }
    }
    FUKAYOMI_UNROLL
    for (std::size_t i = 0; i < COUNT; ++i) {
        keep(words[i]);
        keep(highs[i]);
    }
    const Vector added = shorts(static_cast<short>(static_cast<std::uint16_t>(128 * count)));
    FUKAYOMI_UNROLL
    for (std::size_t i = 0; i < COUNT; ++i) {
        const Vector low = subtract_shorts(subtract_shorts(words[i], times_256(highs[i])), added);
        store(sums + i * SHORTS, add_shorts(low, load(bias + i * SHORTS)));
        store(sums + odd + i * SHORTS, add_shorts(highs[i], load(bias + odd + i * SHORTS)));
    }
}

template <std::size_t COUNT>
inline std::size_t sum_strips(std::size_t done, const std::uint16_t* rows, std::size_t count, const std::uint8_t* table,
                              std::size_t columns, const std::int16_t* bias, std::int16_t* sums) {
    constexpr std::size_t BYTES = COUNT * sizeof(Vector);
    for (; columns - done >= BYTES; done += BYTES)
        sum_strip<COUNT>(rows, count, table + done, columns, bias + done / 2, columns / 2, sums + done / 2);
    return done;
}

void sum_rows(const std::uint16_t* rows, std::size_t count, const std::uint8_t* table, std::size_t columns, const std::int16_t* bias,
              std::int16_t* sums) {
    std::size_t done = sum_strips<VECTORS>(0, rows, count, table, columns, bias, sums);
    done = sum_strips<4>(done, rows, count, table, columns, bias, sums);
    done = sum_strips<2>(done, rows, count, table, columns, bias, sums);
    sum_strips<1>(done, rows, count, table, columns, bias, sums);
}

#else

constexpr std::size_t UNIT = 64;  // columns that are added together

void sum_rows(const std::uint16_t* rows, std::size_t count, const std::uint8_t* table, std::size_t columns, const std::int16_t* bias,
              std::int16_t* sums) {
    const std::size_t odd = columns / 2;
    for (std::size_t c = 0; c < odd; c += UNIT / 2) {
        std::uint16_t low[UNIT / 2] = {}, high[UNIT / 2] = {};
        for (std::size_t n = 0; n < count; ++n) {
            const std::uint8_t* const row = table + rows[n] * columns + c * 2;
            for (std::size_t i = 0; i < UNIT / 2; ++i) {
                low[i] = static_cast<std::uint16_t>(low[i] + row[2 * i]);
                high[i] = static_cast<std::uint16_t>(high[i] + static_cast<std::int8_t>(row[2 * i + 1]));
            }
        }
        for (std::size_t i = 0; i < UNIT / 2; ++i) {
            sums[c + i] =
                static_cast<std::int16_t>(static_cast<std::uint16_t>(low[i] - 128 * count + static_cast<std::size_t>(bias[c + i])));
            sums[odd + c + i] = static_cast<std::int16_t>(static_cast<std::uint16_t>(high[i] + bias[odd + c + i]));
        }
    }
}

#endif

#if FUKAYOMI_BITS > 0

inline void store_sums_of_four(std::int32_t* to, const Vector* x) {
#if defined(FUKAYOMI_NEON)
    vst1q_s32(to, vpaddq_s32(vpaddq_s32(words(x[0]), words(x[1])), vpaddq_s32(words(x[2]), words(x[3]))));
#elif FUKAYOMI_BITS == 128
    store(to, _mm_hadd_epi32(_mm_hadd_epi32(x[0], x[1]), _mm_hadd_epi32(x[2], x[3])));
#else
    const __m256i sums = _mm256_hadd_epi32(_mm256_hadd_epi32(halves(x[0]), halves(x[1])), _mm256_hadd_epi32(halves(x[2]), halves(x[3])));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1)));
#endif
}

// The widths are known to the compiler, or 0.
template <std::size_t LABEL_STRIDE, std::size_t GROUP_STRIDE>
inline void move_sums_by_width(const std::uint16_t* moves, std::size_t count, const std::uint8_t* numbers, const MoveRows& tables,
                               std::int32_t* labels, std::int32_t* groups) {
    const std::size_t label_stride = LABEL_STRIDE != 0 ? LABEL_STRIDE : tables.label_stride;
    const std::size_t group_stride = GROUP_STRIDE != 0 ? GROUP_STRIDE : tables.group_stride;
    for (std::size_t m = 0; m < count; m += MOVES_AT_ONCE) {
        Vector of_labels[MOVES_AT_ONCE], of_groups[MOVES_AT_ONCE];
        FUKAYOMI_UNROLL
        for (std::size_t k = 0; k < MOVES_AT_ONCE; ++k) {
            const std::uint16_t* const move = moves + (m + k < count ? m + k : count - 1) * MOVE_WORDS;
            Vector label = zeros();
            const std::int8_t* const row = tables.labels + move[0] * label_stride;
            FUKAYOMI_UNROLL
            for (std::size_t c = 0; c < label_stride; c += sizeof(Vector)) label = add_dot(label, load(numbers + c), load(row + c));
            of_labels[k] = label;
            Vector first = zeros(), second = zeros();
            FUKAYOMI_UNROLL
            for (std::size_t c = 0; c < group_stride; c += sizeof(Vector)) {
                const Vector x = load(numbers + c);
                FUKAYOMI_UNROLL
                for (std::size_t g = 0; g < GROUPS; g += 2) {
                    first = add_dot(first, x, load(tables.groups + move[1 + g] * group_stride + c));
                    second = add_dot(second, x, load(tables.groups + move[2 + g] * group_stride + c));
                }
            }
            of_groups[k] = add_words(first, second);
        }
        store_sums_of_four(labels + m, of_labels);
        store_sums_of_four(groups + m, of_groups);
    }
}

void move_sums(const std::uint16_t* moves, std::size_t count, const std::uint8_t* numbers, const MoveRows& tables, std::int32_t* labels,
               std::int32_t* groups) {
    if (tables.label_stride == 192 && tables.group_stride == 64)
        move_sums_by_width<192, 64>(moves, count, numbers, tables, labels, groups);
    else
        move_sums_by_width<0, 0>(moves, count, numbers, tables, labels, groups);
}

void multiply_numbers(const std::uint16_t* numbers, std::size_t count, const std::int16_t* weights, std::size_t outputs,
                      std::int32_t* sums) {
    constexpr std::size_t WORDS = sizeof(Vector) / 4, COLUMNS = HIDDEN_UNIT / WORDS;
    for (std::size_t o = 0; o < outputs; o += HIDDEN_UNIT) {
        Vector total[COLUMNS];
        FUKAYOMI_UNROLL
        for (std::size_t i = 0; i < COLUMNS; ++i) total[i] = zeros();
        for (std::size_t n = 0; n < count; n += 2) {
            const Vector pair = pair_everywhere(numbers[n] | numbers[n + 1] << 16);
            const std::int16_t* const row = weights + (n / 2 * outputs + o) * 2;
            FUKAYOMI_UNROLL
            for (std::size_t i = 0; i < COLUMNS; ++i) total[i] = add_words(total[i], multiply_pairs(pair, load(row + i * WORDS * 2)));
        }
        FUKAYOMI_UNROLL
        for (std::size_t i = 0; i < COLUMNS; ++i) store(sums + o + i * WORDS, total[i]);
    }
}

#else

std::int32_t dot(const std::uint8_t* numbers, const std::int8_t* weights, std::size_t count) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += numbers[i] * weights[i];
    return sum;
}

void move_sums(const std::uint16_t* moves, std::size_t count, const std::uint8_t* numbers, const MoveRows& tables, std::int32_t* labels,
               std::int32_t* groups) {
    for (std::size_t m = 0; m < count; ++m) {
        const std::uint16_t* const move = moves + m * MOVE_WORDS;
        labels[m] = dot(numbers, tables.labels + move[0] * tables.label_stride, tables.label_stride);
        groups[m] = 0;
        for (std::size_t g = 0; g < GROUPS; ++g)
            groups[m] += dot(numbers, tables.groups + move[1 + g] * tables.group_stride, tables.group_stride);
    }
}

void multiply_numbers(const std::uint16_t* numbers, std::size_t count, const std::int16_t* weights, std::size_t outputs,
                      std::int32_t* sums) {
    for (std::size_t o = 0; o < outputs; ++o) sums[o] = 0;
    for (std::size_t n = 0; n < count; n += 2)
        for (std::size_t o = 0; o < outputs; ++o) {
            const std::int16_t* const pair = weights + (n / 2 * outputs + o) * 2;
            sums[o] += numbers[n] * pair[0] + numbers[n + 1] * pair[1];
        }
}

#endif

// What follows is plain code that compilers turn into vectors.

inline std::uint8_t product(std::int16_t a, std::int16_t b, std::int16_t top_a, std::int16_t top_b, std::int16_t factor) {
    const std::int16_t first = a < 0 ? std::int16_t{0} : a > top_a ? top_a : a, second = b < 0 ? std::int16_t{0} : b > top_b ? top_b : b;
    const std::uint16_t x = static_cast<std::uint16_t>(first << 6), y = static_cast<std::uint16_t>(second << 5);
    const std::int16_t both = static_cast<std::int16_t>((static_cast<std::uint32_t>(x) * y) >> 16);
    return static_cast<std::uint8_t>(((both * factor >> 14) + 1) >> 1);
}

void products(const std::int16_t* sums, const std::int16_t* tops, const std::int16_t* factors, std::size_t odd, std::size_t columns,
              std::uint8_t* numbers) {
    const std::size_t pairs = columns / 4;
    for (std::size_t i = 0; i < pairs; ++i) {
        numbers[2 * i] = product(sums[i], sums[pairs + i], tops[i], tops[pairs + i], factors[i]);
        numbers[2 * i + 1] = product(sums[odd + i], sums[odd + pairs + i], tops[odd + i], tops[odd + pairs + i], factors[odd + i]);
    }
}

void multiply_floats(const float* in, std::size_t count, const float* weights, const float* bias, std::size_t outputs, float* out) {
    for (std::size_t o = 0; o < outputs; o += HIDDEN_UNIT) {
        float sums[HIDDEN_UNIT];
        for (std::size_t i = 0; i < HIDDEN_UNIT; ++i) sums[i] = bias[o + i];
        for (std::size_t n = 0; n < count; ++n)
            for (std::size_t i = 0; i < HIDDEN_UNIT; ++i) sums[i] += in[n] * weights[n * outputs + o + i];
        for (std::size_t i = 0; i < HIDDEN_UNIT; ++i) out[o + i] = sums[i];
    }
}

constexpr SparseKernels KERNELS = {FUKAYOMI_INSTRUCTIONS, sum_rows, products, move_sums, multiply_numbers, multiply_floats};

}  // namespace
}  // namespace fukayomi
