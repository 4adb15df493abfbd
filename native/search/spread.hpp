// How much the values below a node differ, and how well its mean is known by that.
#pragma once

#include <cmath>

#include "search/node.hpp"

namespace fukayomi {

// As many values with the expected deviation are mixed in, so that a node with few visits has about that. (KataGo's number.)
constexpr float SPREAD_PRIOR_VISITS = 2.0F;

// The standard deviation of the values of a node with visits; at most 0.5, as values lie between 0 and 1.
inline float spread(const Node& node, float expected) {
    const auto visits = static_cast<float>(node.visits);
    const float sum = SPREAD_PRIOR_VISITS * expected * expected + visits * node.variance;
    return std::sqrt(sum / (SPREAD_PRIOR_VISITS + visits - 1.0F));
}

// The standard error of the node's mean, as if its visits were independent.
inline float standard_error(const Node& node, float expected) {
    return spread(node, expected) / std::sqrt(static_cast<float>(node.visits));
}

}  // namespace fukayomi
