// What a network learns from a search of the root.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/root_policy.hpp"

namespace fukayomi {

constexpr double MOST_WEIGHT = 65535.0;  // as hcpe3 counts visits

struct TaughtMove {
    Move move;
    std::uint16_t weight;
    double prior;  // the network's own, without a temperature
};

// Search::teaching. `slots`: of the moves of which something is known, in the order of choice; at least one. `temperature`:
// with which the tree's priors were made. `mate`: the edge of the root that a mate put first, with the network's prior; or 0.
std::vector<TaughtMove> taught_moves(const Tree& tree, RootPolicy& policy, std::span<const std::size_t> slots, double temperature,
                                     Edge mate);

}  // namespace fukayomi
