// From a network's logits to a node's edges.
#pragma once

#include <span>

#include "search/node.hpp"
#include "shogi/types.hpp"

namespace fukayomi {

// Softmax of logits[i] / temperature over the moves, packed. False if a logit is not finite.
bool make_edges(const MoveList& moves, const float* logits, float temperature, std::span<Edge> edges);

}  // namespace fukayomi
