// The search: selects leaves of the tree a batch at a time, and backs up what an evaluator says of them.
//
//   search.set_position(game);
//   while (n = search.gather(batch, slot, limit)) { evaluate(slot, n); search.apply(batch, logits, values); }
//
// gather: select leaves, judge them by the rules, look the open ones up in the cache, encode the rest; back up the others.
// apply:  expand the leaves, back up their values.
//
// What is counted, from set_position on:
//   nodes        leaves that were expanded, whether by an evaluator or from the cache. Limits are in nodes, so that a search
//                with a limit is the same search whatever the cache knows.
//   evaluations  those that took a row of a batch
//   playouts     ways down the tree that were backed up: nodes, and those that end where the result is known
// Visits are a node's playouts; the root's include those of a kept tree.
//
// One mutex guards the tree. Under it one thread at a time selects and backs up, which is little work. What concerns a leaf
// alone runs outside it: replaying its moves, repetition, mate, move generation, planes, softmax. So several threads, each
// with a batch of its own, may gather and apply at once. With one thread and a fixed limit the search is deterministic.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "encode/slot.hpp"
#include "search/batch.hpp"
#include "search/leaf.hpp"
#include "search/params.hpp"
#include "search/puct.hpp"
#include "search/root_policy.hpp"
#include "search/teaching.hpp"
#include "search/tree.hpp"
#include "shogi/mutex.hpp"
#include "shogi/position.hpp"

namespace fukayomi {

class CoreEvaluator;
class LabelledPositions;

// A move of the root and what the search knows of it.
struct SearchLine {
    std::vector<Move> pv;  // begins with the move
    std::uint32_t visits = 0;
    float prior = 0.0F;
    float winrate = 0.0F;     // of the side to move at the root
    std::optional<int> mate;  // plies to a proven mate: positive if the side to move at the root wins

    Move move() const { return pv.front(); }
    std::size_t depth() const { return pv.size(); }
    bool operator==(const SearchLine&) const = default;
};

// A move of the root as the root's policy ranks it.
struct RootMove {
    Move move;
    std::uint32_t visits = 0;
    float winrate = 0.0F;       // of the side to move at the root
    Proof proof = Proof::NONE;  // for the side to move at the root
    bool has_mate = false;      // the proof is a mate
};

class Search {
  public:
    // Throws std::invalid_argument at bad parameters or a memory size out of range.
    Search(const SearchParams& params, std::size_t memory_mb);

    static constexpr std::size_t MAX_MEMORY_MB = 65536;  // the reach of 32-bit indices

    // Returns whether the tree was kept: the game is the last one, or goes on from it by moves in the tree. Batches in flight
    // are cancelled. `nodes`: those that the caller will search at most, if that is known; the root's policy may plan with
    // it, but it ends nothing. `explores`: false leaves out noise and forced playouts in this search, and what Gumbel leaves
    // to chance. Throws std::invalid_argument if one of the search moves is not legal.
    bool set_position(const Position& position, std::span<const Move> search_moves = {}, std::optional<std::uint64_t> nodes = {},
                      bool explores = true);

    // The next position starts a new tree, even if the game goes on.
    void forget();

    // From now on gives visits to these moves of the root alone, to each the same number, until the position is set again. The
    // other moves keep what they have. Throws std::invalid_argument if there is no move, or one that the root has not.
    void compare(std::span<const Move> moves);

    // Writes new leaves into rows of the input, from `first` on, and returns their number, at most limit; fewer if the tree has no more before
    // results come in. 0 if other batches hold all leaves there are, or if the search is stopped, full or decided. With those
    // found in the cache (batch.hits) there are at most `nodes` leaves. It ends early where
    // playouts() would exceed `playouts`: leaves whose result is known, without a row, may be many.
    int gather(Batch& batch, SlotInput& input, std::size_t first, std::size_t limit, std::size_t nodes = SIZE_MAX,
               std::size_t playouts = SIZE_MAX);
    // logits[row * MAX_MOVES + i] belongs to the i-th move of the row; values[row] is the win probability of the side to move.
    // Then the batch's reviewer looks at the positions that have become important. Throws std::invalid_argument at logits that are
    // not finite and values out of range; the batch is cancelled then.
    void apply(Batch& batch, const float* logits, const float* values);
    void cancel(Batch& batch);

    // Gathers, evaluates and applies one batch after the other, without the caller's help, until a limit is reached.
    struct Stretch {
        std::size_t rows;               // of a batch at most
        std::size_t visits_per_leaf;    // a batch takes at most one leaf for so many visits of the root; 0: as many as it has rows
        std::size_t nodes;              // to search at most, with those found in the cache, of which a batch has up to as many as rows
        std::chrono::nanoseconds time;  // after this no batch begins
    };
    struct Stretched {
        std::size_t nodes = 0;  // searched
        bool is_idle = false;   // it ended because there was no leaf to gather: see there
        bool is_finite = true;  // false: what the evaluator says of some position is not finite; its batch is cancelled
    };
    Stretched run(Batch& batch, CoreEvaluator& evaluator, SlotInput& input, const SlotOutput& output, const Stretch& stretch);

