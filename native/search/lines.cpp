// The results of the search: its counts, and the best lines.
#include <algorithm>
#include <functional>

#include "mate/mate_three.hpp"
#include "search/ranking.hpp"
#include "search/search.hpp"

namespace fukayomi {

namespace {

std::optional<int> mate_plies(const Node& child) {
    if (child.distance >= NO_MATE_DISTANCE) return std::nullopt;
    if (child.proof == Proof::LOSS) return child.distance + 1;
    if (child.proof == Proof::WIN) return -(child.distance + 1);
    return std::nullopt;
}

float winrate_of(const Child& entry, const Node& child) {
    if (child.proof == Proof::LOSS) return 1.0F;
    if (child.proof == Proof::WIN) return 0.0F;
    return entry.q;
}

}  // namespace

std::uint64_t Search::nodes() const {
    const Asking asking(mutex_);
    return nodes_;
}

std::uint64_t Search::evaluations() const {
    const Asking asking(mutex_);
    return evaluations_;
}

std::uint64_t Search::playouts() const {
    const Asking asking(mutex_);
    return playouts_;
}

std::uint32_t Search::root_visits() const {
    const Asking asking(mutex_);
    return tree_[tree_.root()].visits;
}

bool Search::is_full() const {
    const Asking asking(mutex_);
    return is_full_;
}

bool Search::is_decided() const {
    const Asking asking(mutex_);
    return tree_[tree_.root()].is_settled;
}

std::size_t Search::root_move_count() const {
    const Asking asking(mutex_);
    return root_->moves.size();
}

std::size_t Search::bytes_used() const {
    const Asking asking(mutex_);
    return tree_.bytes();
}

std::size_t Search::bytes_live() const {
    const Asking asking(mutex_);
    return tree_.live_bytes();
}

std::size_t Search::node_count() const {
    const Asking asking(mutex_);
    return tree_.node_count();
}

int Search::seldepth() const {
    const Asking asking(mutex_);
    return static_cast<int>(deepest_);
}

std::string Search::tree_text() const {
    const Asking asking(mutex_);
    return tree_.text();
}

void Search::check_invariants() {
    const Asking asking(mutex_);
    tree_.check();
}

// The children of a node of which anything is known, best first.
std::vector<std::size_t> Search::ranked_slots(Index i) const {
    const Node& node = tree_[i];
    std::vector<std::size_t> slots;
    if (node.children == NOWHERE) return slots;
    const Child* entries = tree_.children(i).begin();
    for (std::size_t slot = 0; slot < node.child_count; ++slot)
        if (is_known(tree_[entries[slot].node])) slots.push_back(slot);
    if (i == tree_.root())
        root_policy_->rank(tree_, {entries, node.child_count}, slots);
    else
        std::stable_sort(slots.begin(), slots.end(),
                         [&](std::size_t a, std::size_t b) { return ranks_above(tree_[entries[a].node], tree_[entries[b].node]); });
    return slots;
}

std::vector<RootMove> Search::root_moves() const {
    const Asking asking(mutex_);
    std::vector<RootMove> moves;
    for (const std::size_t slot : ranked_slots(tree_.root())) {
        const Child& entry = tree_.children(tree_.root()).begin()[slot];
        const Node& child = tree_[entry.node];
        const Proof proof = child.proof == Proof::LOSS ? Proof::WIN : child.proof == Proof::WIN ? Proof::LOSS : child.proof;
        moves.push_back({Move(child.move), root_policy_->visits_of(child), winrate_of(entry, child), proof, mate_plies(child).has_value()});
    }
    return moves;
}

Search::Standing Search::standing(std::uint32_t from) const {
    const Asking asking(mutex_);
    const Node& root = tree_[tree_.root()];
    Standing found{root.visits, root.is_settled != 0};
    if (root.children == NOWHERE || root.visits < from) return found;
    const Child* entries = tree_.children(tree_.root()).begin();
    for (std::size_t slot = 0; slot < root.child_count; ++slot) {
        const Node& child = tree_[entries[slot].node];
        if (child.proof == Proof::WIN) continue;
        const std::uint32_t visits = root_policy_->visits_of(child);
        if (visits > found.best) {
            found.second = found.best;
            found.best = visits;
        } else {
            found.second = std::max(found.second, visits);
        }
    }
    return found;
}

// The child that the side to move would choose, or child_count if nothing is known of any.
std::size_t Search::best_slot(Index i) const {
    const Node& node = tree_[i];
    std::size_t best = node.child_count;
    if (node.children == NOWHERE) return best;
    if (i == tree_.root()) {
        const std::vector<std::size_t> slots = ranked_slots(i);
        return slots.empty() ? best : slots.front();
    }
    const Child* entries = tree_.children(i).begin();
    for (std::size_t slot = 0; slot < node.child_count; ++slot) {
        const Node& child = tree_[entries[slot].node];
        if (!is_known(child)) continue;
        if (best == node.child_count || ranks_above(child, tree_[entries[best].node])) best = slot;
    }
    return best;
}

// From a node through this child on along the best moves. Only the node if there is no such child.
Path Search::best_path(Index node, std::size_t child) const {
    Path path{{node, 0}};
    for (std::size_t slot = child; slot < tree_[path.back().node].child_count; slot = best_slot(path.back().node))
        path.push_back({tree_.children(path.back().node).begin()[slot].node, static_cast<std::uint32_t>(slot)});
    return path;
}

SearchLine Search::tried_line(Index node, const Board& board, std::size_t slot) const {
    const Child& entry = tree_.children(node).begin()[slot];
    const Node& child = tree_[entry.node];
    SearchLine line;
    line.visits = child.visits;
    line.prior = entry.prior;
    line.winrate = winrate_of(entry, child);
    line.mate = mate_plies(child);
    Board pos = board;
    const Path path = best_path(node, slot);
    for (std::size_t depth = 1; depth < path.size(); ++depth) {
        const Node& reached = tree_[path[depth].node];
        line.pv.push_back(Move(reached.move));
        pos.do_move(line.pv.back());
        const std::vector<Move> mate = known_mate(pos, reached);
        line.pv.insert(line.pv.end(), mate.begin(), mate.end());
        if (!mate.empty()) break;
    }
    return line;
}

// The moves of a mate that does not lie in the tree: one that was entered, or that was found at a leaf.
std::vector<Move> Search::known_mate(const Board& pos, const Node& node) const {
    if (node.proof != Proof::WIN && node.proof != Proof::LOSS) return {};
    if (const auto entered = mates_.find(pos.key()); entered != mates_.end() && entered->second.size() == node.distance)
        return entered->second;
    const bool is_leaf = node.state == NodeState::TERMINAL && node.proof == Proof::WIN;
    if (!is_leaf || pos.can_declare_win(params_.declaration_rule)) return {};
    if (node.distance <= 3) return line_of_mate_in_three(pos);
    if (params_.leaf_mate_nodes == 0) return {};
    MateSolver solver(LEAF_SOLVER_MB);
    return find_long_mate(solver, pos, params_, static_cast<std::uint64_t>(params_.leaf_mate_nodes));
}

// The moves of an evaluated node, best first.
std::vector<SearchLine> Search::lines_below(Index i, const Board& board, std::size_t most) const {
    const Node& node = tree_[i];
    std::vector<SearchLine> result;
    std::vector<Edge> untried;
    const EdgeSpan edges = tree_.edges(i);
    for (std::size_t slot = node.child_count; slot < edges.size(); ++slot) untried.push_back(edges[slot]);
    const Child* entries = node.children != NOWHERE ? tree_.children(i).begin() : nullptr;
    for (std::size_t slot = 0; slot < node.child_count; ++slot)
        if (!is_known(tree_[entries[slot].node])) untried.push_back(edges[slot]);
    for (const std::size_t slot : ranked_slots(i))
        if (result.size() < most) result.push_back(tried_line(i, board, slot));
    std::sort(untried.begin(), untried.end(), std::greater<>());
    // An untried move counts as the node's mean. (Its entry's q may stand for a proof.)
    const float mean = static_cast<float>(1.0 - node.value_sum / node.visits);
    for (const Edge e : untried) {
        const Move m = edge_move(e);
        if (result.size() < most) result.push_back({{m}, 0, edge_prior(e), mean, std::nullopt});
    }
    return result;
}

std::vector<SearchLine> Search::lines(std::size_t multipv) const {
    const Asking asking(mutex_);
    if (tree_[tree_.root()].state == NodeState::EXPANDED) return lines_below(tree_.root(), root_->board, multipv);
    std::vector<SearchLine> result;
    for (const Move m : root_->moves)
        if (result.size() < multipv) result.push_back({{m}, 0, 0.0F, 0.5F, std::nullopt});
    return result;
}

std::vector<SearchLine> Search::lines_of(const Position& position) const {
    const Asking asking(mutex_);
    const std::optional<std::vector<Move>> moves = moves_from_root(position);
    if (!moves) return {};
    const Path path = tree_.find(*moves);
    if (path.size() <= moves->size()) return {};
    const Node& node = tree_[path.back().node];
    if (node.state != NodeState::EXPANDED || node.visits == 0) return {};
    return lines_below(path.back().node, position.board(), MAX_MOVES);
}

std::vector<TaughtMove> Search::teaching() const {
    const Asking asking(mutex_);
    const std::vector<std::size_t> slots = ranked_slots(tree_.root());
    return slots.empty() ? std::vector<TaughtMove>() : taught_moves(tree_, *root_policy_, slots, params_.softmax_temperature, mate_edge_);
}

}  // namespace fukayomi
