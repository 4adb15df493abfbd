#include "search/tree.hpp"

#include <algorithm>
#include <utility>

namespace fukayomi {

namespace {

constexpr std::size_t FIRST_CHILDREN = 3;  // with its heads such a block fills a cache line; then 7, 15, 31, ...
constexpr int SWEPT_PER_NODE = 2;          // dropped nodes taken apart for each new one
constexpr int SWEPT_AT_THE_CAP = 1024;
constexpr std::size_t PRUNED_SHARE = 8;     // of the memory, which a pruning frees at once
constexpr std::size_t LEAST_SHARE = 64;     // less than this is not worth going on for
constexpr std::uint32_t FEWEST_VISITS = 2;  // with one visit a node has nothing below it
constexpr int WORK_PER_CALL = 4096;         // nodes looked at or taken apart: less than a millisecond
constexpr std::uint16_t LONGEST_DISTANCE = 60000;

std::uint16_t one_more(std::uint16_t distance) { return distance < LONGEST_DISTANCE ? static_cast<std::uint16_t>(distance + 1) : distance; }

// The variance of n values, by that of the first n - 1 of them. `distance`: the last value's from the mean of all n. (Welford,
// "Note on a method for calculating corrected sums of squares and products", Technometrics 4, 1962; a sum of squares would
// lose its digits after some million visits.)
float next_variance(float variance, double n, double distance) {
    const double others = n - 1.0;
    return static_cast<float>(variance * (others / n) + distance * distance / others);
}

void swap_edges(EdgeSpan edges, std::size_t a, std::size_t b) {
    const Edge held = edges[a];
    edges.set(a, edges[b]);
    edges.set(b, held);
}

// Brings the greatest edge from `from` on to that place. No node's edges are ever sorted: each new child costs one such
// pass over the rest, and most nodes never have one.
void bring_best_forward(EdgeSpan edges, std::size_t from) {
    if (from >= edges.size()) return;
    Edge best = 0;
    for (std::size_t i = from; i < edges.size(); ++i) best = std::max(best, edges[i]);
    std::size_t at = from;
    while (edges[at] != best) ++at;
    swap_edges(edges, at, from);
}

}  // namespace

Tree::Tree(std::size_t max_bytes, float correction, float history)
    : pool_(max_bytes), nodes_(pool_), edge_blocks_(pool_, nodes_, &Node::edges), child_blocks_(pool_, nodes_, &Node::children),
      correction_(correction), history_(history) {
    pool_.account(correction_.bytes() + history_.bytes());
    clear();
}

void Tree::clear() {
    edge_blocks_.clear();
    child_blocks_.clear();
    nodes_.clear();
    correction_.clear();
    history_.clear();
    dropped_ = NOWHERE;
    pruning_ = {};
    prune_from_ = 0;
    has_pruned_ = has_new_priors_ = false;
    root_ = {0.0F, 0, 1.0F, nodes_.allocate()};
}

Index Tree::allocate_node() {
    for (int i = 0; i < SWEPT_PER_NODE && sweep(); ++i) {}
    Index node = nodes_.allocate();
    while (node == NOWHERE && sweep()) node = nodes_.allocate();
    return node;
}

Index Tree::allocate_block(BlockPool& pool, Index owner, std::size_t bytes) {
    for (;;) {
        const Index block = pool.allocate(owner, bytes);
        if (block != NOWHERE || !sweep()) return block;
        for (int i = 1; i < SWEPT_AT_THE_CAP && sweep(); ++i) {}
    }
}

void Tree::drop(Index node) {
    nodes_[node].visits = dropped_;
    dropped_ = node;
}

// Takes one dropped node apart: its children take its place in the list.
bool Tree::sweep() {
    if (dropped_ == NOWHERE) return false;
    const Index i = dropped_;
    const Node& node = nodes_[i];
    dropped_ = node.visits;
    if (node.children != NOWHERE) {
        const Child* child = children(i).begin();
        for (std::size_t slot = 0; slot < node.child_count; ++slot) drop(child[slot].node);
        child_blocks_.release(node.children);
    }
    if (node.edges != NOWHERE) edge_blocks_.release(node.edges);
    nodes_.release(i);
    return true;
}

std::size_t Tree::live_bytes() const {
    const std::size_t units = edge_blocks_.live_units() + child_blocks_.live_units();
    return pool_.table_bytes() + nodes_.size() * sizeof(Node) + units * BlockPool::UNIT_BYTES;
}

// Drops what is below a node, except moves with a proof, of which only the proof is kept, and recurrences. Nothing happens if a
// visit is in flight there.
void Tree::prune(Index i) {
    Node& node = nodes_[i];
    Children& block = children(i);
    Child* entries = block.begin();
    for (std::size_t slot = 0; slot < node.child_count; ++slot)
        if (entries[slot].visits != nodes_[entries[slot].node].visits) return;
    const bool keeps_proofs = node.proof == Proof::NONE;
    EdgeSpan all = edges(i);
    std::uint16_t kept = 0;
    float mass = 0.0F;
    for (std::size_t slot = 0; slot < node.child_count; ++slot) {
        const Node& child = nodes_[entries[slot].node];
        if (!keeps_proofs || (child.proof == Proof::NONE && child.recurrence == Proof::NONE)) {
            drop(entries[slot].node);
            continue;
        }
        swap_edges(all, slot, kept);
        entries[kept] = entries[slot];
        mass += entries[kept++].prior;
    }
    node.child_count = kept & 1023U;
    bring_best_forward(all, kept);
    has_pruned_ = true;
    if (kept == 0) {
        child_blocks_.release(node.children);
        node.children = NOWHERE;
        return;
    }
    block.visited_mass = mass;
    if (kept < all.size()) block.next = all[kept];
}

Tree::Room Tree::make_room() {
    const std::size_t share = max_bytes() / PRUNED_SHARE;
    if (pruning_.visits == 0) pruning_ = {FEWEST_VISITS, nodes_.cells(), live_bytes() - std::min(live_bytes(), share)};
    for (int work = 0; work < WORK_PER_CALL; ++work) {
        if (sweep()) continue;
        if (live_bytes() <= pruning_.goal_bytes) break;
        if (pruning_.cells_left == 0) {
            if (pruning_.visits >= nodes_[root_.node].visits) break;
            pruning_.visits *= 2;
            pruning_.cells_left = nodes_.cells();
        }
        --pruning_.cells_left;
        if (prune_from_ >= nodes_.cells()) prune_from_ = 0;
        const Index i = prune_from_++;
        const Node& node = nodes_[i];
        if (node.children != NOWHERE && node.visits <= pruning_.visits && i != root_.node) prune(i);
    }
    const bool is_done = dropped_ == NOWHERE && (live_bytes() <= pruning_.goal_bytes ||
                                                 (pruning_.cells_left == 0 && pruning_.visits >= nodes_[root_.node].visits));
    if (!is_done) return Room::NOT_YET;
    const bool is_enough = live_bytes() + max_bytes() / LEAST_SHARE <= pruning_.goal_bytes + share;
    pruning_ = {};
    return is_enough ? Room::FOUND : Room::NONE;
}

std::size_t Tree::child_capacity(Index parent) const {
    if (nodes_[parent].children == NOWHERE) return 0;
    return (child_blocks_.payload_bytes(nodes_[parent].children) - sizeof(Children)) / sizeof(Child);
}

bool Tree::grow_children(Index parent) {
    const std::size_t capacity = child_capacity(parent);
    if (nodes_[parent].child_count < capacity) return true;
    const std::size_t wanted = capacity == 0 ? FIRST_CHILDREN : 2 * capacity + 1;
    const std::size_t count = std::min<std::size_t>(wanted, nodes_[parent].edge_count);
    const Index block = allocate_block(child_blocks_, parent, sizeof(Children) + count * sizeof(Child));
    if (block == NOWHERE) return false;
    Children& grown = *child_blocks_.payload<Children>(block);
    Node& node = nodes_[parent];
    if (node.children == NOWHERE) {
        grown = {edges(parent)[0], 0.0F};
    } else {
        grown = children(parent);
        std::copy_n(children(parent).begin(), node.child_count, grown.begin());
        child_blocks_.release(node.children);
    }
    node.children = block;
    return true;
}

bool Tree::add_child(Index parent, float q, std::size_t edge) {
    const Index i = allocate_node();
    if (i == NOWHERE) return false;
    if (!grow_children(parent)) {
        nodes_.release(i);
        return false;
    }
    Node& node = nodes_[parent];
    Children& block = children(parent);
    const EdgeSpan all = edges(parent);
    if (edge != node.child_count) {
        swap_edges(all, edge, node.child_count);
        block.next = all[node.child_count];
    }
    const float prior = edge_prior(block.next);
    nodes_[i].move = edge_move(block.next).raw();
    block.begin()[node.child_count] = {q, 0, prior, i};
    block.visited_mass += prior;
    ++node.child_count;
    bring_best_forward(all, node.child_count);
    if (node.child_count < all.size()) block.next = all[node.child_count];
    return true;
}

bool Tree::reserve_edges(Index i, std::size_t count) {
    const Index block = allocate_block(edge_blocks_, i, edge_block_bytes(count));
    if (block == NOWHERE) return false;
    nodes_[i].edges = block;
    nodes_[i].edge_count = count & 1023U;
    return true;
}

void Tree::reset_leaf(Index i) {
    Node& node = nodes_[i];
    node.state = node.proof == Proof::NONE ? NodeState::NEW : NodeState::TERMINAL;
    if (node.edges == NOWHERE) return;
    edge_blocks_.release(node.edges);
    node.edges = NOWHERE;
    node.edge_count = 0;
}

double Tree::expand(Index i, std::span<const Edge> evaluated, bool is_complete, std::uint16_t kind, double value) {
    const double corrected = correction_.corrected(kind, value);
    if (correction_.is_on()) judgement(i) = {packed_value(value), packed_value(corrected), kind};
    EdgeSpan all = edges(i);
    Edge best = 0;
    for (const Edge e : evaluated) best = std::max(best, e);
    for (std::size_t k = 0; k < evaluated.size(); ++k) all.set(k, evaluated[k]);
    const auto at = std::find(evaluated.begin(), evaluated.end(), best) - evaluated.begin();
    swap_edges(all, static_cast<std::size_t>(at), 0);
    nodes_[i].state = NodeState::EXPANDED;
    nodes_[i].is_complete = is_complete;
    return corrected;
}

void Tree::set_priors(Index i, std::span<const Edge> evaluated) {
    std::vector<Edge> by_move(evaluated.begin(), evaluated.end());
    std::ranges::sort(by_move, {}, edge_move_bits);
    const Node& node = nodes_[i];
    EdgeSpan all = edges(i);
    for (std::size_t k = 0; k < all.size(); ++k) all.set(k, *std::ranges::lower_bound(by_move, edge_move_bits(all[k]), {}, edge_move_bits));
    bring_best_forward(all, node.child_count);
    has_new_priors_ = true;
    if (node.children == NOWHERE) return;
    Children& block = children(i);
    block.visited_mass = 0.0F;
    for (std::size_t slot = 0; slot < node.child_count; ++slot) {
        block.begin()[slot].prior = edge_prior(all[slot]);
        block.visited_mass += block.begin()[slot].prior;
    }
    if (node.child_count < all.size()) block.next = all[node.child_count];
}

void Tree::undo_visit(const Path& path) {
    for (std::size_t depth = 0; depth < path.size(); ++depth) --entry(path, depth).visits;
}

// The value of a proven node for the side that moved into it.
float Tree::proven_q(const Node& node, bool root_side_moved) const {
    if (node.proof == Proof::WIN) return LOST;
    if (node.proof == Proof::LOSS) return 1.0F;
    return static_cast<float>(root_side_moved ? draw_.root_side : draw_.other_side);
}

// Enters how wrong the network was about a node. The first visit was its own value.
void Tree::learn(const Node& node, Index i) {
    const Judgement said = judgement(i);
    const double below = (node.value_sum - unpacked_value(said.corrected)) / (node.visits - 1.0);
    correction_.enter(said.kind, node.visits, below - unpacked_value(said.value));
}

void Tree::back_up(const Path& path, Values values) {
    for (std::size_t depth = 0; depth < path.size(); ++depth) {
        const bool root_side_moved = (depth & 1) != 0;
        Node& node = nodes_[path[depth].node];
        const double value = root_side_moved ? values.root_side : values.other_side;
        if (depth > 0 && history_.is_on()) {
            const Node& before = nodes_[path[depth - 1].node];  // with this visit
            const double gain = value - (1.0 - before.value_sum / before.visits);
            history_.enter(root_side_moved ? root_side_ : ~root_side_, Move(node.move), static_cast<float>(gain));
        }
        node.value_sum += value;
        ++node.visits;
        const double mean = node.value_sum / node.visits;
        if (correction_.is_on() && ValueCorrection::has_news(node.visits) && node.state == NodeState::EXPANDED)
            learn(node, path[depth].node);
        if (node.visits > 1) node.variance = next_variance(node.variance, node.visits, value - mean);
        entry(path, depth).q = node.proof == Proof::NONE ? static_cast<float>(mean) : proven_q(node, root_side_moved);
    }
}

void Tree::back_up_known(const Path& path) {
    const Node& last = nodes_[path.back().node];
    const Proof proof = last.proof != Proof::NONE ? last.proof : last.recurrence;
    if (proof == Proof::DRAW) return back_up(path, draw_);
    const bool root_side_to_move = (path.size() & 1) != 0;
    const bool root_side_wins = root_side_to_move == (proof == Proof::WIN);
    back_up(path, root_side_wins ? Values{1.0, 0.0} : Values{0.0, 1.0});
}

// A proof depends on the path from the game's first position: a fourth occurrence is one because of the moves before it. Every
// node has one parent and so one path; and the tree outlives a change of root only where the game went on by moves in it,
// which keeps the path of each kept node. (A position reached by other moves starts a new tree.)
void Tree::prove(const Path& path, Verdict verdict) {
    Node& last = nodes_[path.back().node];
    if (last.proof != Proof::NONE && (last.proof != verdict.proof || last.distance <= verdict.distance)) return;
    last.proof = verdict.proof;
    last.distance = verdict.distance;
    last.recurrence = Proof::NONE;
    if (last.state == NodeState::NEW) last.state = NodeState::TERMINAL;  // one in a batch or with edges stays that
    for (std::size_t depth = path.size() - 1;; --depth) {
        Node& node = nodes_[path[depth].node];
        node.is_settled = 1;
        entry(path, depth).q = proven_q(node, (depth & 1) != 0);
        if (depth == 0) return;
        if (!update_proof(path[depth - 1].node, node)) return settle_above({path.data(), depth + 1});
    }
}

// Draws the conclusion of a child's new proof for its parent. Returns whether the parent's proof changed.
bool Tree::update_proof(Index i, const Node& child) {
    Node& node = nodes_[i];
    if (child.proof == Proof::LOSS) {
        const std::uint16_t distance = one_more(child.distance);
        if (node.proof == Proof::WIN && node.distance <= distance) return false;
        node.proof = Proof::WIN;
        node.distance = distance;
        return true;
    }
    if (node.proof == Proof::WIN || node.child_count < node.edge_count) return false;
    Proof proof = Proof::LOSS;
    std::uint16_t distance = node.is_complete ? std::uint16_t{0} : NO_MATE_DISTANCE;
    const Child* entries = children(i).begin();
    for (std::size_t slot = 0; slot < node.child_count; ++slot) {
        const Node& other = nodes_[entries[slot].node];
        if (other.proof == Proof::NONE) return false;
        if (other.proof == Proof::DRAW) proof = Proof::DRAW;
        distance = std::max(distance, one_more(other.distance));
    }
    if (proof == Proof::DRAW) distance = 0;
    if (node.proof == proof && node.distance == distance) return false;
    node.proof = proof;
    node.distance = distance;
    return true;
}

Path Tree::find(std::span<const Move> moves) const {
    Path path{{root_.node, 0}};
    for (const Move m : moves) {
        const Node& node = nodes_[path.back().node];
        if (node.children == NOWHERE) return path;
        const Child* entries = children(path.back().node).begin();
        std::uint32_t slot = 0;
        while (slot < node.child_count && nodes_[entries[slot].node].move != m.raw()) ++slot;
        if (slot == node.child_count) return path;
        path.push_back({entries[slot].node, slot});
    }
    return path;
}

bool Tree::extend(Path& path, Move move) {
    const Index parent = path.back().node;
    if (nodes_[parent].state != NodeState::EXPANDED) return false;
    const EdgeSpan all = edges(parent);
    std::size_t edge = nodes_[parent].child_count;
    while (edge < all.size() && !(edge_move(all[edge]) == move)) ++edge;
    if (edge == all.size() || !add_child(parent, 0.0F, edge)) return false;
    const std::size_t slot = nodes_[parent].child_count - 1U;
    path.push_back({children(parent).begin()[slot].node, static_cast<std::uint32_t>(slot)});
    return true;
}

bool Tree::advance(std::span<const Move> moves) {
    const Path path = find(moves);
    if (path.size() <= moves.size() || nodes_[path.back().node].state != NodeState::EXPANDED) return false;
    const Child new_root = entry(path, path.size() - 1);
    for (std::size_t depth = 0; depth + 1 < path.size(); ++depth) {
        // The kept child is taken out of the block, so that the sweep does not see it.
        Node& node = nodes_[path[depth].node];
        Child* entries = children(path[depth].node).begin();
        entries[path[depth + 1].slot] = entries[node.child_count - 1];
        --node.child_count;
        if (depth == 0) drop(path[depth].node);
    }
    // Only the old root is in the list so far; the nodes between it and the new root were taken out of their parents.
    for (std::size_t depth = 1; depth + 1 < path.size(); ++depth) drop(path[depth].node);
    root_ = {new_root.q, new_root.visits, 1.0F, new_root.node};
    pruning_ = {};
    if (!moves.empty()) take_back_recurrences();
    return true;
}

bool Tree::complete_root(const MoveList& legal) {
    const Index i = root_.node;
    if (nodes_[i].edge_count == legal.size()) return true;
    std::vector<Edge> all;
    for (std::size_t k = 0; k < nodes_[i].edge_count; ++k) all.push_back(edges(i)[k]);
    for (const Move m : legal)
        if (std::none_of(all.begin(), all.end(), [m](Edge e) { return edge_move(e) == m; })) all.push_back(make_edge(0.0F, m));
    const Index block = allocate_block(edge_blocks_, i, edge_block_bytes(all.size()));
    if (block == NOWHERE) return false;
    Node& node = nodes_[i];
    if (correction_.is_on()) *edge_blocks_.payload<Judgement>(block) = judgement(i);
    edge_blocks_.release(node.edges);
    node.edges = block;
    node.edge_count = all.size() & 1023U;
    EdgeSpan grown = edges(i);
    for (std::size_t k = 0; k < all.size(); ++k) grown.set(k, all[k]);
    bring_best_forward(grown, node.child_count);
    if (node.children != NOWHERE) children(i).next = grown[node.child_count];
    node.is_complete = true;
    if (node.proof != Proof::WIN) node.proof = Proof::NONE;
    node.is_settled = node.proof == Proof::WIN;
    return true;
}

}  // namespace fukayomi
