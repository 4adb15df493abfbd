// The search tree: nodes, their edges and children, visits, proofs, and the change of root between moves.
//
// Nothing here locks: whoever holds the search's mutex may call anything.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/arena.hpp"
#include "search/node.hpp"
#include "shogi/types.hpp"

namespace fukayomi {

// One node on the way down from the root. The root's slot is not used.
struct Step {
    Index node;
    std::uint32_t slot;  // among its parent's children
};
using Path = std::vector<Step>;

// What a visit was worth to either side. They add up to 1 except in draws, which each side values by its own.
struct Values {
    double root_side;
    double other_side;
};

class Tree {
public:
    explicit Tree(std::size_t max_bytes);

    void clear();  // leaves a root that is NEW
    // What a draw is worth to the side to move at the root, and to the other.
    void set_draw(Values draw) { draw_ = draw; }
    // Makes the node after these moves the root and drops the rest. False, and nothing is done, if it is not EXPANDED. No
    // visit may be in flight.
    bool advance(std::span<const Move> moves);
    // Adds the moves that the root lacks, behind all others. False if memory is full.
    bool complete_root(const MoveList& legal);

    Index root() const { return root_.node; }
    Node& operator[](Index i) { return nodes_[i]; }
    const Node& operator[](Index i) const { return nodes_[i]; }
    Children& children(Index node) { return *child_blocks_.payload<Children>(nodes_[node].children); }
    const Children& children(Index node) const { return *child_blocks_.payload<Children>(nodes_[node].children); }
    EdgeSpan edges(Index node) const {
        return {edge_blocks_.payload<std::uint8_t>(nodes_[node].edges), nodes_[node].edge_count};
    }
    // The step's entry in its parent's children, or the root's own.
    Child& entry(const Path& path, std::size_t depth) {
        return depth == 0 ? root_ : children(path[depth - 1].node).begin()[path[depth].slot];
    }

    // Makes a child of the best edge that has none; `q` is what it counts as until a visit is finished. False if memory
    // is full. Pointers to edges and children die.
    bool add_child(Index parent, float q);
    // Room for a leaf's edges. False if memory is full. Pointers to edges die.
    bool reserve_edges(Index node, std::size_t count);
    // A pending leaf is NEW again, as if it had never been in a batch.
    void release_leaf(Index node);
    void expand(Index node, std::span<const Edge> edges, bool is_complete);

    void begin_visit(const Path& path, std::size_t depth) { ++entry(path, depth).visits; }
    void undo_visit(const Path& path);
    void finish_visit(const Path& path, Values values);
    // A visit to a node that ends the game, worth what that end is worth.
    void finish_terminal_visit(const Path& path);
    // The path's last node ends the game: marks it, and every node above for which that settles the matter.
    void prove(const Path& path, Proof proof, std::uint16_t distance);

    std::size_t node_count() const { return nodes_.size(); }  // those dropped but not yet taken apart included
    std::size_t bytes() const { return pool_.bytes(); }
    std::size_t max_bytes() const { return pool_.max_bytes(); }
    // Looks at everything and throws std::logic_error at what cannot be. No visit may be in flight.
    void check();

private:
    Index allocate_node();
    Index allocate_block(BlockArena& arena, Index owner, std::size_t bytes);
    bool grow_children(Index parent);
    std::size_t child_capacity(Index parent) const;
    bool settle(Index parent, const Node& child);
    void drop(Index node);
    bool sweep();

    ChunkPool pool_;
    NodePool nodes_;
    BlockArena edge_blocks_;
    BlockArena child_blocks_;
    Child root_{0.0F, 0, 1.0F, NOWHERE};
    // Dropped subtrees, as a list through their roots. They are taken apart little by little as new nodes are needed, so
    // that a change of root costs no time, however large the tree is.
    Index dropped_ = NOWHERE;
    Values draw_{0.5, 0.5};
};

}  // namespace fukayomi