    // The positions of a batch with what the evaluator says of them, before it is applied: games of one move in hcpe3, with the policy
    // as visits (65535 times the share; shares below 1/512 are left out), the value as an evaluation, and no result. A batch that
    // was cancelled gives none; positions whose output `apply` would refuse are left out.
    std::vector<std::uint8_t> labelled_leaves(Batch& batch, const float* logits, const float* values) const;
    // The same of the tree's positions that have at least so many visits, with what the search says of them: the visits of the moves as
    // the policy (moves that are proven to lose have none), the mean value as the evaluation. Positions that are proven, and those whose
    // value comes from a repetition, are left out.
    std::vector<std::uint8_t> labelled_nodes(std::uint32_t least_visits) const;

    // Enters a result that was proven elsewhere, at any time and from any thread. `winner`: none for a draw. `mate_plies`:
    // until the mate; none if the game is won in another way. False, and nothing is done, if the tree does not hold the
    // position with its past, or memory is full; a move that has no node yet gets one if its parent was evaluated.
    // Throws std::invalid_argument at a number of plies after which the winner cannot have mated.
    bool prove(const Position& position, std::optional<Color> winner, std::optional<int> mate_plies = std::nullopt);

    // Enters a mate by the side to move, with its line, which best lines then end with. It is entered for the position after
    // the first move where there is or can be a node for that, otherwise for the position itself; not for the root, which
    // must have a move. False as for prove, and if the line leads through the fourth occurrence of a position. Throws std::invalid_argument if the moves are not legal, or not a mate.
    bool enter_mate(const Position& position, std::span<const Move> moves);

    void stop() { is_stopped_.store(true); }
    void resume() { is_stopped_.store(false); }
    bool is_stopped() const { return is_stopped_.load(); }

    std::uint64_t nodes() const;  // these three since set_position; see above
    std::uint64_t evaluations() const;
    std::uint64_t playouts() const;
    std::uint32_t root_visits() const;  // including those of a kept tree
    bool is_full() const;
    bool is_decided() const;  // the root is proven won, lost or drawn, or all its lines end in proofs and recurrences
    std::size_t root_move_count() const;
    std::size_t bytes_used() const;
    std::size_t bytes_live() const;  // without what is free for reuse
    std::size_t node_count() const;
    int seldepth() const;
    // The best moves in the order of choice: proven wins, shortest first, then as the root's policy
    // ranks them, by visits as a rule; proven losses last.
    std::vector<SearchLine> lines(std::size_t multipv) const;
    // All moves of a position of the tree, ordered in the same way, as its side to move sees them. Below the root a move counts by its
    // visits. Empty if the tree does not hold the position with its past, or has not evaluated it.
    std::vector<SearchLine> lines_of(const Position& position) const;
    // The moves of which anything is known, in the same order. Cheaper than their lines.
    std::vector<RootMove> root_moves() const;
    // How far the search is, and the visits of the two moves of the root that have the most: without those of noise, and
    // without moves that are proven to lose.
    struct Standing {
        std::uint32_t root_visits = 0;
        bool is_decided = false;
        std::uint32_t best = 0;
        std::uint32_t second = 0;
    };
    // `from`: visits of the root from which on the two moves matter; before, they are left out, which is faster.
    Standing standing(std::uint32_t from = 0) const;
    // What a network should learn of the root's moves. The first is the move to play, as in `lines`; the others follow by
    // weight, and those without any are left out. With PUCT a weight is the number of visits, less those that noise and
    // forced playouts caused; with Gumbel the improved policy times 65535. A proven win has all of it, a move that is proven
    // to lose none unless all do. Empty as long as no move has visits.
    std::vector<TaughtMove> teaching() const;
    std::string tree_text() const;  // Tree::text, for tests
    void check_invariants();        // throws std::logic_error; only while no batch is in flight

    const SearchParams& params() const { return params_; }

  private:
    friend class Batch;
    enum class Descent { LEAF, KNOWN, COLLISION, FULL, WAIT };

