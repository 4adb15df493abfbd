// What a search finds out about moves, and what the policy of later positions gains by it.
//
// A move that was worth more than its position seemed to be in one part of the tree is often good in others: an answer to a threat that
// stands in all of them, say. So each side has a mean gain for every move, whatever the position, and a new position's priors are multiplied
// by e^(weight * gain). That is the history heuristic (Schaeffer 1983), as a part of the policy.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

#include "search/node.hpp"
#include "shogi/types.hpp"

namespace fukayomi {

class PolicyHistory {
  public:
    explicit PolicyHistory(float weight);  // in nats for a gain of 1, from a loss to a win; 0: the priors stay

    bool is_on() const { return weight_ > 0.0F; }
    void clear();
    std::size_t bytes() const { return gains_.size() * sizeof(gains_[0]); }

    // `gain`: what a visit was worth to the side that moved, less the mean of the position before the move. By one thread at a time.
    void enter(Color side, Move move, float gain);
    // New priors of a position's moves, which add up to 1. From any thread, at any time.
    void change(Color side, std::span<Edge> edges) const;

  private:
    std::size_t at(Color side, std::uint32_t move_bits) const { return static_cast<std::size_t>(side) * EDGE_MOVES + move_bits; }
    const float weight_;
    std::vector<std::atomic<float>> gains_;  // [2][EDGE_MOVES], or none; what is newer counts more
};

}  // namespace fukayomi
