// The search tree: nodes, their edges and children, visits, proofs, and the change of root between moves.
//
// Nothing here locks: the caller holds the search's mutex.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "search/correction.hpp"
#include "search/node.hpp"
#include "search/policy_history.hpp"
#include "search/pool.hpp"
#include "shogi/types.hpp"

namespace fukayomi {

// One node on the way down from the root. The root's slot is not used.
struct Step {
    Index node;
    std::uint32_t slot;  // among its parent's children
};
using Path = std::vector<Step>;

// The value of a visit to each side. They add up to 1 except in draws, which each side values by its own.
struct Values {
    double root_side;
    double other_side;
};

class Tree {
  public:
    // `correction`: SearchParams::value_correction; `history`: SearchParams::policy_history.
    explicit Tree(std::size_t max_bytes, float correction = 0.0F, float history = 0.0F);

    void clear();  // leaves a root that is NEW
    // The side to move at the root, and what a draw is worth.
    void set_sides(Color root_side, Values draw) {
        root_side_ = root_side;
        draw_ = draw;
    }
    // Makes the node after these moves the root and drops the rest. False, and nothing is done, if it is not EXPANDED. No
    // visit may be in flight.
    bool advance(std::span<const Move> moves);
    // Adds the moves that the root lacks, behind all others. False if memory is full.
    bool complete_root(const MoveList& legal);

    Index root() const { return root_.node; }
    const PolicyHistory& history() const { return history_; }
    Node& operator[](Index i) { return nodes_[i]; }
    const Node& operator[](Index i) const { return nodes_[i]; }
    Children& children(Index node) { return *child_blocks_.payload<Children>(nodes_[node].children); }
    const Children& children(Index node) const { return *child_blocks_.payload<Children>(nodes_[node].children); }
    EdgeSpan edges(Index node) const {
        return {edge_blocks_.payload<std::uint8_t>(nodes_[node].edges) + edge_block_bytes(0), nodes_[node].edge_count};
    }
    // The step's entry in its parent's children, or the root's own.
    Child& entry(const Path& path, std::size_t depth) {
        return depth == 0 ? root_ : children(path[depth - 1].node).begin()[path[depth].slot];
    }

    // Makes a child of an edge that has none; `q` is its value until a visit is backed up. Edge child_count is the one with
    // the greatest prior. False if memory is full. Pointers to edges and children become invalid.
    bool add_child(Index parent, float q, std::size_t edge);
    // Memory for a leaf's edges. False if memory is full. Pointers to edges become invalid.
    bool reserve_edges(Index node, std::size_t count);
    // Gives the moves of a node, all of which are among these, other priors.
    void set_priors(Index node, std::span<const Edge> evaluated);
    // Takes a leaf back out of its batch.
    void reset_leaf(Index node);
    // `value`: what the network says of the position, for the side that moved into it. Returns what the visit counts, which is
    // another value where those of the kind are corrected.
    double expand(Index node, std::span<const Edge> edges, bool is_complete, std::uint16_t kind, double value);

    void begin_visit(const Path& path, std::size_t depth) { ++entry(path, depth).visits; }
    void undo_visit(const Path& path);
    void back_up(const Path& path, Values values);
    // Backs up a visit to a node that is proven or a recurrence.
    void back_up_known(const Path& path);
    // Enters the result of the path's last node, and of every node above that it decides. It may come at any time and from
    // anywhere. A result that is known stays, unless the new one is the same in fewer plies.
    void prove(const Path& path, Verdict verdict);
    // Enters that the path's last node recurs: what its visits count as, and the plies back to the first occurrence. Nothing
    // above is proven by it, and the visits are taken back once the first occurrence lies before the root.
    void enter_recurrence(const Path& path, Verdict recurrence);
    // The path along these moves, as far as the tree has nodes.
    Path find(std::span<const Move> moves) const;
    // Goes one move further than the tree, with a new child. False if the path's last node has no such edge, or memory is
    // full. Pointers to edges and children become invalid.
    bool extend(Path& path, Move move);

    // Makes room when memory is full. Subtrees of nodes with few visits are dropped, with ever more visits until an eighth of
    // the memory is free; what the nodes themselves and their proven moves have found stays. Paths with a visit in flight are
    // left alone. One call is a small part of that work.
    enum class Room { NOT_YET, FOUND, NONE };
    Room make_room();

    std::size_t node_count() const { return nodes_.size(); }  // including those dropped but not yet taken apart
    std::size_t bytes() const { return pool_.bytes(); }
    std::size_t live_bytes() const;  // without what is free for reuse
    std::size_t max_bytes() const { return pool_.max_bytes(); }
    // Checks every invariant; throws std::logic_error. No visit may be in flight.
    void check();
    // A line for each node: move, visits, mean value and prior for the side that moved, result and distance for the other.
    std::string text() const;

  private:
    struct Taken;

    Index allocate_node();
    Index allocate_block(BlockPool& pool, Index owner, std::size_t bytes);
    bool grow_children(Index parent);
    std::size_t child_capacity(Index parent) const;
    bool update_proof(Index parent, const Node& child);
    void settle_above(std::span<const Step> path);
    void take_back_recurrences();
    Taken take_back(Child& entry, std::size_t depth);
    Taken take_back_recurrence(Node& node) const;
    std::size_t edge_block_bytes(std::size_t count) const { return (correction_.is_on() ? sizeof(Judgement) : 0) + count * EDGE_BYTES; }
    // Where values are corrected.
    Judgement& judgement(Index node) const { return *edge_blocks_.payload<Judgement>(nodes_[node].edges); }
    float proven_q(const Node& node, bool root_side_moved) const;
    void learn(const Node& node, Index i);
    void drop(Index node);
    bool sweep();
    void prune(Index node);
    void write(const Child& entry, std::size_t depth, std::string& text) const;

    ChunkPool pool_;
    NodePool nodes_;
    BlockPool edge_blocks_;
    BlockPool child_blocks_;
    ValueCorrection correction_;
    PolicyHistory history_;
    Child root_{0.0F, 0, 1.0F, NOWHERE};
    // Dropped subtrees, as a list through their roots. They are taken apart little by little as new nodes are needed, so
    // that a change of root costs no time, however large the tree is.
    Index dropped_ = NOWHERE;
    Color root_side_ = BLACK;
    Values draw_{0.5, 0.5};

    // A search for nodes to prune, which goes round all nodes, each time with more visits.
    struct Pruning {
        std::uint32_t visits = 0;    // prunes nodes with at most so many; 0: none is under way
        std::size_t cells_left = 0;  // of this round
        std::size_t goal_bytes = 0;
    };
    Pruning pruning_;
    Index prune_from_ = 0;         // where it goes on, from one pruning to the next
    bool has_new_priors_ = false;  // so that moves may have been tried in another order than that of their priors
    bool has_pruned_ = false;      // so that some nodes have more visits than their children account for
};

}  // namespace fukayomi
