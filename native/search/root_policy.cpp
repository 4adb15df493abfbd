#include "search/root_policy.hpp"

#include <algorithm>

#include "search/exploring_policy.hpp"
#include "search/gumbel_policy.hpp"

namespace fukayomi {

RootPolicy::RootPolicy(const SearchParams& params) : lower_bound_{params.lcb_stdevs, params.lcb_visits, params.c_stdev} {}

void RootPolicy::rank(const Tree& tree, std::span<const Child> children, std::vector<std::size_t>& slots) {
    const auto node = [&](std::size_t slot) -> const Node& { return tree[children[slot].node]; };
    const auto visits = [&](std::size_t slot) { return visits_of(node(slot)); };
    std::stable_sort(slots.begin(), slots.end(),
                     [&](std::size_t a, std::size_t b) { return rank_of_child(node(a), visits(a)) > rank_of_child(node(b), visits(b)); });
    if (lower_bound_.stdevs == 0.0F) return;
    // By visits the open moves stand together, and those with enough visits before the others.
    const auto first = std::find_if(slots.begin(), slots.end(), [&](auto slot) { return node(slot).proof == Proof::NONE; });
    if (first == slots.end()) return;
    const float enough = lower_bound_.share * static_cast<float>(visits(*first));
    const auto last = std::find_if(first, slots.end(),
                                   [&](auto slot) { return node(slot).proof != Proof::NONE || static_cast<float>(visits(slot)) < enough; });
    std::stable_sort(first, last, [&](std::size_t a, std::size_t b) { return lower_bound_.of(node(a)) > lower_bound_.of(node(b)); });
}

std::vector<double> RootPolicy::weights(const Tree& tree, std::span<const std::size_t> slots) {
    std::vector<double> found(tree.edges(tree.root()).size());
    const Child* entries = tree.children(tree.root()).begin();
    for (const std::size_t slot : slots) found[slot] = visits_of(tree[entries[slot].node]);
    return found;
}

Choice EvenPolicy::select(const Tree& tree, const Child& entry, bool avoid_settled) {
    const Node& root = tree[tree.root()];
    const EdgeSpan edges = tree.edges(tree.root());
    const Child* entries = root.children != NOWHERE ? tree.children(tree.root()).begin() : nullptr;
    Choice choice{edges.size(), std::max(0.0F, 1.0F - entry.q)};
    std::uint32_t fewest = 0;
    for (std::size_t i = 0; i < edges.size(); ++i) {
        if (std::find(moves_.begin(), moves_.end(), edge_move(edges[i])) == moves_.end()) continue;
        const bool is_tried = i < root.child_count;
        if (is_tried && tree[entries[i].node].is_settled) continue;
        const std::uint32_t visits = is_tried ? entries[i].visits : 0;
        if (choice.edge < edges.size() && visits >= fewest) continue;
        choice.edge = i;
        fewest = visits;
    }
    return choice.edge < edges.size() ? choice : otherwise_.select(tree, entry, avoid_settled);
}

double power_of_root(const SearchParams& params) {
    const bool is_own = params.softmax_temperature_root > 0.0F;
    return is_own ? static_cast<double>(params.softmax_temperature) / params.softmax_temperature_root : 1.0;
}

Random random_of_move(std::uint64_t seed, std::uint64_t key, Edge edge) { return Random(mix64(seed + mix64(key + edge_move_bits(edge)))); }

std::unique_ptr<RootPolicy> make_root_policy(const SearchParams& params) {
    if (params.root_rule == RootRule::GUMBEL) return std::make_unique<GumbelPolicy>(params);
    const bool is_noisy = params.root_noise_epsilon > 0.0F || params.root_visit_noise > 0.0F || params.forced_playouts > 0.0F;
    if (is_noisy || power_of_root(params) != 1.0) return std::make_unique<ExploringPolicy>(params);
    return std::make_unique<PuctPolicy>(params);
}

}  // namespace fukayomi
