#include "search/root_policy.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "search/ranking.hpp"
#include "shogi/zobrist.hpp"

namespace fukayomi {

namespace {

// Random numbers that are the same on every platform, which those of <random>'s distributions are not.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    // In (0, 1).
    double uniform() {
        const std::uint64_t bits = mix64(state_ += 0x9E3779B97F4A7C15ULL) >> 12;
        return (static_cast<double>(bits) + 0.5) * 0x1p-52;
    }

    // N(0, 1), by Box and Muller.
    double normal() {
        const double radius = std::sqrt(-2.0 * std::log(uniform()));
        return radius * std::cos(2.0 * std::numbers::pi * uniform());
    }

    // Gamma(shape, 1): Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
    double gamma(double shape) {
        if (shape < 1.0) {
            const double lower = std::pow(uniform(), 1.0 / shape);
            return lower * gamma(shape + 1.0);
        }
        const double d = shape - 1.0 / 3.0;
        const double c = 1.0 / std::sqrt(9.0 * d);
        for (;;) {
            const double x = normal();
            const double root = 1.0 + c * x;
            if (root <= 0.0) continue;
            const double v = root * root * root;
            if (std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
        }
    }

private:
    std::uint64_t state_;
};

}  // namespace

bool RootPolicy::is_better(const Tree& tree, const Child& a, const Child& b) const {
    return ranks_above(tree[a.node], tree[b.node]);
}

NoisyPuctPolicy::NoisyPuctPolicy(const SearchParams& params)
    : puct_(Puct::at_root(params)), epsilon_(params.root_noise_epsilon), alpha_(params.root_noise_alpha),
      seed_(params.seed), priors_(EDGE_MOVES) {}

void NoisyPuctPolicy::begin(const Tree& tree, std::uint64_t key, std::optional<std::uint64_t>) {
    const EdgeSpan edges = tree.edges(tree.root());
    std::vector<double> noise(edges.size());
    double sum = 0.0;
    for (std::size_t i = 0; i < edges.size(); ++i) {
        Random random(mix64(seed_ + mix64(key + edge_move_bits(edges[i]))));
        noise[i] = random.gamma(alpha_);
        sum += noise[i];
    }
    const double even = 1.0 / static_cast<double>(edges.size());
    for (std::size_t i = 0; i < edges.size(); ++i) {
        const double share = sum > 0.0 ? noise[i] / sum : even;  // a tiny alpha may leave nothing but zeros
        priors_[edge_move_bits(edges[i])] = static_cast<float>((1.0 - epsilon_) * edge_prior(edges[i]) + epsilon_ * share);
    }
}

Choice NoisyPuctPolicy::select(const Tree& tree, const Child& entry, bool avoid_proven) const {
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
    return best_edge(tree, tried, untried, child_visits(entry), q, mass, puct_, prior_of_child, avoid_proven);
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
    if (params.root_noise_epsilon > 0.0F) return std::make_unique<NoisyPuctPolicy>(params);
    return std::make_unique<PuctPolicy>(params);
}

}  // namespace fukayomi
