// Recurrences: positions that occurred before, at the root or after it. They have a value, but prove nothing.
#include <algorithm>

#include "search/tree.hpp"

namespace fukayomi {

void Tree::enter_recurrence(const Path& path, Verdict recurrence) {
    Node& last = nodes_[path.back().node];
    if (last.proof != Proof::NONE) return;
    last.recurrence = recurrence.proof;
    last.distance = recurrence.distance;
    last.state = NodeState::TERMINAL;
    last.is_settled = 1;
    for (const Step& step : path) nodes_[step.node].has_recurred = 1;
    settle_above(path);
}

// The last node of the path is settled: so are those above it whose moves all are. Without a recurrence among these they would
// be proven.
void Tree::settle_above(std::span<const Step> path) {
    for (std::size_t depth = path.size() - 1; depth > 0; --depth) {
        const Index i = path[depth - 1].node;
        Node& node = nodes_[i];
        if (node.is_settled || !node.has_recurred || node.child_count < node.edge_count) return;
        const Child* entries = children(i).begin();
        for (std::size_t slot = 0; slot < node.child_count; ++slot)
            if (!nodes_[entries[slot].node].is_settled) return;
        node.is_settled = 1;
    }
}

// Visits that a node loses: their number, and the sums of their values and of the squares of these, for the side that moved
// into the node and for the other.
struct Tree::Taken {
    std::uint32_t visits = 0;
    double sums[2] = {0.0, 0.0};
    double squares[2] = {0.0, 0.0};

    void add_of_child(const Taken& child) {
        visits += child.visits;
        for (const int side : {0, 1}) {
            sums[side] += child.sums[1 - side];
            squares[side] += child.squares[1 - side];
        }
    }
    void leave(Node& node) const {
        const double mean_before = node.value_sum / node.visits;
        const double squares_left = node.visits * (node.variance + mean_before * mean_before) - squares[0];
        node.visits -= visits;
        node.value_sum = std::clamp(node.value_sum - sums[0], 0.0, static_cast<double>(node.visits));
        const double mean = node.value_sum / node.visits;
        node.variance = node.visits > 1 ? static_cast<float>(std::max(0.0, squares_left / node.visits - mean * mean)) : 0.0F;
    }
};

// After a change of root: takes back the visits to recurrences of positions that now lie before it. No visit may be in flight.
void Tree::take_back_recurrences() { take_back(root_, 0); }

Tree::Taken Tree::take_back(Child& entry, std::size_t depth) {
    Node& node = nodes_[entry.node];
    Taken taken;
    if (!node.has_recurred) return taken;
    if (node.recurrence != Proof::NONE) {
        if (node.distance > depth) {
            taken = take_back_recurrence(node);
            entry.visits = 0;
        }
        return taken;
    }
    node.has_recurred = 0;
    const float q = 1.0F - entry.q;  // of moves without visits
    Child* entries = node.children != NOWHERE ? children(entry.node).begin() : nullptr;
    bool is_settled = node.child_count == node.edge_count;
    for (std::size_t slot = 0; slot < node.child_count; ++slot) {
        taken.add_of_child(take_back(entries[slot], depth + 1));
        const Node& child = nodes_[entries[slot].node];
        if (child.has_recurred) node.has_recurred = 1;
        if (child.state == NodeState::NEW) entries[slot].q = q;
        is_settled = is_settled && child.is_settled;
    }
    // A node stays settled where what was taken back lies below moves that are proven, and others still recur.
    if (node.proof == Proof::NONE) node.is_settled = is_settled;
    if (taken.visits == 0) return taken;
    taken.leave(node);
    entry.visits -= taken.visits;
    if (node.proof == Proof::NONE) entry.q = static_cast<float>(node.value_sum / node.visits);
    return taken;
}

// Makes a recurrence a new node again.
Tree::Taken Tree::take_back_recurrence(Node& node) const {
    const double n = node.visits, sum = node.value_sum;
    const double other = node.recurrence == Proof::DRAW ? n * (draw_.root_side + draw_.other_side) - sum : n - sum;
    Taken taken;
    if (node.visits > 0) taken = {node.visits, {sum, other}, {sum * sum / n, other * other / n}};
    const std::uint16_t move = node.move;
    node = Node();
    node.move = move;
    return taken;
}

}  // namespace fukayomi
