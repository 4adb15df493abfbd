// A new leaf outside the search's lock. It is judged by the rules first, which needs no row of a batch; a leaf that is still
// open is then encoded for the evaluator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "encode/slot.hpp"
#include "mate/mate_solver.hpp"
#include "search/eval_cache.hpp"
#include "search/node.hpp"
#include "search/params.hpp"
#include "search/tree.hpp"
#include "shogi/board.hpp"
#include "shogi/history.hpp"

namespace fukayomi {

constexpr std::size_t LEAF_SOLVER_MB = 16;  // taken as it is needed; more than is searched at one position

// Where a search starts. It does not change while a batch refers to it.
struct Root {
    Board board;
    History history;
    MoveList moves;  // all legal moves, or the search moves
    // The most often that one position of the game has occurred. Below two no line of the tree reaches a fourth occurrence.
    int most_occurrences = history.most_occurrences();
};

struct Leaf {
    Path path;                  // in the tree: guarded by the search's mutex
    std::vector<Move> moves;    // from the root
    bool is_noise = false;      // the first of them was chosen by noise alone
    bool is_check_due = false;  // the position after that move is due for a search for mate
    Verdict verdict;
    // Without a proof: whether the position occurred at the root or after it, and what visits count as. The distance is that
    // to the first occurrence.
    Verdict recurrence;
    MoveList edges;                      // of an open leaf
    Color turn = BLACK;                  // to move in its position
    bool is_complete = true;             // the edges are all legal moves
    std::uint16_t kind = 0;              // of an open leaf, where values are corrected
    Move mate;                           // begins a short mate, at the root only, where it is tried first
    Edge mate_edge = 0;                  // of that move, as the evaluator judged it
    std::array<Edge, MAX_MOVES> packed;  // the edges with the evaluator's priors

    EvalKey key;                 // of an open leaf, if there is a cache
    std::optional<float> value;  // what the cache says of it, with the edges in `packed`

    // Neither proven nor a recurrence: it needs an evaluation.
    bool is_open() const { return verdict.proof == Proof::NONE && recurrence.proof == Proof::NONE; }
    // Whatever the evaluator said of a mate, it is tried first.
    void put_mate_first();
    bool needs_row() const { return is_open() && !value; }
};

// The proof that the current position's fourth occurrence is, if it is one.
Verdict verdict_of_fourth(const History& history);

// Whether the game ends along these moves before the last of them, by the fourth occurrence of a position. A search for mates
// does not know the past; its mate is none then. `history` is that of `board` and is left as it was.
bool reaches_fourth_occurrence(Board board, History& history, std::span<const Move> moves);

// A mate of any length by the side to move, as far as so many nodes find one: the whole line, or no moves.
std::vector<Move> find_long_mate(MateSolver& solver, const Board& pos, const SearchParams& params, std::uint64_t nodes);

// A search for a mate after a move of the root that has been visited often.
struct MateCheck {
    Move move;
    std::uint64_t nodes = 0;      // to search
    std::vector<Move> mate;       // what was found
    std::uint64_t key = 0;        // of the position after the move
    std::uint64_t key_after = 0;  // and after the first move of the mate
};

// Replays the moves of leaves on its own copy of the root's position and past.
class LeafReader {
  public:
    void set_root(const Root& root) { history_ = root.history; }
    // Sets everything of the leaf that the rules decide: verdict, edges, is_complete, mate.
    void judge(const Root& root, const SearchParams& params, Leaf& leaf);
    // Asks the cache for the leaf that was judged last, if it is open.
    void look_up(EvalCache& cache, const SearchParams& params, Leaf& leaf) const;
    // Sets the mate of the check, if there is one.
    void find_mate(const Root& root, const SearchParams& params, MateCheck& check);
    // Writes a position of the tree with its edges into a row of the input, and sets whose turn it is.
    void write(const Root& root, Leaf& leaf, SlotInput& input, std::size_t row);
    // Writes the leaf that was judged last into a row of the input.
    void write(const Leaf& leaf, SlotInput& input, std::size_t row) const { input.write(row, board_, leaf.edges); }

  private:
    void replay(const Root& root, std::span<const Move> moves);
    Verdict verdict(const Root& root, const SearchParams& params);
    bool may_mate_in_three(const Root& root);
    MateSolver& solver();

    Board board_;
    History history_;
    std::unique_ptr<MateSolver> solver_;  // once it is needed
};

}  // namespace fukayomi
