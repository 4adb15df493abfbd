// What the tree is made of. Three kinds of memory, each as small as its use allows (see pool.hpp):
//
//   Node      32 bytes, one for every position that the search has reached
//   edges     3 bytes for every move of an evaluated node: {prior, move}, written once
//   children  16 bytes for every move that has been tried, in a block that grows as the node is searched
//
// Most nodes are leaves with dozens of moves that are never tried, so the 3 bytes decide the size of a tree.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "shogi/types.hpp"

namespace fukayomi {

using Index = std::uint32_t;
constexpr Index NOWHERE = 0xFFFFFFFF;

enum class NodeState : std::uint16_t {
    NEW,       // reached, not evaluated; also what a cancelled leaf goes back to
    PENDING,   // in a batch
    EXPANDED,  // evaluated; it has edges
    TERMINAL,  // its value was known before it was evaluated: the game ends here, say, or the position recurs
};

// The proven result, for the side to move.
enum class Proof : std::uint16_t { NONE, WIN, LOSS, DRAW };

// Distances from here on belong to results other than mate: by repetition, or lost after every move that the search tries
// while needless non-promotions remain. They order behind every mate, and no mate is announced.
constexpr std::uint16_t NO_MATE_DISTANCE = 4096;

struct Verdict {
    Proof proof = Proof::NONE;   // for the side to move
    std::uint16_t distance = 0;  // plies to the end of the game, for WIN and LOSS
};

struct Node {
    double value_sum = 0.0;              // over all visits, for the side that moved into this node: its parent compares by it
    std::uint32_t visits = 0;            // finished ones
    float variance = 0.0F;               // of the values of these visits
    Index edges = NOWHERE;               // block of Edge
    Index children = NOWHERE;            // block of Children
    std::uint16_t distance = 0;          // plies to the end, where proof is WIN or LOSS; of a recurrence, back to the first occurrence
    std::uint16_t move = 0;              // the one that leads here
    std::uint16_t child_count : 10 = 0;  // the first child_count edges have a child each
    // The position occurred before, at the root or after it: what visits count as, for the side to move. It proves nothing,
    // since the game may go on.
    Proof recurrence : 2 = Proof::NONE;
    std::uint16_t is_settled : 1 = 0;    // proven, a recurrence, or all moves are settled: visits bring nothing new
    std::uint16_t has_recurred : 1 = 0;  // a recurrence, or above one
    std::uint16_t edge_count : 10 = 0;
    Proof proof : 2 = Proof::NONE;
    NodeState state : 2 = NodeState::NEW;
    std::uint16_t is_complete : 1 = 1;  // the edges are all legal moves
};
// visits is also the link of the lists of free and of dropped nodes.
static_assert(sizeof(Node) == 32 && std::is_trivially_copyable_v<Node> && MAX_MOVES < 1024);

// A move with its prior in 24 bits: ten bits of prior above fourteen of move. So the greatest number is the best move, and
// the order of ties does not depend on their places.
//
// The prior is a float with four bits of exponent and six of mantissa, from 2^-16 (what is less counts as that) to 1: right
// to 0.8 %, far closer than any network knows. The move is a number below 88 * 81 * 2 = 14256.
using Edge = std::uint32_t;
constexpr std::size_t EDGE_BYTES = 3;
constexpr std::size_t EDGE_MOVES = std::size_t{1} << 14;

constexpr std::uint32_t pack_prior(float p) {
    constexpr std::uint32_t lowest = 111U << 23;  // the bits of 2^-16
    const auto bits = std::bit_cast<std::uint32_t>(p);
    if (!(p > 0.0F) || bits < lowest) return 0;
    return std::min((bits - lowest + (1U << 16)) >> 17, 1023U);
}
constexpr float unpack_prior(std::uint32_t packed) { return std::bit_cast<float>((packed << 17) + (111U << 23)); }

constexpr Edge make_edge_of(std::uint32_t prior_bits, Move m) {
    const std::uint32_t squares = static_cast<std::uint32_t>(m.from() * SQUARES + m.to());
    return (prior_bits << 14) | (squares << 1) | (m.is_promotion() ? 1U : 0U);
}
constexpr Edge make_edge(float prior, Move m) { return make_edge_of(pack_prior(prior), m); }
constexpr std::uint32_t edge_move_bits(Edge e) { return e & (EDGE_MOVES - 1); }
constexpr Move edge_move(Edge e) {
    const std::uint32_t squares = edge_move_bits(e) >> 1;
    return Move::normal(static_cast<Square>(squares / SQUARES), static_cast<Square>(squares % SQUARES), (e & 1) != 0);
}
constexpr std::uint32_t edge_prior_bits(Edge e) { return e >> 14; }
constexpr Edge with_prior(Edge e, float prior) { return (pack_prior(prior) << 14) | edge_move_bits(e); }
constexpr float edge_prior(Edge e) { return unpack_prior(edge_prior_bits(e)); }

static_assert(std::endian::native == std::endian::little, "edges are read as words");

// The head of a block of edges where values are corrected: what the network said of the position (correction.hpp).
struct Judgement {
    std::uint16_t value = 0;      // for the side that moved into it; 65535: a win
    std::uint16_t corrected = 0;  // what the first visit counted
    std::uint16_t kind = 0;
};
constexpr std::uint16_t packed_value(double value) { return static_cast<std::uint16_t>(value * 65535.0 + 0.5); }
constexpr double unpacked_value(std::uint16_t packed) { return packed / 65535.0; }

// Edges as they lie in memory. The byte before the first one can be read too: it belongs to what the block begins with.
class EdgeSpan {
  public:
    EdgeSpan(std::uint8_t* bytes, std::size_t size) : bytes_(bytes), size_(size) {}
    std::size_t size() const { return size_; }
    Edge operator[](std::size_t i) const {
        std::uint32_t word;
        std::memcpy(&word, bytes_ + i * EDGE_BYTES - 1, sizeof word);
        return word >> 8;
    }
    void set(std::size_t i, Edge e) {
        std::uint8_t* p = bytes_ + i * EDGE_BYTES;
        p[0] = static_cast<std::uint8_t>(e);
        p[1] = static_cast<std::uint8_t>(e >> 8);
        p[2] = static_cast<std::uint8_t>(e >> 16);
    }

  private:
    std::uint8_t* bytes_;
    std::size_t size_;
};

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
