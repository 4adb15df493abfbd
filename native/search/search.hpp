// The search: picks leaves of the tree a batch at a time, hands them to a network as planes, takes back what it says.
//
//   search.set_position(game);
//   while (n = search.gather(batch, slot, limit)) { evaluate(slot, n); search.apply(batch, logits, values); }
//
// One mutex guards the tree. Under it one thread at a time walks down and backs up, which is little work; whatever can be
// done for a leaf alone (playing its moves, repetition, mate, move generation, planes, softmax) runs outside it. So several
// threads, each with a batch of its own, may gather and apply at once. With one thread and a fixed limit the search is
// deterministic.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "encode/planes.hpp"
#include "search/leaf.hpp"
#include "search/params.hpp"
#include "search/puct.hpp"
#include "search/tree.hpp"
#include "shogi/game.hpp"

namespace fukayomi {

class Search;

// The memory that an evaluator reads: one row a leaf, C rows.
struct SlotInput {
    std::uint8_t* planes1;   // [C, PACKED1_BYTES]
    std::uint8_t* planes2;   // [C, PACKED2_BYTES]
    std::uint16_t* labels;   // [C, MAX_MOVES]: the policy labels of the leaf's moves; rows are not cleared
    std::uint16_t* counts;   // [C]: how many of them
};

// Leaves on their way to an evaluator and back. One thread at a time may use a batch.
class Batch {
public:
    Batch(Search& search, std::size_t capacity);
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    std::size_t capacity() const { return leaves_.size(); }
    std::size_t size() const { return count_; }

private:
    friend class Search;

    struct Leaf {
        Path path;  // of the tree: guarded by its mutex
        std::vector<Move> moves;
        MoveList edges;
        Verdict verdict;
        Move mate;  // of the root alone: it is tried first
        bool is_complete = true;
        std::array<Edge, MAX_MOVES> packed;
    };

    Search& search_;
    std::vector<std::unique_ptr<Leaf>> leaves_;
    std::size_t count_ = 0;  // leaves that the evaluator has
    LeafReader reader_;
    std::atomic<bool> is_busy_ = false;

    // Guarded by the search's mutex: what has to be undone in the tree if the batch comes to nothing.
    std::size_t in_flight_ = 0;          // the first so many leaves
    std::vector<Path> collisions_;
    std::size_t collision_count_ = 0;
    bool is_registered_ = false;
};

// A move of the root with what the search thinks of it.
struct SearchLine {
    Move move;
    std::vector<Move> pv;  // from this move on
    std::uint32_t visits = 0;
    float prior = 0.0F;
    float winrate = 0.0F;     // of the side to move at the root
    std::optional<int> mate;  // plies until mate if it is proven: positive if the side to move at the root wins
    int depth = 0;            // length of pv
};

class Search {
public:
    // Throws std::invalid_argument at bad parameters or a memory size out of range.
    Search(const SearchParams& params, std::size_t memory_mb);

    static constexpr std::size_t MAX_MEMORY_MB = 65536;  // what 32-bit indices reach

    // Whether the tree could be kept: the game started as the last one did and went on by moves in the tree. Batches in
    // flight come to nothing. Throws std::invalid_argument if one of the search moves is not legal.
    bool set_position(const Game& game, std::span<const Move> search_moves = {});

    // Fills rows of the slot with new leaves and returns how many, at most limit. Fewer than that when the tree has no
    // more to offer before results come in. 0 if other batches hold all that there is to evaluate, or if there is nothing
    // left to do: stopped, memory full, or the root decided.
    int gather(Batch& batch, const SlotInput& slot, std::size_t limit);
    // logits[row * MAX_MOVES + i] belongs to the i-th label; values[row] is the win probability of the side to move.
    // Throws std::invalid_argument at what is no number; the batch is cancelled then.
    void apply(Batch& batch, const float* logits, const float* values);
    void cancel(Batch& batch);

    void stop() { is_stopped_.store(true); }
    void resume() { is_stopped_.store(false); }
    bool is_stopped() const { return is_stopped_.load(); }

    std::uint64_t nodes() const;        // leaves evaluated since set_position
    std::uint32_t root_visits() const;  // those before a kept tree's change of root included
    bool is_full() const;
    bool is_decided() const;  // the root is proven won, lost or drawn
    std::size_t root_move_count() const;
    std::size_t bytes_used() const;
    std::size_t node_count() const;
    int seldepth() const;
    // The best moves in the order of choice: proven wins, shortest first, then by visits; proven losses last.
    std::vector<SearchLine> lines(std::size_t multipv) const;
    void check_invariants();  // throws std::logic_error; only while no batch is in flight

    const SearchParams& params() const { return params_; }

private:
    friend class Batch;
    enum class Descent { LEAF, TERMINAL, COLLISION, FULL };

    bool try_advance(const Game& game);
    void start_anew(const Game& game, std::span<const Move> search_moves);
    bool begin(Batch& batch, std::shared_ptr<const Root>& root);
    std::size_t pick(Batch& batch, std::size_t wanted, std::size_t limit);
    Descent descend(Batch::Leaf& leaf, bool avoid_proven);
    std::size_t choose_child(Index node, const Child& entry, bool is_root, bool avoid_proven, float& fpu) const;
    void read(Batch& batch, const Root& root, const SlotInput& slot, std::size_t picked) const;
    void settle(Batch& batch, std::size_t picked);
    void release(Batch& batch);
    void release_collisions(Batch& batch);
    bool is_over() const;

    std::size_t best_slot(Index node) const;
    SearchLine tried_line(std::size_t slot) const;
    void complete_pv(SearchLine& line) const;

    const SearchParams params_;
    const Puct root_puct_;
    const Puct puct_;
    std::atomic<bool> is_stopped_ = false;

    mutable std::mutex mutex_;  // guards all that follows
    Tree tree_;
    std::shared_ptr<const Root> root_;
    Position start_;
    std::vector<Move> game_moves_;
    bool is_restricted_ = false;  // to search moves
    std::vector<Batch*> active_;  // batches with visits in flight
    std::uint64_t nodes_ = 0;
    std::size_t deepest_ = 0;
    bool is_full_ = false;
};

}  // namespace fukayomi
