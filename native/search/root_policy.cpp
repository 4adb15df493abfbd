#include "search/root_policy.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "search/random.hpp"
#include "shogi/zobrist.hpp"

namespace fukayomi {

namespace {

// A softmax with the root's temperature is one with the temperature below the root, raised to this power and normalised.
double power_of_root(const SearchParams& params) {
    const bool is_own = params.softmax_temperature_root > 0.0F;
    return is_own ? static_cast<double>(params.softmax_temperature) / params.softmax_temperature_root : 1.0;
}

}  // namespace

RootPolicy::RootPolicy(const SearchParams& params)
    : lower_bound_{params.lcb_stdevs, params.lcb_visits, params.c_stdev} {}

void RootPolicy::rank(const Tree& tree, std::span<const Child> children, std::vector<std::size_t>& slots) const {
    const auto node = [&](std::size_t slot) -> const Node& { return tree[children[slot].node]; };
    std::stable_sort(slots.begin(), slots.end(),
                     [&](std::size_t a, std::size_t b) { return ranks_above(node(a), node(b)); });
    if (lower_bound_.stdevs == 0.0F) return;
    // By visits the open moves stand together, and those with enough visits before the others.
    const auto first = std::find_if(slots.begin(), slots.end(), [&](auto slot) { return node(slot).proof == Proof::NONE; });
    if (first == slots.end()) return;
    const float enough = lower_bound_.share * static_cast<float>(node(*first).visits);
    const auto last = std::find_if(first, slots.end(), [&](auto slot) {
        return node(slot).proof != Proof::NONE || static_cast<float>(node(slot).visits) < enough;
    });
    std::stable_sort(first, last, [&](std::size_t a, std::size_t b) {
        return lower_bound_.of(node(a)) > lower_bound_.of(node(b));
    });
}

OwnPriorsPolicy::OwnPriorsPolicy(const SearchParams& params)
    : RootPolicy(params), puct_(Puct::at_root(params)), power_(power_of_root(params)), epsilon_(params.root_noise_epsilon),
      alpha_(params.root_noise_alpha), seed_(params.seed), priors_(EDGE_MOVES) {}

void OwnPriorsPolicy::begin(const Tree& tree, std::uint64_t key, std::optional<std::uint64_t>) {
    const EdgeSpan edges = tree.edges(tree.root());
    std::vector<double> policy(edges.size()), noise(edges.size());
    for (std::size_t i = 0; i < edges.size(); ++i) {
        policy[i] = edge_prior(edges[i]);
        if (power_ != 1.0) policy[i] = std::pow(policy[i], power_);
        Random random(mix64(seed_ + mix64(key + edge_move_bits(edges[i]))));
        noise[i] = epsilon_ > 0.0 ? random.gamma(alpha_) : 0.0;
    }
    const double policy_sum = power_ == 1.0 ? 1.0 : std::accumulate(policy.begin(), policy.end(), 0.0);
    const double noise_sum = std::accumulate(noise.begin(), noise.end(), 0.0);
    const double even = 1.0 / static_cast<double>(edges.size());
    for (std::size_t i = 0; i < edges.size(); ++i) {
        const double share = noise_sum > 0.0 ? noise[i] / noise_sum : even;  // a tiny alpha may leave nothing but zeros
        const double prior = (1.0 - epsilon_) * policy[i] / policy_sum + epsilon_ * share;
        priors_[edge_move_bits(edges[i])] = static_cast<float>(prior);
    }
}

Choice OwnPriorsPolicy::select(const Tree& tree, const Child& entry, bool avoid_proven) const {
    const Node& root = tree[tree.root()];
    const EdgeSpan edges = tree.edges(tree.root());
    const auto prior = [&](std::size_t i) { return priors_[edge_move_bits(edges[i])]; };
    Untried untried{root.child_count, -INFINITY};
    for (std::size_t i = root.child_count; i < edges.size(); ++i)
        if (prior(i) > untried.prior) untried = {i, prior(i)};
    const float q = 1.0F - entry.q;
    if (root.children == NOWHERE) return {untried.edge, puct_.fpu(q, 0.0F)};
    const auto prior_of_child = [&](const Child&, std::size_t i) { return prior(i); };
    const std::span<const Child> tried{tree.children(tree.root()).begin(), root.child_count};
    float mass = 0.0F;
    if (puct_.has_visit_mass)
        mass = visit_mass(tried, prior_of_child);
    else
        for (std::size_t i = 0; i < tried.size(); ++i) mass += prior(i);
    const float scale = puct_.exploration(child_visits(entry), root);
    return best_edge(tree, tried, untried, puct_.fpu(q, mass), scale, prior_of_child, avoid_proven);
}

Choice EvenPolicy::select(const Tree& tree, const Child& entry, bool avoid_proven) const {
    const Node& root = tree[tree.root()];
    const EdgeSpan edges = tree.edges(tree.root());
    const Child* entries = root.children != NOWHERE ? tree.children(tree.root()).begin() : nullptr;
    Choice choice{edges.size(), std::max(0.0F, 1.0F - entry.q)};
    std::uint32_t fewest = 0;
    for (std::size_t i = 0; i < edges.size(); ++i) {
        if (std::find(moves_.begin(), moves_.end(), edge_move(edges[i])) == moves_.end()) continue;
        const bool is_tried = i < root.child_count;
        if (is_tried && tree[entries[i].node].proof != Proof::NONE) continue;
        const std::uint32_t visits = is_tried ? entries[i].visits : 0;
        if (choice.edge < edges.size() && visits >= fewest) continue;
        choice.edge = i;
        fewest = visits;
    }
    return choice.edge < edges.size() ? choice : otherwise_.select(tree, entry, avoid_proven);
}

std::unique_ptr<RootPolicy> make_root_policy(const SearchParams& params) {
    if (params.root_noise_epsilon > 0.0F || power_of_root(params) != 1.0) return std::make_unique<OwnPriorsPolicy>(params);
    return std::make_unique<PuctPolicy>(params);
}

}  // namespace fukayomi
