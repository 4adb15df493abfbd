#include "search/policy_history.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "search/exponential.hpp"

namespace fukayomi {

namespace {

constexpr float NEWEST = 0.03F;  // the share of the last visit in a mean gain

}  // namespace

PolicyHistory::PolicyHistory(float weight) : weight_(weight), gains_(weight > 0.0F ? 2 * EDGE_MOVES : 0) {}

void PolicyHistory::clear() {
    for (std::atomic<float>& gain : gains_) gain.store(0.0F, std::memory_order_relaxed);
}

void PolicyHistory::enter(Color side, Move move, float gain) {
    std::atomic<float>& mean = gains_[at(side, edge_move_bits(make_edge_of(0, move)))];
    const float before = mean.load(std::memory_order_relaxed);
    mean.store(before + NEWEST * (gain - before), std::memory_order_relaxed);
}

void PolicyHistory::change(Color side, std::span<Edge> edges) const {
    if (!is_on() || edges.empty()) return;
    std::array<float, MAX_MOVES> weights;
    float highest = -weight_;
    for (std::size_t i = 0; i < edges.size(); ++i) {
        weights[i] = weight_ * gains_[at(side, edge_move_bits(edges[i]))].load(std::memory_order_relaxed);
        highest = std::max(highest, weights[i]);
    }
    float sum = 0.0F;
    for (std::size_t i = 0; i < edges.size(); ++i) {
        weights[i] = edge_prior(edges[i]) * exp_negative(weights[i] - highest);
        sum += weights[i];
    }
    for (std::size_t i = 0; i < edges.size(); ++i) edges[i] = with_prior(edges[i], weights[i] / sum);
}

}  // namespace fukayomi
