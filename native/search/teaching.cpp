#include "search/teaching.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace fukayomi {

namespace {

// Proofs count more than visits: a win is the only move to play, and moves that lose are none.
void heed_proofs(const Tree& tree, std::span<const std::size_t> slots, std::vector<double>& weights) {
    const Proof result = tree[tree.root()].proof;
    const Child* entries = tree.children(tree.root()).begin();
    if (result == Proof::WIN) {
        const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
        std::fill(weights.begin(), weights.end(), 0.0);
        weights[slots.front()] = all;
    } else if (result != Proof::LOSS) {
        for (const std::size_t slot : slots)
            if (tree[entries[slot].node].proof == Proof::WIN) weights[slot] = 0.0;
    }
}

}  // namespace

std::vector<TaughtMove> taught_moves(const Tree& tree, RootPolicy& policy, std::span<const std::size_t> slots, double temperature,
                                     Edge mate) {
    std::vector<double> weights = policy.weights(tree, slots);
    heed_proofs(tree, slots, weights);
    const double highest = *std::max_element(weights.begin(), weights.end());
    const double scale = highest > MOST_WEIGHT ? MOST_WEIGHT / highest : 1.0;
    for (double& each : weights) each = std::round(scale * each);
    double& played = weights[slots.front()];
    played = std::max(played, 1.0);
    std::vector<TaughtMove> taught;
    const EdgeSpan edges = tree.edges(tree.root());
    std::vector<double> priors;
    for (std::size_t i = 0; i < edges.size(); ++i) {
        const bool is_mate = edge_move_bits(edges[i]) == edge_move_bits(mate);
        priors.push_back(std::pow(edge_prior(is_mate ? mate : edges[i]), temperature));
    }
    const double all = std::accumulate(priors.begin(), priors.end(), 0.0);
    for (std::size_t i = 0; i < edges.size(); ++i)
        if (weights[i] > 0.0) taught.push_back({edge_move(edges[i]), static_cast<std::uint16_t>(weights[i]), priors[i] / all});
    const Move first = edge_move(edges[slots.front()]);
    std::sort(taught.begin(), taught.end(), [&](const TaughtMove& a, const TaughtMove& b) {
        const auto key = [&](const TaughtMove& each) { return std::tuple(each.move == first, each.weight, each.move.raw()); };
        return key(a) > key(b);
    });
    return taught;
}

}  // namespace fukayomi
