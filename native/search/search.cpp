#include "search/search.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "encode/labels.hpp"
#include "mate/mate_one.hpp"
#include "search/policy.hpp"
#include "shogi/movegen.hpp"
#include "shogi/usi_move.hpp"

namespace fukayomi {

namespace {

// Ends of the game are visited again where they are the best there is, mostly a drawn repetition: it costs no evaluation and
// teaches nothing. After so many such visits for every leaf that it may take, a batch turns to what is not yet proven.
constexpr std::size_t TERMINAL_VISITS_PER_LEAF = 3;

// Marks a batch as in use; two threads with one batch are a mistake of the caller.
class BatchUse {
public:
    explicit BatchUse(std::atomic<bool>& flag) : flag_(flag) {
        if (flag_.exchange(true)) throw std::logic_error("another thread is using this batch");
    }
    ~BatchUse() { flag_.store(false); }
    BatchUse(const BatchUse&) = delete;
    BatchUse& operator=(const BatchUse&) = delete;

private:
    std::atomic<bool>& flag_;
};

std::size_t checked_bytes(std::size_t memory_mb) {
    if (memory_mb < 1 || memory_mb > Search::MAX_MEMORY_MB)
        throw std::invalid_argument("memory_mb is " + std::to_string(memory_mb) + "; it must be between 1 and " +
                                    std::to_string(Search::MAX_MEMORY_MB));
    return memory_mb << 20;
}

const SearchParams& checked(const SearchParams& params) {
    params.validate();
    return params;
}

Values draw_values(const SearchParams& params, Color root_side) {
    const double black = params.draw_value_black, white = params.draw_value_white;
    return root_side == BLACK ? Values{black, white} : Values{white, black};
}

}  // namespace

Batch::Batch(Search& search, std::size_t capacity) : search_(search) {
    if (capacity == 0) throw std::invalid_argument("a batch needs room for one leaf at least");
    for (std::size_t i = 0; i < capacity; ++i) leaves_.push_back(std::make_unique<Leaf>());
}

Batch::~Batch() {
    const std::lock_guard lock(search_.mutex_);
    search_.release(*this);
}

Search::Search(const SearchParams& params, std::size_t memory_mb)
    : params_(checked(params)), root_puct_(Puct::at_root(params)), puct_(Puct::below_root(params)),
      tree_(checked_bytes(memory_mb)) {
    start_anew(Game(), {});
}

bool Search::set_position(const Game& game, std::span<const Move> search_moves) {
    for (const Move m : search_moves)
        if (!game.position().is_legal(m)) throw std::invalid_argument("illegal search move " + usi(m));
    const std::lock_guard lock(mutex_);
    while (!active_.empty()) release(*active_.back());
    nodes_ = 0;
    deepest_ = 0;
    is_full_ = false;
    const bool kept = search_moves.empty() && !is_restricted_ && try_advance(game);
    if (!kept) start_anew(game, search_moves);
    return kept;
}

// Goes on in the tree if the game is the last one, or its continuation. The game before the root must be the same, not only
// the position: repetitions were judged by it (see Tree::prove).
bool Search::try_advance(const Game& game) {
    const std::vector<Undo>& undos = game.moves();
    if (undos.size() < game_moves_.size() || game.start().sfen() != start_.sfen()) return false;
    for (std::size_t i = 0; i < game_moves_.size(); ++i)
        if (!(undos[i].move == game_moves_[i])) return false;
    std::vector<Move> played;
    for (std::size_t i = game_moves_.size(); i < undos.size(); ++i) played.push_back(undos[i].move);
    if (!tree_.advance(played)) return false;
    auto root = std::make_shared<Root>(Root{game.position(), game.history(), {}});
    generate_legal(root->position, root->moves);
    if (!tree_.complete_root(root->moves)) return false;
    root_ = std::move(root);
    game_moves_.insert(game_moves_.end(), played.begin(), played.end());
    tree_.set_draw(draw_values(params_, game.position().turn()));
    return true;
}

void Search::start_anew(const Game& game, std::span<const Move> search_moves) {
    auto root = std::make_shared<Root>(Root{game.position(), game.history(), {}});
    if (search_moves.empty())
        generate_legal(root->position, root->moves);
    else
        for (const Move m : search_moves)
            if (!root->moves.contains(m)) root->moves.push(m);
    root_ = std::move(root);
    start_ = game.start();
    game_moves_.clear();
    for (const Undo& undo : game.moves()) game_moves_.push_back(undo.move);
    is_restricted_ = !search_moves.empty();
    tree_.clear();
    tree_.set_draw(draw_values(params_, game.position().turn()));
    if (root_->moves.empty()) tree_.prove({{tree_.root(), 0}}, Proof::LOSS, 0);
}

int Search::gather(Batch& batch, const SlotInput& slot, std::size_t limit) {
    const BatchUse use(batch.is_busy_);
    if (batch.count_ != 0) throw std::logic_error("the batch waits to be applied or cancelled");
    limit = std::min(limit, batch.capacity());
    std::shared_ptr<const Root> root;
    if (!begin(batch, root)) return 0;
    batch.reader_.set_root(*root);
    for (bool goes_on = true; goes_on;) {
        std::size_t picked = 0;
        {
            const std::lock_guard lock(mutex_);
            if (!batch.is_registered_) break;  // set_position came in between and has undone everything
            picked = pick(batch, limit - batch.count_, limit);
        }
        read(batch, *root, slot, picked);
        const std::lock_guard lock(mutex_);
        if (!batch.is_registered_) break;
        settle(batch, picked);
        if (batch.count_ == 0) release_collisions(batch);  // nothing is held that a walk could collide with
        goes_on = picked > 0 && batch.count_ < limit && batch.collision_count_ <= limit && !is_over();
    }
    const std::lock_guard lock(mutex_);
    release_collisions(batch);
    if (is_stopped() || batch.count_ == 0) release(batch);
    if (!batch.is_registered_) batch.count_ = 0;
    return static_cast<int>(batch.count_);
}

bool Search::is_over() const { return is_stopped() || is_full_ || tree_[tree_.root()].proof != Proof::NONE; }

bool Search::begin(Batch& batch, std::shared_ptr<const Root>& root) {
    const std::lock_guard lock(mutex_);
    if (is_over()) return false;
    root = root_;
    batch.is_registered_ = true;
    active_.push_back(&batch);
    return true;
}

// Walks down until `wanted` leaves are held. A walk that ends at a leaf which some batch already holds is a collision: its
// visits stay in flight until the batch is full, so that the walks after it look elsewhere; too many end the batch.
std::size_t Search::pick(Batch& batch, std::size_t wanted, std::size_t limit) {
    const std::size_t terminal_budget = TERMINAL_VISITS_PER_LEAF * limit;
    std::size_t picked = 0, terminals = 0;
    while (picked < wanted && batch.collision_count_ <= limit && !is_over()) {
        Batch::Leaf& leaf = *batch.leaves_[batch.in_flight_];
        switch (descend(leaf, terminals >= terminal_budget)) {
            case Descent::LEAF:
                tree_[leaf.path.back().node].state = NodeState::PENDING;
                ++batch.in_flight_;
                ++picked;
                break;
            case Descent::TERMINAL:
                tree_.finish_terminal_visit(leaf.path);
                ++terminals;
                break;
            case Descent::COLLISION:
                if (batch.collisions_.size() == batch.collision_count_) batch.collisions_.emplace_back();
                std::swap(batch.collisions_[batch.collision_count_++], leaf.path);
                break;
            case Descent::FULL:
                tree_.undo_visit(leaf.path);
                is_full_ = true;
                break;
        }
    }
    return picked;
}

Search::Descent Search::descend(Batch::Leaf& leaf, bool avoid_proven) {
    leaf.moves.clear();
    leaf.path.assign(1, Step{tree_.root(), 0});
    for (std::size_t depth = 0;; ++depth) {
        tree_.begin_visit(leaf.path, depth);
        const Index i = leaf.path.back().node;
        switch (tree_[i].state) {
            case NodeState::NEW: return Descent::LEAF;
            case NodeState::PENDING: return Descent::COLLISION;
            case NodeState::TERMINAL: return Descent::TERMINAL;
            case NodeState::EXPANDED: break;
        }
        float fpu = 0.0F;
        const std::size_t slot = choose_child(i, tree_.entry(leaf.path, depth), depth == 0, avoid_proven, fpu);
        if (slot == tree_[i].child_count && !tree_.add_child(i, fpu)) return Descent::FULL;
        const Index next = tree_.children(i).begin()[slot].node;
        leaf.path.push_back({next, static_cast<std::uint32_t>(slot)});
        leaf.moves.push_back(Move(tree_[next].move));
    }
}

std::size_t Search::choose_child(Index i, const Child& entry, bool is_root, bool avoid_proven, float& fpu) const {
    const Node& node = tree_[i];
    const float q = 1.0F - entry.q;
    if (node.children == NOWHERE) {
        fpu = std::max(0.0F, q);
        return 0;
    }
    const Children& children = tree_.children(i);
    const bool has_untried = node.child_count < node.edge_count;
    // All visits went to the children, except the first, which evaluated the node, and the one under way.
    const float visits = static_cast<float>(entry.visits - 2);
    const Puct& puct = is_root ? root_puct_ : puct_;
    const auto skips_none = [](const Child&) { return false; };
    const auto skips_proven = [this](const Child& child) { return tree_[child.node].proof != Proof::NONE; };
    // While the root is not proven, no node on a way that avoids what is has only proven children.
    const Choice choice = avoid_proven ? choose(children, node.child_count, has_untried, visits, q, puct, skips_proven)
                                       : choose(children, node.child_count, has_untried, visits, q, puct, skips_none);
    fpu = choice.fpu;
    return choice.slot;
}

// Without the lock: what the new leaves are, and the planes and labels of those that the network has to see.
void Search::read(Batch& batch, const Root& root, const SlotInput& slot, std::size_t picked) const {
    std::size_t row = batch.count_;
    for (std::size_t k = batch.count_; k < batch.count_ + picked; ++k) {
        Batch::Leaf& leaf = *batch.leaves_[k];
        const Position& pos = batch.reader_.go_to(root, leaf.moves);
        leaf.mate = Move();
        if (leaf.moves.empty()) {
            leaf.verdict = {};
            if (params_.mate_in_one) leaf.mate = find_mate_in_one(pos);
            leaf.edges = root.moves;
            leaf.is_complete = true;
        } else {
            leaf.verdict = batch.reader_.judge(params_);
            if (leaf.verdict.proof != Proof::NONE) continue;
            leaf.is_complete = generate_edges(pos, leaf.edges);
            if (leaf.edges.empty()) {
                leaf.verdict = {Proof::LOSS, 0};
                continue;
            }
        }
        encode_packed(pos, std::span<std::uint8_t, PACKED1_BYTES>(slot.planes1 + row * PACKED1_BYTES, PACKED1_BYTES),
                      std::span<std::uint8_t, PACKED2_BYTES>(slot.planes2 + row * PACKED2_BYTES, PACKED2_BYTES));
        std::uint16_t* labels = slot.labels + row * MAX_MOVES;
        for (std::size_t i = 0; i < leaf.edges.size(); ++i) labels[i] = policy_label(pos.turn(), leaf.edges[i]);
        slot.counts[row++] = static_cast<std::uint16_t>(leaf.edges.size());
    }
}

// Backs up the leaves that ended the game and keeps the others, in order: their rows in the slot are already written.
void Search::settle(Batch& batch, std::size_t picked) {
    for (std::size_t k = batch.count_, end = batch.count_ + picked; k < end; ++k) {
        Batch::Leaf& leaf = *batch.leaves_[k];
        const Index i = leaf.path.back().node;
        if (leaf.verdict.proof != Proof::NONE) {
            deepest_ = std::max(deepest_, leaf.path.size() - 1);
            tree_.prove(leaf.path, leaf.verdict.proof, leaf.verdict.distance);
            tree_.finish_terminal_visit(leaf.path);
        } else if (is_full_ || !tree_.reserve_edges(i, leaf.edges.size())) {
            is_full_ = true;
            tree_.release_leaf(i);
            tree_.undo_visit(leaf.path);
        } else {
            std::swap(batch.leaves_[batch.count_++], batch.leaves_[k]);
        }
    }
    batch.in_flight_ = batch.count_;
}

void Search::apply(Batch& batch, const float* logits, const float* values) {
    const BatchUse use(batch.is_busy_);
    const char* mistake = nullptr;
    for (std::size_t row = 0; row < batch.count_ && mistake == nullptr; ++row) {
        Batch::Leaf& leaf = *batch.leaves_[row];
        if (!make_edges(leaf.edges, logits + row * MAX_MOVES, params_.softmax_temperature, leaf.packed))
            mistake = "a logit is not finite";
        else if (!(values[row] >= 0.0F && values[row] <= 1.0F))
            mistake = "a value is not between 0 and 1";
        if (leaf.mate)
            for (std::size_t i = 0; i < leaf.edges.size(); ++i)
                if (leaf.edges[i] == leaf.mate) leaf.packed[i] = make_edge(1.0F, leaf.mate);
    }
    const std::lock_guard lock(mutex_);
    if (mistake != nullptr) {
        release(batch);
        batch.count_ = 0;
        throw std::invalid_argument(std::string("the evaluator's output is unusable: ") + mistake);
    }
    const std::size_t count = batch.is_registered_ ? batch.count_ : 0;
    for (std::size_t row = 0; row < count; ++row) {
        const Batch::Leaf& leaf = *batch.leaves_[row];
        tree_.expand(leaf.path.back().node, {leaf.packed.data(), leaf.edges.size()}, leaf.is_complete);
        const bool root_side_to_move = (leaf.path.size() & 1) != 0;
        const double value = values[row];
        tree_.finish_visit(leaf.path, root_side_to_move ? Values{value, 1.0 - value} : Values{1.0 - value, value});
        deepest_ = std::max(deepest_, leaf.path.size() - 1);
    }
    nodes_ += count;
    batch.in_flight_ = 0;
    release(batch);
    batch.count_ = 0;
}

void Search::cancel(Batch& batch) {
    const BatchUse use(batch.is_busy_);
    const std::lock_guard lock(mutex_);
    release(batch);
    batch.count_ = 0;
}

// Takes back whatever of the batch is in flight.
void Search::release(Batch& batch) {
    if (!batch.is_registered_) return;
    for (std::size_t k = 0; k < batch.in_flight_; ++k) {
        const Path& path = batch.leaves_[k]->path;
        tree_.undo_visit(path);
        tree_.release_leaf(path.back().node);
    }
    batch.in_flight_ = 0;
    release_collisions(batch);
    batch.is_registered_ = false;
    std::erase(active_, &batch);
}

void Search::release_collisions(Batch& batch) {
    for (std::size_t k = 0; k < batch.collision_count_; ++k) tree_.undo_visit(batch.collisions_[k]);
    batch.collision_count_ = 0;
}

}  // namespace fukayomi
