#include "search/hash_evaluator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "encode/planes.hpp"
#include "shogi/zobrist.hpp"

namespace fukayomi {

namespace {

constexpr float LOGIT_SIGMA = 1.5F;
constexpr float VALUE_SIGMA = 0.12F;

// A number of about N(0, 1): four 16-bit uniforms, summed (variance 1/3), centred and scaled.
float normal(std::uint64_t bits) {
    const auto sum = static_cast<std::int32_t>((bits & 0xFFFF) + ((bits >> 16) & 0xFFFF) + ((bits >> 32) & 0xFFFF) + (bits >> 48));
    return static_cast<float>(sum - 2 * 0xFFFF) * (1.7320508F / 65536.0F);
}

std::uint64_t hash_bytes(const std::uint8_t* bytes, std::size_t count, std::uint64_t seed) {
    // Four independent chains, so that the multiplications overlap.
    std::uint64_t chains[4] = {seed, seed + 1, seed + 2, seed + 3};
    const auto add = [&](std::size_t chain, const std::uint8_t* from, std::size_t size) {
        std::uint64_t word = 0;
        std::memcpy(&word, from, size);
        chains[chain] = (chains[chain] ^ word) * 0x9E3779B97F4A7C15ULL;
        chains[chain] ^= chains[chain] >> 29;
    };
    std::size_t i = 0;
    for (; i + 32 <= count; i += 32)
        for (std::size_t chain = 0; chain < 4; ++chain) add(chain, bytes + i + 8 * chain, 8);
    for (std::size_t chain = 0; i < count; i += 8, ++chain) add(chain, bytes + i, std::min<std::size_t>(8, count - i));
    return mix64(mix64(mix64(chains[0]) + chains[1]) + mix64(chains[2] + mix64(chains[3])));
}

}  // namespace

void HashEvaluator::run(const PlaneInput& in, std::size_t n, const SlotOutput& out) const {
    for (std::size_t row = 0; row < n; ++row) {
        std::uint64_t hash = hash_bytes(in.planes1(row), PACKED1_BYTES, seed_);
        std::array<std::uint8_t, PACKED2_BYTES> planes2;
        std::copy_n(in.planes2(row), PACKED2_BYTES, planes2.begin());
        planes2[COLOUR_PLANE / 8] &= static_cast<std::uint8_t>(~(1U << (COLOUR_PLANE % 8)));  // both colours alike
        hash = hash_bytes(planes2.data(), PACKED2_BYTES, hash);
        const std::uint16_t* labels = in.labels(row);
        float* logits = out.logits + row * MAX_MOVES;
        const std::size_t moves = in.moves(row);
        for (std::size_t i = 0; i < moves; ++i) logits[i] = LOGIT_SIGMA * normal(mix64(hash + labels[i] * 0x9E3779B97F4A7C15ULL));
        out.values[row] = std::clamp(0.5F + VALUE_SIGMA * normal(mix64(~hash)), 0.0F, 1.0F);
    }
}

void UniformEvaluator::run(const SlotInput& in, std::size_t n, const SlotOutput& out) const {
    for (std::size_t row = 0; row < n; ++row) {
        std::fill_n(out.logits + row * MAX_MOVES, in.moves(row), 0.0F);
        out.values[row] = 0.5F;
    }
}

}  // namespace fukayomi
