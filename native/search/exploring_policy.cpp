#include "search/exploring_policy.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fukayomi {

ExploringPolicy::ExploringPolicy(const SearchParams& params)
    : RootPolicy(params), puct_(Puct::at_root(params)), power_(power_of_root(params)), epsilon_(params.root_noise_epsilon),
      alpha_(params.root_noise_alpha), visit_noise_(params.root_visit_noise), forced_(params.forced_playouts), seed_(params.seed) {}

void ExploringPolicy::begin(const Tree& tree, const RootPlan& plan) {
    explores_ = plan.explores;
    make_priors(tree, plan);
    // The same root again: what its visits were for is still known, and the noise goes on.
    const bool goes_on = tree.root() == root_ && tree[root_].child_count > 0;
    root_ = tree.root();
    if (goes_on) return;
    noise_visits_.clear();
    random_ = Random(mix64(seed_ + mix64(plan.key)));
    if (visit_noise_ > 0.0) calm_ = random_.failures(visit_noise_);
}

void ExploringPolicy::make_priors(const Tree& tree, const RootPlan& plan) {
    const EdgeSpan edges = tree.edges(tree.root());
    const double epsilon = explores_ ? epsilon_ : 0.0;
    rows_.clear();
    if (epsilon == 0.0 && power_ == 1.0) return;
    std::vector<double> policy(edges.size()), noise(edges.size());
    for (std::size_t i = 0; i < edges.size(); ++i) {
        policy[i] = edge_prior(edges[i]);
        if (power_ != 1.0) policy[i] = std::pow(policy[i], power_);
        noise[i] = epsilon > 0.0 ? random_of_move(seed_, plan.key, edges[i]).gamma(alpha_) : 0.0;
    }
    const double policy_sum = power_ == 1.0 ? 1.0 : std::accumulate(policy.begin(), policy.end(), 0.0);
    const double noise_sum = std::accumulate(noise.begin(), noise.end(), 0.0);
    const double even = 1.0 / static_cast<double>(edges.size());
    for (std::size_t i = 0; i < edges.size(); ++i) {
        const double share = noise_sum > 0.0 ? noise[i] / noise_sum : even;  // a tiny alpha may leave nothing but zeros
        const double prior = (1.0 - epsilon) * policy[i] / policy_sum + epsilon * share;
        rows_.push_back({edge_move_bits(edges[i]), static_cast<float>(prior)});
    }
}

Choice ExploringPolicy::select(const Tree& tree, const Child& entry, bool avoid_settled) {
    align(rows_, tree.edges(tree.root()));
    if (const auto slot = forced_slot(tree, entry)) return {*slot, 0.0F};
    const Choice plain = rows_.empty() ? select_by_puct(tree, tree.root(), entry, puct_, avoid_settled)
                                       : select_plain(tree, terms(tree, entry), avoid_settled);
    if (!explores_ || visit_noise_ == 0.0) return plain;
    const double moves = tree[tree.root()].edge_count;
    if (calm_ < moves) return select_noisy(tree, terms(tree, entry), avoid_settled, plain);
    calm_ -= moves;
    return plain;
}

float ExploringPolicy::prior(const Tree& tree, std::size_t edge) const {
    return rows_.empty() ? edge_prior(tree.edges(tree.root())[edge]) : rows_[edge].prior;
}

ExploringPolicy::Terms ExploringPolicy::terms(const Tree& tree, const Child& entry) const {
    const Node& root = tree[tree.root()];
    float mass = 0.0F;
    if (root.children != NOWHERE && puct_.has_visit_mass) {
        const auto its = [&](const Child&, std::size_t slot) { return prior(tree, slot); };
        mass = visit_mass({tree.children(tree.root()).begin(), root.child_count}, its);
    } else if (root.children != NOWHERE && rows_.empty()) {
        mass = tree.children(tree.root()).visited_mass;
    } else {
        for (std::size_t slot = 0; slot < root.child_count; ++slot) mass += prior(tree, slot);
    }
    return {puct_.fpu(1.0F - entry.q, mass), puct_.exploration(child_visits(entry), root)};
}

