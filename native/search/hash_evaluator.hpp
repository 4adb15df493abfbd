// Evaluators without a network, for tests and benchmarks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "encode/evaluator.hpp"

namespace fukayomi {

// Draws logits of about N(0, 1.5) and values around 0.5 from a hash of the planes. The policy is about as sharp as a trained
// network's; with a flat one a search only widens.
class HashEvaluator final : public CoreEvaluator {
  public:
    explicit HashEvaluator(std::uint64_t seed = 0) : seed_(seed) {}
    void run(const PlaneInput& in, std::size_t n, const SlotOutput& out) const;
    bool evaluate(const SlotInput& in, std::size_t n, const SlotOutput& out) override {
        run(input_as<PlaneInput>(in), n, out);
        return true;
    }

  private:
    std::uint64_t seed_;
};

// Gives every move the same prior and every position an even value, which makes the widest trees a search can meet.
class UniformEvaluator final : public CoreEvaluator {
  public:
    void run(const SlotInput& in, std::size_t n, const SlotOutput& out) const;
    bool evaluate(const SlotInput& in, std::size_t n, const SlotOutput& out) override {
        run(in, n, out);
        return true;
    }
};

}  // namespace fukayomi
