// What evaluates the batches of a search without leaving the core.
#pragma once

#include <cstddef>
#include <stdexcept>

#include "encode/slot.hpp"

namespace fukayomi {

class CoreEvaluator {
  public:
    virtual ~CoreEvaluator() = default;
    // The first `count` rows of an input of the kind that it reads. False: a result is not finite. Throws std::invalid_argument for
    // an input of another kind.
    virtual bool evaluate(const SlotInput& in, std::size_t count, const SlotOutput& out) = 0;
};

// The input as the kind that an evaluator reads.
template <class Input>
const Input& input_as(const SlotInput& in) {
    const auto* own = dynamic_cast<const Input*>(&in);
    if (own == nullptr) throw std::invalid_argument("the input is of another evaluator");
    return *own;
}

}  // namespace fukayomi