Choice ExploringPolicy::select_plain(const Tree& tree, const Terms& terms, bool avoid_settled) const {
    const Node& root = tree[tree.root()];
    Untried untried{root.child_count, -INFINITY};
    for (std::size_t i = root.child_count; i < rows_.size(); ++i)
        if (rows_[i].prior > untried.prior) untried = {i, rows_[i].prior};
    if (root.children == NOWHERE) return {untried.edge, terms.fpu};
    const std::span<const Child> tried{tree.children(tree.root()).begin(), root.child_count};
    const auto prior = [&](const Child&, std::size_t slot) { return rows_[slot].prior; };
    return best_edge(tree, tried, untried, terms.fpu, terms.scale, prior, avoid_settled);
}

// Instead of drawing a number for each move, draws how many moves have no noise before the next one that has. A move that
// wins by its noise is another one than without: a greater prior of the plain choice changes nothing.
Choice ExploringPolicy::select_noisy(const Tree& tree, const Terms& terms, bool avoid_settled, Choice plain) {
    const Node& root = tree[tree.root()];
    const Child* entries = root.children != NOWHERE ? tree.children(tree.root()).begin() : nullptr;
    const auto score = [&](std::size_t edge, float its) {
        if (edge >= root.child_count) return terms.fpu + terms.scale * its;
        return entries[edge].q + terms.scale * its / (1.0F + static_cast<float>(entries[edge].visits));
    };
    const auto with_noise = [&](std::size_t edge) { return (prior(tree, edge) + 1.0F) / 2.0F; };
    std::optional<std::size_t> best;
    float highest = score(plain.edge, prior(tree, plain.edge));
    const double end = root.edge_count;
    for (; calm_ < end; calm_ += 1.0 + random_.failures(visit_noise_)) {
        const auto edge = static_cast<std::size_t>(calm_);
        const float its = score(edge, with_noise(edge));
        if (its <= highest) continue;
        if (edge != plain.edge && avoid_settled && edge < root.child_count && tree[entries[edge].node].is_settled) continue;
        best = edge;
        highest = its;
    }
    calm_ -= end;
    if (!best || *best == plain.edge) return plain;
    return {*best, terms.fpu, true};
}

float ExploringPolicy::forced_visits(float prior, float visits) const { return explores_ ? std::sqrt(forced_ * prior * visits) : 0.0F; }

std::optional<std::size_t> ExploringPolicy::forced_slot(const Tree& tree, const Child& entry) const {
    const Node& root = tree[tree.root()];
    if (forced_ == 0.0F || root.children == NOWHERE) return std::nullopt;
    const Child* entries = tree.children(tree.root()).begin();
    for (std::size_t slot = 0; slot < root.child_count; ++slot) {
        const Child& child = entries[slot];
        if (child.visits == 0 || tree[child.node].proof != Proof::NONE) continue;
        if (static_cast<float>(child.visits) < forced_visits(prior(tree, slot), child_visits(entry))) return slot;
    }
    return std::nullopt;
}

void ExploringPolicy::count_noise(Move move) {
    for (NoiseVisits& each : noise_visits_)
        if (each.move == move) {
            ++each.visits;
            return;
        }
    noise_visits_.push_back({move, 1});
}

std::uint32_t ExploringPolicy::visits_of(const Node& child) const {
    for (const NoiseVisits& each : noise_visits_)
        if (each.move == Move(child.move)) return child.visits - std::min(child.visits, each.visits);
    return child.visits;
}

// Takes visits off all moves but the best one: as many as were forced, as long as PUCT still prefers the best move, as the
// search left it. Moves that keep a single visit lose it too.
std::vector<double> ExploringPolicy::weights(const Tree& tree, std::span<const std::size_t> slots) {
    std::vector<double> found = RootPolicy::weights(tree, slots);
    const Node& root = tree[tree.root()];
    if (forced_ == 0.0F || !explores_ || root.proof != Proof::NONE) return found;
    align(rows_, tree.edges(tree.root()));
    const Child* entries = tree.children(tree.root()).begin();
    const auto all = static_cast<float>(root.visits - 1);
    const float scale = puct_.exploration(all, root);
    const auto score = [&](std::size_t slot, double visits) {
        return entries[slot].q + scale * prior(tree, slot) / (1.0F + static_cast<float>(visits));
    };
    const float highest = score(slots.front(), found[slots.front()]);
    for (const std::size_t slot : slots.subspan(1)) {
        double most = std::ceil(forced_visits(prior(tree, slot), all));
        for (; most > 0.0 && found[slot] > 0.0 && score(slot, found[slot] - 1.0) < highest; --most) --found[slot];
        if (found[slot] <= 1.0) found[slot] = 0.0;
    }
    return found;
}

}  // namespace fukayomi
