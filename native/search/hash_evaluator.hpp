// Evaluators without a network, for tests and benchmarks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "search/search.hpp"

namespace fukayomi {

// What an evaluator reads and writes: n rows of a slot.
struct SlotOutput {
    float* logits;  // [C, MAX_MOVES]
    float* values;  // [C]
};

// Pretends to know: logits of about N(0, 1.5), values around 0.5, drawn from a hash of the planes. A trained network's
// policy is about as sharp, and a search needs that: with a flat one it would only ever widen.
class HashEvaluator {
public:
    explicit HashEvaluator(std::uint64_t seed = 0) : seed_(seed) {}
    void run(const SlotInput& slot, std::size_t n, const SlotOutput& out) const;

private:
    std::uint64_t seed_;
};

// Knows nothing: every move alike, every position even. The widest trees that a search meets.
class UniformEvaluator {
public:
    void run(const SlotInput& slot, std::size_t n, const SlotOutput& out) const;
};

}  // namespace fukayomi
