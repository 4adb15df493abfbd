// What a network can learn from a search, beside the root's own policy (teaching.hpp).
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "codec/evaluation.hpp"
#include "codec/hcp.hpp"
#include "search/policy.hpp"
#include "search/search.hpp"

namespace fukayomi {

// Games of one move in hcpe3, without a result.
class LabelledPositions {
  public:
    struct Share {
        Move move;
        float share;  // of 1
    };

    // Shares that are too small are left out.
    void add(const Board& board, std::span<const Share> policy, double value) {
        const auto is_kept = [](const Share& each) { return each.share >= LEAST_SHARE; };
        const auto best = std::max_element(policy.begin(), policy.end(), [](const Share& a, const Share& b) { return a.share < b.share; });
        const Hcp hcp = encode_hcp(board);
        bytes_.insert(bytes_.end(), hcp.begin(), hcp.end());
        put(1);
        put(0);  // no result, no opponent
        put(best->move.raw());
        put(static_cast<std::uint16_t>(static_cast<std::int16_t>(centipawns(static_cast<float>(value), EVAL_SCALE))));
        put(static_cast<std::size_t>(std::count_if(policy.begin(), policy.end(), is_kept)));
        for (const Share& each : policy) {
            if (!is_kept(each)) continue;
            put(each.move.raw());
            put(static_cast<std::size_t>(std::lround(MOST_WEIGHT * std::min(each.share, 1.0F))));
        }
    }

    std::vector<std::uint8_t> take() { return std::move(bytes_); }

  private:
    static constexpr float LEAST_SHARE = 1.0F / 512.0F;
    static constexpr float MOST_WEIGHT = 65535.0F;

    void put(std::size_t number) {
        bytes_.push_back(static_cast<std::uint8_t>(number & 255));
        bytes_.push_back(static_cast<std::uint8_t>(number >> 8 & 255));
    }

    std::vector<std::uint8_t> bytes_;
};

std::vector<std::uint8_t> Search::labelled_leaves(Batch& batch, const float* logits, const float* values) const {
    const Batch::Use use(batch, *this);
    std::shared_ptr<const Root> root;
    {
        const Lock lock(mutex_);
        if (!batch.is_registered_) return {};
        root = root_;
    }
    LabelledPositions labelled;
    std::array<Edge, MAX_MOVES> edges;
    std::vector<LabelledPositions::Share> policy;
    for (std::size_t row = 0; row < batch.count_; ++row) {
        const Leaf& leaf = *batch.leaves_[row];
        if (!make_edges(leaf.edges, logits + row * MAX_MOVES, 1.0F, edges) || !(values[row] >= 0.0F && values[row] <= 1.0F)) continue;
        Board board = root->board;
        for (const Move m : leaf.moves) board.do_move(m);
        policy.clear();
        for (std::size_t i = 0; i < leaf.edges.size(); ++i) policy.push_back({leaf.edges[i], edge_prior(edges[i])});
        labelled.add(board, policy, values[row]);
    }
    return labelled.take();
}

namespace {

// For so many visits the network's own policy counts in the label of an inner node: few visits say little of single moves.
constexpr float PRIOR_VISITS = 32.0F;

}  // namespace

std::vector<std::uint8_t> Search::labelled_nodes(std::uint32_t least_visits) const {
    LabelledPositions labelled;
    const Asking asking(mutex_);
    if (root_ != nullptr) label_below(tree_.root(), root_->board, 0, std::max(least_visits, 2U), labelled);
    return labelled.take();
}

void Search::label_below(Index i, const Board& board, std::size_t depth, std::uint32_t least_visits, LabelledPositions& labelled) const {
    const Node& node = tree_[i];
    if (node.visits < least_visits || node.state != NodeState::EXPANDED || node.children == NOWHERE) return;
    const std::span<const Child> children{tree_.children(i).begin(), node.child_count};
    const EdgeSpan edges = tree_.edges(i);
    const float temperature = params_.temperature_at(depth);
    std::vector<LabelledPositions::Share> policy;
    std::vector<float> visits;
    float all_priors = 0.0F, all_visits = 0.0F;
    const Node* best = nullptr;
    for (std::size_t slot = 0; slot < edges.size(); ++slot) {
        const Node* const child = slot < children.size() ? &tree_[children[slot].node] : nullptr;
        if (child != nullptr && child->proof == Proof::WIN) continue;  // for the opponent
        if (child != nullptr && child->visits > (best != nullptr ? best->visits : 0)) best = child;
        policy.push_back({edge_move(edges[slot]), std::pow(edge_prior(edges[slot]), temperature)});
        visits.push_back(child != nullptr ? static_cast<float>(child->visits) : 0.0F);
        all_priors += policy.back().share;
        all_visits += visits.back();
    }
    if (node.proof == Proof::NONE && !node.has_recurred && best != nullptr) {
        for (std::size_t k = 0; k < policy.size(); ++k)
            policy[k].share = (PRIOR_VISITS * policy[k].share / all_priors + visits[k]) / (PRIOR_VISITS + all_visits);
        labelled.add(board, policy, best->value_sum / best->visits);
    }
    for (const Child& child : children) {
        if (tree_[child.node].visits < least_visits) continue;
        Board next = board;
        next.do_move(Move(tree_[child.node].move));
        label_below(child.node, next, depth + 1, least_visits, labelled);
    }
}

}  // namespace fukayomi
