// A second network looks at the positions that have become important (reviewer.hpp).
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "search/policy.hpp"
#include "search/reviewer.hpp"
#include "search/search.hpp"

namespace fukayomi {

// A visit was backed up along the leaf's path: the positions of it that now have the number of visits are due.
void Search::note_due(Batch& batch, const Leaf& leaf) {
    if (batch.reviewer_ == nullptr || params_.review_visits == 0) return;
    const auto due = static_cast<std::uint32_t>(params_.review_visits);
    for (std::size_t depth = 0; depth < leaf.path.size(); ++depth) {
        const std::uint32_t visits = tree_[leaf.path[depth].node].visits;
        if (visits < due) return;
        if (visits == due) batch.due_.emplace_back(leaf.moves.begin(), leaf.moves.begin() + static_cast<std::ptrdiff_t>(depth));
    }
}

void Search::review(Batch& batch) {
    std::shared_ptr<const Root> root;
    while (const std::size_t count = begin_review(batch, root)) {
        bool is_finite = false;
        try {
            is_finite = ask_reviewer(batch, *root, count);
        } catch (...) {
            const Lock lock(mutex_);
            undo(batch);
            throw;
        }
        const Lock lock(mutex_);
        if (is_finite) end_review(batch);
        undo(batch);
        if (!is_finite) throw std::invalid_argument("the reviewer's output is unusable: a logit is not finite");
    }
}

// Takes positions that are due, as many as the reviewer has rows. A visit is under way to each of them, so that it stays in the tree.
// With Gumbel's rule the root keeps the priors by which its moves were drawn.
std::size_t Search::begin_review(Batch& batch, std::shared_ptr<const Root>& root) {
    if (batch.due_.empty() || !begin(batch, root)) {
        batch.due_.clear();
        return 0;
    }
    const Lock lock(mutex_);
    if (batch.is_registered_) batch.reader_.set_root(*root);
    const std::size_t rows = std::min(batch.reviewer_->input.capacity(), batch.capacity());
    while (batch.is_registered_ && !batch.due_.empty() && batch.reviewed_ < rows) {
        Leaf& leaf = *batch.leaves_[batch.reviewed_];
        leaf.moves = std::move(batch.due_.back());
        batch.due_.pop_back();
        if (leaf.moves.empty() && params_.root_rule == RootRule::GUMBEL) continue;
        leaf.path = tree_.find(leaf.moves);
        if (leaf.path.size() != leaf.moves.size() + 1) continue;
        const Node& node = tree_[leaf.path.back().node];
        if (node.state != NodeState::EXPANDED || node.is_settled) continue;
        const EdgeSpan edges = tree_.edges(leaf.path.back().node);
        leaf.edges.clear();
        for (std::size_t i = 0; i < edges.size(); ++i) leaf.edges.push(edge_move(edges[i]));
        for (std::size_t depth = 0; depth < leaf.path.size(); ++depth) tree_.begin_visit(leaf.path, depth);
        ++batch.reviewed_;
    }
    const std::size_t count = batch.reviewed_;
    if (count == 0) undo(batch);
    return count;
}

// Without the lock. False: a logit is not finite.
bool Search::ask_reviewer(Batch& batch, const Root& root, std::size_t count) const {
    const Reviewer& reviewer = *batch.reviewer_;
    for (std::size_t row = 0; row < count; ++row) batch.reader_.write(root, *batch.leaves_[row], reviewer.input, row);
    if (!reviewer.evaluator.evaluate(reviewer.input, count, reviewer.output)) return false;
    for (std::size_t row = 0; row < count; ++row) {
        Leaf& leaf = *batch.leaves_[row];
        const float* logits = reviewer.output.logits + row * MAX_MOVES;
        if (!make_edges(leaf.edges, logits, params_.temperature_at(leaf.moves.size()), leaf.packed)) return false;
        if (!leaf.moves.empty()) tree_.history().change(leaf.turn, {leaf.packed.data(), leaf.edges.size()});
    }
    return true;
}

void Search::end_review(Batch& batch) {
    for (std::size_t k = 0; k < batch.reviewed_; ++k) {
        const Leaf& leaf = *batch.leaves_[k];
        tree_.set_priors(leaf.path.back().node, {leaf.packed.data(), leaf.edges.size()});
        if (leaf.moves.empty()) begin_policy();
    }
}

}  // namespace fukayomi
