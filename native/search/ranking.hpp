// Which move of a node is the best, as far as the search knows.
#pragma once

#include <cstdint>
#include <tuple>

#include "search/node.hpp"
#include "search/spread.hpp"

namespace fukayomi {

// Whether there is anything to rank a move by. (One that was proven from outside may have no visits.)
inline bool is_known(const Node& child) { return child.visits > 0 || child.proof != Proof::NONE; }

// Ranks a known move for the side that moves, greater is better. A win is better the shorter it is, a loss the longer;
// open moves are compared by visits, then by value.
// `visits`: those by which it is judged.
inline std::tuple<int, std::int64_t, double> rank_of_child(const Node& child, std::uint32_t visits) {
    const double q = child.visits > 0 ? child.value_sum / child.visits : 0.0;
    if (child.proof == Proof::LOSS) return {1, -std::int64_t{child.distance}, q};
    if (child.proof == Proof::WIN) return {-1, child.distance, q};
    return {0, visits, q};
}

// The lower confidence bound of a move's value: what it is worth at least, most likely. (Leela Zero, pull request 2290; KataGo.)
struct LowerBound {
    float stdevs;  // standard errors below the mean; 0: no bounds
    float share;   // moves with fewer visits than this share of the most visits rank behind
    float stdev;   // expected deviation of values

    double of(const Node& child) const { return child.value_sum / child.visits - stdevs * standard_error(child, stdev); }
};

inline bool ranks_above(const Node& a, const Node& b) { return rank_of_child(a, a.visits) > rank_of_child(b, b.visits); }

}  // namespace fukayomi
