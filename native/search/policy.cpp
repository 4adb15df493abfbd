#include "search/policy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "search/exponential.hpp"

namespace fukayomi {

namespace {

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
