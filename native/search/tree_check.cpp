// The invariants of the whole tree, for tests.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "search/tree.hpp"

namespace fukayomi {

namespace {

void require(bool holds, const char* what, Index node) {
    if (!holds) throw std::logic_error(std::string(what) + " (node " + std::to_string(node) + ")");
}

}  // namespace

void Tree::check() {
    while (sweep()) {}
    std::size_t seen = 0, edge_units = 0, child_units = 0;
    require(root_.visits == nodes_[root_.node].visits, "the root's visits are not those in flight and finished", root_.node);
    std::vector<Index> open{root_.node};
    while (!open.empty()) {
        const Index i = open.back();
        open.pop_back();
        ++seen;
        const Node& node = nodes_[i];
        require(node.state != NodeState::PENDING, "a leaf is still in a batch", i);
        require(node.value_sum >= -1e-9 && node.value_sum <= node.visits + 1e-9, "a mean value is out of range", i);
        // Visits end at a proven node. The root may have been one before it got back moves that the search had omitted.
        const bool ends_visits = node.proof != Proof::NONE || i == root_.node;
        if (node.state != NodeState::EXPANDED) {
            require(node.child_count == 0 && node.children == NOWHERE, "a leaf has children", i);
            require(node.state == NodeState::TERMINAL ? node.proof != Proof::NONE || node.recurrence != Proof::NONE : node.visits == 0,
                    "a leaf has visits without a value", i);
        }
        require(node.proof == Proof::NONE || node.is_settled, "a proven node is not settled", i);
        require(node.recurrence == Proof::NONE || (node.proof == Proof::NONE && node.is_settled && node.has_recurred),
                "a recurrence is not settled", i);
        if (node.edges != NOWHERE) edge_units += BlockPool::units_for(edge_block_bytes(node.edge_count));
        if (node.state != NodeState::EXPANDED) continue;
        require(node.child_count <= node.edge_count && node.edge_count > 0, "more children than edges", i);
        if (node.children == NOWHERE) {
            require(node.child_count == 0 && (node.visits == 1 || ends_visits || has_pruned_), "visits went nowhere", i);
            continue;
        }
        child_units += BlockPool::units_for(child_blocks_.payload_bytes(node.children));
        const EdgeSpan all = edges(i);
        for (std::size_t slot = node.child_count + 1U; slot < all.size(); ++slot)
            require(all[slot] >> 14 <= all[node.child_count] >> 14, "the best edge does not come first", i);
        if (node.child_count < all.size()) require(all[node.child_count] == children(i).next, "the next edge is another", i);
        bool has_recurred = false, is_settled = node.child_count == node.edge_count;
        std::uint64_t visits = 1;
        float mass = 0.0F;
        Edge lowest = ~Edge{0};
        const Child* entries = children(i).begin();
        for (std::size_t slot = 0; slot < node.child_count; ++slot) {
            const Child& entry = entries[slot];
            const Node& child = nodes_[entry.node];
            require(entry.visits == child.visits, "a visit is still in flight", entry.node);
            require(edge_move(all[slot]).raw() == child.move, "an edge and its child disagree", entry.node);
            // The root's policy may try any move first, a proof from outside may add the child of any move, pruning keeps moves with a
            // recurrence before better ones that it drops, and a reviewer may think otherwise.
            if (i != root_.node && child.proof == Proof::NONE && !has_pruned_ && !has_new_priors_) {
                require(all[slot] >> 14 <= lowest, "the tried edges are not in order", i);
                lowest = all[slot] >> 14;
            }
            require((entry.q == LOST) == (child.proof == Proof::WIN && child.visits > 0) || child.visits == 0,
                    "a lost move is not marked so", entry.node);
            if (child.proof == Proof::LOSS) require(node.proof == Proof::WIN, "a win was not seen", i);
            has_recurred = has_recurred || child.has_recurred;
            is_settled = is_settled && child.is_settled;
            visits += child.visits;
            mass += entry.prior;
            open.push_back(entry.node);
        }
        require(node.has_recurred || !has_recurred, "a recurrence below was not noted", i);
        require(node.proof != Proof::NONE || has_pruned_ || is_settled == (node.is_settled != 0), "not settled as its moves are", i);
        require(visits == node.visits || ((ends_visits || has_pruned_) && visits < node.visits),
                "the visits are not one more than the children's", i);
        require(std::abs(mass - children(i).visited_mass) < 1e-3F, "the visited mass is wrong", i);
    }
    require(seen == nodes_.size(), "nodes were lost", root_.node);
    require(edge_units == edge_blocks_.live_units(), "edges were lost", root_.node);
    require(child_units == child_blocks_.live_units(), "children were lost", root_.node);
    require(bytes() <= max_bytes(), "the cap was passed", root_.node);
}

}  // namespace fukayomi
