// A new leaf as the rules see it: over, or a position for the network. Runs without the search's lock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/node.hpp"
#include "search/params.hpp"
#include "shogi/history.hpp"
#include "shogi/position.hpp"

namespace fukayomi {

// Where a search starts. It never changes while a batch refers to it.
struct Root {
    Position position;
    History history;
    MoveList moves;  // every legal one, or those that the user wants searched
};

struct Verdict {
    Proof proof = Proof::NONE;  // for the side to move
    std::uint16_t distance = 0;
};

// Plays the moves of a leaf on copies of the root's position and past.
class LeafReader {
public:
    void set_root(const Root& root);
    // Goes to the leaf; position() is the leaf's until the next call.
    const Position& go_to(const Root& root, std::span<const Move> moves);
    const Position& position() const { return position_; }
    // Whether the game is over at this leaf, or one move from it. The root is exempt: what to do with a repeated or
    // declarable position in which one has to move is the engine's question.
    Verdict judge(const SearchParams& params) const;

private:
    Position position_;
    History history_;
};

// The moves that a leaf's edges stand for. Returns whether they are all the legal ones.
bool generate_edges(const Position& pos, MoveList& moves);

}  // namespace fukayomi
