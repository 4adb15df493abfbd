#include "search/policy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace fukayomi {

namespace {

// e^x for x <= 0 to seven digits; a prior has three and a half. Plain arithmetic, so that a loop over it becomes vector
// instructions and every computer gets the same tree: e^x = 2^n * e^r, n the nearest integer to x / ln 2.
inline float exp_negative(float x) {
    x = x < -80.0F ? -80.0F : x;
    const float shifted = x * 1.44269504F + 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
    const float n = shifted - 12582912.0F;
    const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;  // ln 2 in two parts
    float p = 1.0F / 720.0F;
    p = p * r + 1.0F / 120.0F;
    p = p * r + 1.0F / 24.0F;
    p = p * r + 1.0F / 6.0F;
    p = p * r + 0.5F;
    p = p * r + 1.0F;
    p = p * r + 1.0F;
    const auto exponent = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127) << 23;
    return p * std::bit_cast<float>(exponent);
}

// The bits of floats as integers in the same order; its own inverse. Integers are compared in vectors.
constexpr std::int32_t ordered(std::int32_t bits) { return bits ^ ((bits >> 31) & 0x7FFFFFFF); }

}  // namespace

bool make_edges(const MoveList& moves, const float* logits, float temperature, std::span<Edge> edges) {
    const std::size_t n = moves.size();
    std::int32_t highest_bits = std::numeric_limits<std::int32_t>::min();
    std::int32_t magnitude = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto bits = std::bit_cast<std::int32_t>(logits[i]);
        highest_bits = std::max(highest_bits, ordered(bits));
        magnitude = std::max(magnitude, bits & 0x7FFFFFFF);
    }
    if (magnitude >= std::bit_cast<std::int32_t>(INFINITY)) return false;  // an infinity, or NaN
    const float highest = std::bit_cast<float>(ordered(highest_bits));
    std::array<float, MAX_MOVES> weights;
    const float scale = 1.0F / temperature;
    for (std::size_t i = 0; i < n; ++i) weights[i] = exp_negative((logits[i] - highest) * scale);
    float sum = 0.0F;
    for (std::size_t i = 0; i < n; ++i) sum += weights[i];
    const float norm = 1.0F / sum;
    for (std::size_t i = 0; i < n; ++i) edges[i] = make_edge(weights[i] * norm, moves[i]);
    return true;
}

}  // namespace fukayomi