    std::optional<std::vector<Move>> moves_from_root(const Position& position) const FUKAYOMI_REQUIRES(mutex_);
    std::optional<Path> path_to(std::span<const Move> moves) FUKAYOMI_REQUIRES(mutex_);
    bool enter_mate(std::vector<Move> moves, std::span<const Move> mate, std::uint64_t key, std::uint64_t key_after)
        FUKAYOMI_REQUIRES(mutex_);
    void finish_priors(Leaf& leaf) const;
    void note_due(Batch& batch, const Leaf& leaf) FUKAYOMI_REQUIRES(mutex_);
    void review(Batch& batch);
    std::size_t begin_review(Batch& batch, std::shared_ptr<const Root>& root);
    bool ask_reviewer(Batch& batch, const Root& root, std::size_t count) const;
    void end_review(Batch& batch) FUKAYOMI_REQUIRES(mutex_);
    void begin_check(Batch& batch, const Leaf& leaf) FUKAYOMI_REQUIRES(mutex_);
    void enter_checks(Batch& batch) FUKAYOMI_REQUIRES(mutex_);
    bool try_advance(const Position& position) FUKAYOMI_REQUIRES(mutex_);
    void begin_policy() FUKAYOMI_REQUIRES(mutex_);
    void start_anew(const Position& position, std::span<const Move> search_moves) FUKAYOMI_REQUIRES(mutex_);
    bool begin(Batch& batch, std::shared_ptr<const Root>& root);
    std::size_t select(Batch& batch, std::size_t wanted, std::size_t limit, std::size_t playouts) FUKAYOMI_REQUIRES(mutex_);
    Descent descend(Leaf& leaf, bool avoid_settled) FUKAYOMI_REQUIRES(mutex_);
    void judge_and_write(Batch& batch, const Root& root, SlotInput& input, std::size_t first, std::size_t selected) const;
    void back_up_judged(Batch& batch, std::size_t selected) FUKAYOMI_REQUIRES(mutex_);
    void expand(const Leaf& leaf, double value) FUKAYOMI_REQUIRES(mutex_);
    void prove_fourth_occurrences() FUKAYOMI_REQUIRES(mutex_);
    void count_playout(const Leaf& leaf) FUKAYOMI_REQUIRES(mutex_);
    void make_room(const Batch& batch);
    void undo(Batch& batch) FUKAYOMI_REQUIRES(mutex_);
    void label_below(Index node, const Board& board, std::uint32_t least_visits, LabelledPositions& labelled) const
        FUKAYOMI_REQUIRES(mutex_);
    void undo_collisions(Batch& batch) FUKAYOMI_REQUIRES(mutex_);
    bool is_over() const FUKAYOMI_REQUIRES(mutex_);

    std::vector<std::size_t> ranked_slots(Index node) const FUKAYOMI_REQUIRES(mutex_);
    std::size_t best_slot(Index node) const FUKAYOMI_REQUIRES(mutex_);
    Path best_path(Index node, std::size_t slot) const FUKAYOMI_REQUIRES(mutex_);
    SearchLine tried_line(Index node, const Board& board, std::size_t slot) const FUKAYOMI_REQUIRES(mutex_);
    std::vector<SearchLine> lines_below(Index node, const Board& board, std::size_t most) const FUKAYOMI_REQUIRES(mutex_);
    std::vector<Move> known_mate(const Board& pos, const Node& node) const FUKAYOMI_REQUIRES(mutex_);

    const SearchParams params_;
    const Puct puct_;  // below the root
    std::atomic<bool> is_stopped_ = false;

    mutable Mutex mutex_;  // threads that search by `run` let those who ask pass
    Tree tree_ FUKAYOMI_GUARDED_BY(mutex_);
    const std::unique_ptr<RootPolicy> root_policy_;
    std::unique_ptr<EvenPolicy> comparison_ FUKAYOMI_GUARDED_BY(mutex_);  // in its place while moves are compared
    std::shared_ptr<const Root> root_ FUKAYOMI_GUARDED_BY(mutex_);
    Board start_ FUKAYOMI_GUARDED_BY(mutex_);
    std::vector<Move> game_moves_ FUKAYOMI_GUARDED_BY(mutex_);
    bool is_restricted_ FUKAYOMI_GUARDED_BY(mutex_) = false;  // to search moves
    bool is_forgotten_ FUKAYOMI_GUARDED_BY(mutex_) = false;   // the next position starts a new tree
    Edge mate_edge_ FUKAYOMI_GUARDED_BY(mutex_) = 0;          // of the root's move that a short mate put first, as the evaluator judged it
    std::unordered_map<std::uint64_t, std::vector<Move>> mates_ FUKAYOMI_GUARDED_BY(mutex_);  // the lines of enter_mate by position
    std::vector<Batch*> active_ FUKAYOMI_GUARDED_BY(mutex_);                                  // batches with visits in flight
    std::uint64_t nodes_ FUKAYOMI_GUARDED_BY(mutex_) = 0;
    std::uint64_t evaluations_ FUKAYOMI_GUARDED_BY(mutex_) = 0;
    std::uint64_t playouts_ FUKAYOMI_GUARDED_BY(mutex_) = 0;
    std::optional<std::uint64_t> node_limit_ FUKAYOMI_GUARDED_BY(mutex_);  // planned for nodes_
    bool explores_ FUKAYOMI_GUARDED_BY(mutex_) = true;
    std::size_t deepest_ FUKAYOMI_GUARDED_BY(mutex_) = 0;
    bool wants_room_ FUKAYOMI_GUARDED_BY(mutex_) = false;  // memory is full, but there may be something to prune
    bool is_full_ FUKAYOMI_GUARDED_BY(mutex_) = false;     // there is not
};

}  // namespace fukayomi
