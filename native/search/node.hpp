// What the tree is made of. Three kinds of memory, each as small as its use allows (see arena.hpp):
//
//   Node      32 bytes, one for every position that the search has reached
//   edges     4 bytes for every move of an evaluated node: {prior, move}, written once
//   children  16 bytes for every move that has been tried, in a block that grows as the node is searched
//
// Most nodes are leaves with dozens of moves that are never tried, so the 4 bytes decide how much a tree costs.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "shogi/types.hpp"

namespace fukayomi {

using Index = std::uint32_t;
constexpr Index NOWHERE = 0xFFFFFFFF;

enum class NodeState : std::uint8_t {
    NEW,       // reached, not evaluated; also what a cancelled leaf goes back to
    PENDING,   // in some batch
    EXPANDED,  // evaluated; it has edges
    TERMINAL,  // the game ends here, or a mate in one does
};

// What is known for certain, for the side to move.
enum class Proof : std::uint8_t { NONE, WIN, LOSS, DRAW };

// Distances of this size and above belong to results that are no mate: won or lost by repetition, or lost after every
// move that the search tries while needless non-promotions remain. They order behind every mate, and no mate is announced.
constexpr std::uint16_t NO_MATE_DISTANCE = 4096;

struct Node {
    double value_sum = 0.0;  // over all visits, for the side that moved into this node: its parent compares by it
    std::uint32_t visits = 0;  // finished ones
    Index edges = NOWHERE;        // block of Edge
    Index children = NOWHERE;     // block of Children
    std::uint16_t edge_count = 0;
    std::uint16_t child_count = 0;  // the first child_count edges have a child each
    std::uint16_t distance = 0;     // plies to the end, where proof is WIN or LOSS
    std::uint16_t move = 0;         // the one that leads here
    Proof proof = Proof::NONE;
    NodeState state = NodeState::NEW;
    bool is_complete = true;  // the edges are all legal moves
};
// visits is also the link of the lists of free and of dropped nodes.
static_assert(sizeof(Node) == 32 && std::is_trivially_copyable_v<Node>);

// A prior between 2^-31 and 1 in 16 bits: 5 of exponent, 11 of mantissa. Greater bits mean a greater prior.
constexpr std::uint16_t pack_prior(float p) {
    constexpr std::uint32_t lowest = 96U << 23;  // the bits of 2^-31
    const auto bits = std::bit_cast<std::uint32_t>(p);
    if (!(p > 0.0F) || bits < lowest) return 0;
    const std::uint32_t packed = (bits - lowest + (1U << 11)) >> 12;
    return packed > 0xFFFF ? std::uint16_t{0xFFFF} : static_cast<std::uint16_t>(packed);
}
constexpr float unpack_prior(std::uint16_t packed) {
    return std::bit_cast<float>((static_cast<std::uint32_t>(packed) << 12) + (96U << 23));
}

// The prior in the high half: the greatest number is the best move, and ties have an order that does not depend on
// where they lie.
using Edge = std::uint32_t;
constexpr Edge make_edge(std::uint16_t packed_prior, Move m) {
    return (static_cast<Edge>(packed_prior) << 16) | m.raw();
}
constexpr Move edge_move(Edge e) { return Move(static_cast<std::uint16_t>(e & 0xFFFF)); }
constexpr float edge_prior(Edge e) { return unpack_prior(static_cast<std::uint16_t>(e >> 16)); }

struct Child {
    float q;               // mean value for the side that moves here; LOST if the move is proven to lose
    std::uint32_t visits;  // finished ones and those in flight
    float prior;
    Index node;
};
constexpr float LOST = -1e9F;

// The head of a block of children: what choosing needs beyond them.
struct Children {
    Edge next;           // the best edge without a child; meaningless if there is none
    float visited_mass;  // sum of the children's priors
    Child* begin() { return reinterpret_cast<Child*>(this + 1); }
    const Child* begin() const { return reinterpret_cast<const Child*>(this + 1); }
};
static_assert(sizeof(Child) == 16 && sizeof(Children) == 8);

}  // namespace fukayomi
