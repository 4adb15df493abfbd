// Batches of an evaluator in the core. A network that takes microseconds for a position would wait longer for the calls of a batch from
// outside than for its own work.
#include <algorithm>
#include <mutex>
#include <thread>

#include "encode/evaluator.hpp"
#include "search/search.hpp"

namespace fukayomi {

Search::Stretched Search::run(Batch& batch, CoreEvaluator& evaluator, SlotInput& input, const SlotOutput& output, const Stretch& stretch) {
    const auto end = std::chrono::steady_clock::now() + stretch.time;
    Stretched done;
    while (done.nodes < stretch.nodes && done.is_finite) {
        const std::size_t left = stretch.nodes - done.nodes;
        std::size_t rows = stretch.rows;
        if (stretch.visits_per_leaf > 0) {
            const Lock lock(mutex_);
            rows = std::min(rows, std::max<std::size_t>(1, tree_[tree_.root()].visits / stretch.visits_per_leaf));
        }
        // A smaller batch only where no other can follow: what a search finds must not depend on where its stretches end.
        const std::size_t wanted = batch.has_cache() ? 2 * rows : rows;
        if (wanted > left && done.nodes > 0) break;
        const auto count = static_cast<std::size_t>(gather(batch, input, 0, std::min(rows, left), std::min(wanted, left)));
        done.nodes += batch.hits();
        if (count == 0 && batch.hits() == 0) {
            done.is_idle = true;
            return done;
        }
        if (count > 0) {
            try {
                done.is_finite = evaluator.evaluate(input, count, output);
            } catch (...) {
                cancel(batch);
                throw;
            }
            if (done.is_finite) {
                apply(batch, output.logits, output.values);
                done.nodes += count;
            } else {
                cancel(batch);
            }
        }
        mutex_.let_pass();
        if (std::chrono::steady_clock::now() >= end) break;
    }
    return done;
}

}  // namespace fukayomi
