#include "search/search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

#include "search/policy.hpp"
#include "shogi/movegen.hpp"
#include "shogi/require.hpp"
#include "shogi/usi_move.hpp"

namespace fukayomi {

namespace {

// Where a settled node, mostly a recurrence, is the best move there is, visits go there again and again. They cost no
// evaluation and bring nothing new. After this many for each leaf that a batch may take, it avoids settled nodes.
constexpr std::size_t KNOWN_VISITS_PER_LEAF = 3;

// The position after a move of the root is searched for a mate at these visits: 16, 64, 256, ...
constexpr std::uint32_t FIRST_CHECK = 16;
constexpr std::uint32_t CHECK_GROWTH = 4;

bool is_check_due(std::uint32_t visits) {
    return visits >= FIRST_CHECK && std::has_single_bit(visits) && std::countr_zero(visits) % 2 == 0;
}

std::size_t checked_bytes(std::size_t memory_mb) {
    require_between("memory_mb", memory_mb, 1, Search::MAX_MEMORY_MB);
    return memory_mb << 20;
}

const SearchParams& checked(const SearchParams& params) {
    params.validate();
    return params;
}

Verdict proven_verdict(Color turn, std::optional<Color> winner, std::optional<int> mate_plies) {
    if (!winner) {
        if (mate_plies) throw std::invalid_argument("a draw has no mate_plies");
        return {Proof::DRAW, 0};
    }
    const bool wins = *winner == turn;
    if (mate_plies && (*mate_plies < 0 || *mate_plies >= NO_MATE_DISTANCE || (*mate_plies % 2 != 0) != wins))
        throw std::invalid_argument(
            "mate_plies is " + std::to_string(*mate_plies) +
            (wins ? "; the side to move mates after an odd number of plies" : "; the side to move is mated after an even number of plies"));
    const int distance = mate_plies.value_or(NO_MATE_DISTANCE);
    return {wins ? Proof::WIN : Proof::LOSS, static_cast<std::uint16_t>(distance)};
}

void require_mate(Board pos, std::span<const Move> moves) {
    if (moves.size() % 2 == 0 || moves.size() >= NO_MATE_DISTANCE)
        throw std::invalid_argument("a mate by the side to move has an odd number of moves, not " + std::to_string(moves.size()));
    for (const Move m : moves) {
        if (!pos.is_legal(m)) throw std::invalid_argument("illegal move " + usi(m) + " in a mate");
        pos.do_move(m);
    }
    if (!pos.is_check() || has_legal_move(pos)) throw std::invalid_argument(usi(moves.back()) + " does not mate");
}

Values draw_values(const SearchParams& params, Color root_side) {
    const double black = params.draw_value_black, white = params.draw_value_white;
    return root_side == BLACK ? Values{black, white} : Values{white, black};
}

}  // namespace

Batch::Batch(Search& search, std::size_t capacity, EvalCache* cache, Reviewer* reviewer)
    : search_(search), cache_(cache), reviewer_(reviewer) {
    if (capacity == 0 || capacity > MAX_CAPACITY)
        throw std::invalid_argument("a batch has room for 1 to " + std::to_string(MAX_CAPACITY) + " leaves, not " +
                                    std::to_string(capacity));
    for (std::size_t i = 0; i < capacity; ++i) leaves_.push_back(std::make_unique<Leaf>());
}

Batch::~Batch() {
    const Lock lock(search_.mutex_);
    search_.undo(*this);
}

Search::Search(const SearchParams& params, std::size_t memory_mb)
    : params_(checked(params)), puct_(Puct::below_root(params)),
      tree_(checked_bytes(memory_mb), params.value_correction, params.policy_history), root_policy_(make_root_policy(params)) {
    start_anew(Position(), {});
}

bool Search::set_position(const Position& position, std::span<const Move> search_moves, std::optional<std::uint64_t> nodes, bool explores) {
    for (const Move m : search_moves)
        if (!position.board().is_legal(m)) throw std::invalid_argument("illegal search move " + usi(m));
    const Asking asking(mutex_);
    while (!active_.empty()) undo(*active_.back());
    nodes_ = evaluations_ = playouts_ = 0;
    node_limit_ = nodes;
    explores_ = explores;
    deepest_ = 0;
    wants_room_ = is_full_ = false;
    comparison_.reset();
    const bool kept = search_moves.empty() && !is_restricted_ && !is_forgotten_ && try_advance(position);
    is_forgotten_ = false;
    if (!kept) start_anew(position, search_moves);
    return kept;
}

void Search::forget() {
    const Asking asking(mutex_);
    is_forgotten_ = true;
}

void Search::compare(std::span<const Move> moves) {
    const Asking asking(mutex_);
    if (moves.empty()) throw std::invalid_argument("there is no move to compare");
    for (const Move m : moves)
        if (!root_->moves.contains(m)) throw std::invalid_argument(usi(m) + " is not a move of the root");
    comparison_ = std::make_unique<EvenPolicy>(moves, *root_policy_);
}

// The moves of the game after the root, if the root is a position of it. The game before the root must be the same, not only
// the position: a fourth occurrence depends on it (see Tree::prove).
std::optional<std::vector<Move>> Search::moves_from_root(const Position& position) const {
    const std::vector<Undo>& undos = position.moves();
    if (undos.size() < game_moves_.size() || position.start().sfen() != start_.sfen()) return std::nullopt;
    for (std::size_t i = 0; i < game_moves_.size(); ++i)
        if (!(undos[i].move == game_moves_[i])) return std::nullopt;
    std::vector<Move> moves;
    for (std::size_t i = game_moves_.size(); i < undos.size(); ++i) moves.push_back(undos[i].move);
    return moves;
}

// Goes on in the tree if the game is the last one, or its continuation.
bool Search::try_advance(const Position& position) {
    const auto played = moves_from_root(position);
    if (!played || !tree_.advance(*played)) return false;
    auto root = std::make_shared<Root>(Root{position.board(), position.history(), {}});
    generate_legal(root->board, root->moves);
    if (!tree_.complete_root(root->moves)) return false;
    root_ = std::move(root);
    game_moves_.insert(game_moves_.end(), played->begin(), played->end());
    if (!played->empty()) mate_edge_ = 0;
    tree_.set_sides(position.board().turn(), draw_values(params_, position.board().turn()));
    begin_policy();
    prove_fourth_occurrences();
    return true;
}

void Search::begin_policy() {
    std::optional<std::uint64_t> left;
    if (node_limit_) left = *node_limit_ - std::min(nodes_, *node_limit_);
    root_policy_->begin(tree_, {root_->board.key(), left, explores_});
}

void Search::start_anew(const Position& position, std::span<const Move> search_moves) {
    auto root = std::make_shared<Root>(Root{position.board(), position.history(), {}});
    if (search_moves.empty())
        generate_legal(root->board, root->moves);
    else
        for (const Move m : search_moves)
            if (!root->moves.contains(m)) root->moves.push(m);
    root_ = std::move(root);
    start_ = position.start();
    game_moves_.clear();
    for (const Undo& undo : position.moves()) game_moves_.push_back(undo.move);
    is_restricted_ = !search_moves.empty();
    tree_.clear();
    mates_.clear();
    mate_edge_ = 0;
    tree_.set_sides(position.board().turn(), draw_values(params_, position.board().turn()));
    if (root_->moves.empty()) tree_.prove({{tree_.root(), 0}}, {Proof::LOSS, 0});
}

int Search::gather(Batch& batch, SlotInput& input, std::size_t first, std::size_t limit, std::size_t nodes, std::size_t playouts) {
    const Batch::Use use(batch, *this);
    if (batch.count_ != 0) throw std::logic_error("the batch must be applied or cancelled first");
    limit = std::min(limit, batch.capacity());
    batch.hits_ = 0;
    batch.checks_.clear();
    std::shared_ptr<const Root> root;
    if (!begin(batch, root)) return 0;
    batch.reader_.set_root(*root);
    for (bool goes_on = true; goes_on;) {
        std::size_t selected = 0;
        make_room(batch);
        {
            const Lock lock(mutex_);
            if (!batch.is_registered_) break;  // set_position came in between and has undone everything
            selected = select(batch, std::min(limit, nodes - batch.hits_) - batch.count_, limit, playouts);
        }
        judge_and_write(batch, *root, input, first, selected);
        const Lock lock(mutex_);
        if (!batch.is_registered_) break;
        back_up_judged(batch, selected);
        enter_checks(batch);
        if (batch.count_ == 0) undo_collisions(batch);  // no leaf is held that a visit could collide with
        goes_on = (selected > 0 || wants_room_) && batch.count_ < std::min(limit, nodes - batch.hits_) && batch.collision_count_ <= limit &&
                  playouts_ < playouts && !is_over();
    }
    const Lock lock(mutex_);
    undo_collisions(batch);
    if (is_stopped() || batch.count_ == 0) undo(batch);
    if (!batch.is_registered_) batch.count_ = 0;
    return static_cast<int>(batch.count_);
}

bool Search::is_over() const { return is_stopped() || is_full_ || tree_[tree_.root()].is_settled; }

bool Search::begin(Batch& batch, std::shared_ptr<const Root>& root) {
    const Lock lock(mutex_);
    if (is_over()) return false;
    root = root_;
    batch.is_registered_ = true;
    active_.push_back(&batch);
    return true;
}

// Walks down until `wanted` leaves are held. A visit that ends at a leaf which a batch already holds is a collision: it stays
// in flight until the batch is full, so that the visits after it go elsewhere; too many of them end the batch.
std::size_t Search::select(Batch& batch, std::size_t wanted, std::size_t limit, std::size_t playouts) {
    const std::size_t known_budget = KNOWN_VISITS_PER_LEAF * limit;
    std::size_t selected = 0, known = 0;
    while (selected < wanted && batch.collision_count_ <= limit && playouts_ + batch.in_flight_ < playouts && !is_over()) {
        Leaf& leaf = *batch.leaves_[batch.in_flight_];
        switch (descend(leaf, known >= known_budget)) {
            case Descent::LEAF:
                begin_check(batch, leaf);
                tree_[leaf.path.back().node].state = NodeState::PENDING;
                ++batch.in_flight_;
                ++selected;
                break;
            case Descent::KNOWN:
                begin_check(batch, leaf);
                tree_.back_up_known(leaf.path);
                note_due(batch, leaf);
                count_playout(leaf);
                ++known;
                break;
            case Descent::COLLISION:
                if (batch.collisions_.size() == batch.collision_count_) batch.collisions_.emplace_back();
                std::swap(batch.collisions_[batch.collision_count_++], leaf.path);
                break;
            case Descent::FULL: wants_room_ = true; [[fallthrough]];
            case Descent::WAIT: tree_.undo_visit(leaf.path); return selected;
        }
    }
    return selected;
}

// If memory is full, drops what was visited least, except the best line, which is left alone as if a visit were under way. The
// lock is released again and again.
void Search::make_room(const Batch& batch) {
    for (;;) {
        const Lock lock(mutex_);
        if (!wants_room_ || !batch.is_registered_ || is_over()) return;
        const Path line = best_path(tree_.root(), best_slot(tree_.root()));
        for (std::size_t depth = 0; depth < line.size(); ++depth) tree_.begin_visit(line, depth);
        const Tree::Room room = tree_.make_room();
        tree_.undo_visit(line);
        if (room == Tree::Room::NOT_YET) continue;
        wants_room_ = false;
        is_full_ = room == Tree::Room::NONE;
    }
}

Search::Descent Search::descend(Leaf& leaf, bool avoid_settled) {
    leaf.moves.clear();
    leaf.is_check_due = false;
    leaf.is_noise = false;
    leaf.path.assign(1, Step{tree_.root(), 0});
    for (std::size_t depth = 0;; ++depth) {
        tree_.begin_visit(leaf.path, depth);
        const Index i = leaf.path.back().node;
        const Node& node = tree_[i];
        if (node.proof != Proof::NONE || node.recurrence != Proof::NONE) return Descent::KNOWN;
        if (node.state == NodeState::NEW) return Descent::LEAF;
        if (node.state == NodeState::PENDING) return Descent::COLLISION;
        const Child& entry = tree_.entry(leaf.path, depth);
        if (depth == 1) leaf.is_check_due = is_check_due(entry.visits);
        const bool avoids = avoid_settled && !node.is_settled;
        const Choice choice = depth > 0     ? select_by_puct(tree_, i, entry, puct_, avoids)
                              : comparison_ ? comparison_->select(tree_, entry, avoids)
                                            : root_policy_->select(tree_, entry, avoids);
        if (choice.edge == NO_EDGE) return Descent::WAIT;
        if (depth == 0) leaf.is_noise = choice.is_noise;
        std::size_t slot = choice.edge;
        if (slot >= node.child_count) {
            slot = node.child_count;
            if (slot == node.edge_count) throw std::logic_error("a node without moves to try counts as open");
            if (!tree_.add_child(i, choice.fpu, choice.edge)) return Descent::FULL;
        }
        const Index next = tree_.children(i).begin()[slot].node;
        leaf.path.push_back({next, static_cast<std::uint32_t>(slot)});
        leaf.moves.push_back(Move(tree_[next].move));
    }
}

// Without the lock. Only leaves of which neither the rules nor the cache know the value take a row.
void Search::judge_and_write(Batch& batch, const Root& root, SlotInput& input, std::size_t first, std::size_t selected) const {
    std::size_t row = first + batch.count_;
    for (std::size_t k = batch.count_; k < batch.count_ + selected; ++k) {
        Leaf& leaf = *batch.leaves_[k];
        batch.reader_.judge(root, params_, leaf);
        if (batch.cache_ != nullptr) batch.reader_.look_up(*batch.cache_, params_, leaf);
        if (leaf.value) finish_priors(leaf);
        if (leaf.needs_row()) batch.reader_.write(leaf, input, row++);
    }
    for (MateCheck& check : batch.checks_) {
        if (is_stopped()) return;
        batch.reader_.find_mate(root, params_, check);
    }
}

// From what the network says of the moves to what the tree keeps.
void Search::finish_priors(Leaf& leaf) const {
    if (!leaf.moves.empty()) tree_.history().change(leaf.turn, {leaf.packed.data(), leaf.edges.size()});
    leaf.put_mate_first();
}

void Search::begin_check(Batch& batch, const Leaf& leaf) {
    const auto per_visit = static_cast<std::uint64_t>(params_.root_move_mate_nodes);
    if (!leaf.is_check_due || per_visit == 0) return;
    const std::uint64_t visits = tree_.entry(leaf.path, 1).visits;
    // Where the limit was reached before, another search would find no more.
    if (per_visit * (visits / CHECK_GROWTH) >= MAX_ROOT_MOVE_MATE_NODES) return;
    MateCheck check;
    check.move = leaf.moves.front();
    check.nodes = std::min<std::uint64_t>(per_visit * visits, MAX_ROOT_MOVE_MATE_NODES);
    batch.checks_.push_back(std::move(check));
}

void Search::enter_checks(Batch& batch) {
    for (const MateCheck& check : batch.checks_)
        if (!check.mate.empty()) enter_mate({check.move}, check.mate, check.key, check.key_after);
    batch.checks_.clear();
}

// Backs up the leaves whose value is known and keeps the others, in the order of their rows.
void Search::back_up_judged(Batch& batch, std::size_t selected) {
    for (std::size_t k = batch.count_, end = batch.count_ + selected; k < end; ++k) {
        Leaf& leaf = *batch.leaves_[k];
        const Index i = leaf.path.back().node;
        if (!leaf.is_open()) {
            deepest_ = std::max(deepest_, leaf.path.size() - 1);
            tree_.reset_leaf(i);
            if (leaf.verdict.proof != Proof::NONE)
                tree_.prove(leaf.path, leaf.verdict);
            else
                tree_.enter_recurrence(leaf.path, leaf.recurrence);
            tree_.back_up_known(leaf.path);
            note_due(batch, leaf);
            count_playout(leaf);
        } else if (wants_room_ || !tree_.reserve_edges(i, leaf.edges.size())) {
            wants_room_ = true;
            tree_.reset_leaf(i);
            tree_.undo_visit(leaf.path);
        } else if (leaf.value) {
            expand(leaf, *leaf.value);
            note_due(batch, leaf);
            ++batch.hits_;
        } else {
            std::swap(batch.leaves_[batch.count_++], batch.leaves_[k]);
        }
    }
    batch.in_flight_ = batch.count_;
}

// An open leaf, with its edges in `packed` and memory for them in the tree. `value`: for the side to move.
void Search::expand(const Leaf& leaf, double value) {
    const bool is_root = leaf.path.size() == 1;
    const std::span<const Edge> edges(leaf.packed.data(), leaf.edges.size());
    const double corrected = tree_.expand(leaf.path.back().node, edges, leaf.is_complete, leaf.kind, 1.0 - value);
    if (leaf.kind != 0) value = 1.0 - corrected;
    ++nodes_;
    count_playout(leaf);
    if (is_root) {
        mate_edge_ = leaf.mate_edge;
        begin_policy();
    }
    const bool root_side_to_move = (leaf.path.size() & 1) != 0;
    tree_.back_up(leaf.path, root_side_to_move ? Values{value, 1.0 - value} : Values{1.0 - value, value});
    if (is_root) prove_fourth_occurrences();
    deepest_ = std::max(deepest_, leaf.path.size() - 1);
}

// A move that ends the game by the fourth occurrence of a position should not wait for a visit.
void Search::prove_fourth_occurrences() {
    if (root_->most_occurrences < 3) return;
    History history = root_->history;
    for (const Move m : root_->moves) {
        Board board = root_->board;
        board.do_move(m);
        history.push(board);
        const Verdict verdict = verdict_of_fourth(history);
        history.pop();
        if (verdict.proof == Proof::NONE) continue;
        const std::optional<Path> path = path_to({&m, 1});
        if (path) tree_.prove(*path, verdict);
    }
}

void Search::count_playout(const Leaf& leaf) {
    ++playouts_;
    if (leaf.is_noise) root_policy_->count_noise(leaf.moves.front());
}

void Search::apply(Batch& batch, const float* logits, const float* values) {
    const Batch::Use use(batch, *this);
    const char* mistake = nullptr;
    for (std::size_t row = 0; row < batch.count_ && mistake == nullptr; ++row) {
        Leaf& leaf = *batch.leaves_[row];
        if (!make_edges(leaf.edges, logits + row * MAX_MOVES, params_.temperature_at(leaf.moves.size()), leaf.packed)) {
            mistake = "a logit is not finite";
        } else if (!(values[row] >= 0.0F && values[row] <= 1.0F)) {
            mistake = "a value is not between 0 and 1";
        } else {
            if (batch.cache_ != nullptr) batch.cache_->store(leaf.key, {leaf.packed.data(), leaf.edges.size()}, values[row]);
            finish_priors(leaf);
        }
    }
    {
        const Lock lock(mutex_);
        if (mistake != nullptr) {
            undo(batch);
            batch.count_ = 0;
            throw std::invalid_argument(std::string("the evaluator's output is unusable: ") + mistake);
        }
        const std::size_t count = batch.is_registered_ ? batch.count_ : 0;
        for (std::size_t row = 0; row < count; ++row) {
            expand(*batch.leaves_[row], values[row]);
            note_due(batch, *batch.leaves_[row]);
            ++evaluations_;
        }
        batch.in_flight_ = 0;
        undo(batch);
        batch.count_ = 0;
    }
    review(batch);
}

void Search::cancel(Batch& batch) {
    const Batch::Use use(batch, *this);
    const Lock lock(mutex_);
    undo(batch);
    batch.count_ = 0;
}

// Takes everything of the batch that is in flight back out of the tree.
void Search::undo(Batch& batch) {
    if (!batch.is_registered_) return;
    for (std::size_t k = 0; k < batch.in_flight_; ++k) {
        const Path& path = batch.leaves_[k]->path;
        tree_.undo_visit(path);
        tree_.reset_leaf(path.back().node);
    }
    batch.in_flight_ = 0;
    for (; batch.reviewed_ > 0; --batch.reviewed_) tree_.undo_visit(batch.leaves_[batch.reviewed_ - 1]->path);
    undo_collisions(batch);
    batch.is_registered_ = false;
    std::erase(active_, &batch);
}

void Search::undo_collisions(Batch& batch) {
    for (std::size_t k = 0; k < batch.collision_count_; ++k) tree_.undo_visit(batch.collisions_[k]);
    batch.collision_count_ = 0;
}

// The path along moves from the root, with a new node at its end if need be and if that is possible.
std::optional<Path> Search::path_to(std::span<const Move> moves) {
    Path path = tree_.find(moves);
    if (path.size() == moves.size() && !tree_.extend(path, moves.back())) return std::nullopt;
    if (path.size() <= moves.size()) return std::nullopt;
    return path;
}

bool Search::prove(const Position& position, std::optional<Color> winner, std::optional<int> mate_plies) {
    const Verdict verdict = proven_verdict(position.board().turn(), winner, mate_plies);
    const Asking asking(mutex_);
    const auto moves = moves_from_root(position);
    const std::optional<Path> path = moves ? path_to(*moves) : std::nullopt;
    if (path) tree_.prove(*path, verdict);
    return path.has_value();
}

bool Search::enter_mate(const Position& position, std::span<const Move> mate) {
    require_mate(position.board(), mate);
    Board after = position.board();
    after.do_move(mate.front());
    const Asking asking(mutex_);
    auto moves = moves_from_root(position);
    return moves && enter_mate(std::move(*moves), mate, position.board().key(), after.key());
}

// `moves` lead from the root to the position with the first key; the second is that of the position after the first move of
// the mate.
bool Search::enter_mate(std::vector<Move> moves, std::span<const Move> mate, std::uint64_t key, std::uint64_t key_after) {
    if (root_->most_occurrences > 1) {
        std::vector<Move> line = moves;
        line.insert(line.end(), mate.begin(), mate.end());
        History history = root_->history;
        if (reaches_fourth_occurrence(root_->board, history, line)) return false;
    }
    // Where that move has a node, the tree knows which move mates. The root must know.
    moves.push_back(mate.front());
    std::optional<Path> path = path_to(moves);
    if (path) {
        mate = mate.subspan(1);
        key = key_after;
    } else {
        moves.pop_back();
        path = path_to(moves);
        if (!path || path->size() == 1) return false;
    }
    mates_.insert_or_assign(key, std::vector<Move>(mate.begin(), mate.end()));
    tree_.prove(*path, {mate.size() % 2 == 1 ? Proof::WIN : Proof::LOSS, static_cast<std::uint16_t>(mate.size())});
    return true;
}

}  // namespace fukayomi
