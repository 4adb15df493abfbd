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

std::vector<std::uint8_t> Search::labelled_nodes(std::uint32_t least_visits) const {
    LabelledPositions labelled;
    const Asking asking(mutex_);
    if (root_ != nullptr) label_below(tree_.root(), root_->board, std::max(least_visits, 2U), labelled);
    return labelled.take();
}

void Search::label_below(Index i, const Board& board, std::uint32_t least_visits, LabelledPositions& labelled) const {
    const Node& node = tree_[i];
    if (node.visits < least_visits || node.state != NodeState::EXPANDED || node.children == NOWHERE) return;
    const std::span<const Child> children{tree_.children(i).begin(), node.child_count};
    std::vector<LabelledPositions::Share> policy;
    float visits = 0.0F;
    for (const Child& child : children) {
        const Node& next = tree_[child.node];
        if (next.proof == Proof::WIN) continue;  // for the opponent
        policy.push_back({Move(next.move), static_cast<float>(next.visits)});
        visits += policy.back().share;
    }
    if (node.proof == Proof::NONE && !node.has_recurred && visits > 0.0F) {
        for (LabelledPositions::Share& each : policy) each.share /= visits;
        labelled.add(board, policy, 1.0 - node.value_sum / node.visits);
    }
    for (const Child& child : children) {
        if (tree_[child.node].visits < least_visits) continue;
        Board next = board;
        next.do_move(Move(tree_[child.node].move));
        label_below(child.node, next, least_visits, labelled);
    }
}

}  // namespace fukayomi
