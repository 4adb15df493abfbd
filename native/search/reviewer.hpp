// A second evaluator, whose opinion of the moves counts where a search spends its visits.
//
// A network that is fast enough to look at every position is a weak judge of moves. A strong one that sees a position only when it
// has SearchParams::review_visits visits is asked for a few of a hundred, and these decide.
#pragma once

#include <cstddef>

#include "encode/evaluator.hpp"
#include "encode/slot.hpp"

namespace fukayomi {

// The evaluator with the memory of its batches. One thread at a time may use it.
struct Reviewer {
    CoreEvaluator& evaluator;
    SlotInput& input;
    SlotOutput output;  // with as many rows as the input
};

}  // namespace fukayomi
