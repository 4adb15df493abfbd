#include "search/gumbel_policy.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "search/teaching.hpp"

namespace fukayomi {

namespace {

constexpr std::uint64_t UNKNOWN_VISITS = 64;  // planned for where the caller names no number

// What the search knows of the root's moves, for the side to move.
class RootView {
  public:
    explicit RootView(const Tree& tree) : tree_(tree), root_(tree[tree.root()]) {
        if (root_.children != NOWHERE) entries_ = tree.children(tree.root()).begin();
    }

    std::size_t size() const { return root_.edge_count; }
    const Node* child(std::size_t edge) const { return edge < root_.child_count ? &tree_[entries_[edge].node] : nullptr; }
    std::uint32_t visits(std::size_t edge) const { return child(edge) ? child(edge)->visits : 0; }
    std::uint32_t in_flight(std::size_t edge) const { return child(edge) ? entries_[edge].visits - child(edge)->visits : 0; }
    bool is_open(std::size_t edge) const { return !child(edge) || !child(edge)->is_settled; }
    // Whether a move may be played: one that loses may only if all do.
    bool is_playable(std::size_t edge) const { return !child(edge) || child(edge)->proof != Proof::WIN || root_.proof == Proof::LOSS; }
    bool is_known(std::size_t edge) const { return child(edge) && fukayomi::is_known(*child(edge)); }
    // Of a known move.
    double q(std::size_t edge) const {
        const Node& node = *child(edge);
        switch (node.proof) {
            case Proof::NONE: return node.value_sum / node.visits;
            case Proof::LOSS: return 1.0;
            case Proof::WIN: return 0.0;
            case Proof::DRAW: break;
        }
        return entries_[edge].q;
    }
    // The network's value: the mean of the root's visits that no child accounts for. In a tree that was kept these are also
    // visits to children that were dropped for want of memory.
    double own_value() const {
        double visits = root_.visits, others = root_.value_sum;
        for (std::size_t slot = 0; slot < root_.child_count; ++slot) {
            const Node& node = *child(slot);
            visits -= node.visits;
            others -= node.visits - node.value_sum;
        }
        return std::clamp(1.0 - others / visits, 0.0, 1.0);
    }

  private:
    const Tree& tree_;
    const Node& root_;
    const Child* entries_ = nullptr;
};

void keep_highest(std::vector<std::size_t>& edges, const std::vector<double>& scores, std::size_t most) {
    std::stable_sort(edges.begin(), edges.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    edges.resize(std::min(edges.size(), most));
}

}  // namespace

GumbelPolicy::GumbelPolicy(const SearchParams& params)
    : RootPolicy(params), power_(power_of_root(params)), most_moves_(static_cast<std::size_t>(params.gumbel_moves)),
      least_visits_(static_cast<std::uint64_t>(params.gumbel_visits)), scale_(params.gumbel_scale), c_visit_(params.gumbel_c_visit),
      c_scale_(params.gumbel_c_scale), seed_(params.seed) {}

void GumbelPolicy::begin(const Tree& tree, const RootPlan& plan) {
    const EdgeSpan edges = tree.edges(tree.root());
    rows_.clear();
    for (std::size_t i = 0; i < edges.size(); ++i) {
        const double gumbel = plan.explores ? scale_ * random_of_move(seed_, plan.key, edges[i]).gumbel() : 0.0;
        const double logit = power_ * std::log(edge_prior(edges[i]));
        rows_.push_back({edge_move_bits(edges[i]), static_cast<float>(logit), static_cast<float>(gumbel), 0, 0});
    }
    planned_ = std::max<std::uint64_t>(plan.nodes.value_or(UNKNOWN_VISITS), 1);
    phase_moves_ = 0;
}

Choice GumbelPolicy::select(const Tree& tree, const Child& entry, bool) {
    align(rows_, tree.edges(tree.root()));
    const RootView view(tree);
    for (;;) {
        bool is_any_in_flight = false;
        const Row* best = nullptr;
        std::uint32_t fewest = 0;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            const Row& row = rows_[i];
            if (row.place == 0) continue;
            if (view.in_flight(i) > 0) {
                is_any_in_flight = true;
                continue;
            }
            const std::uint32_t visits = view.visits(i) - row.visits;
            if (!view.is_open(i) || visits >= phase_visits_) continue;
            if (best != nullptr && (visits > fewest || (visits == fewest && row.place > best->place))) continue;
            best = &row;
            fewest = visits;
        }
        if (best != nullptr) return {static_cast<std::size_t>(best - rows_.data()), std::max(0.0F, 1.0F - entry.q)};
        if (is_any_in_flight) return {NO_EDGE, 0.0F};
        begin_phase(tree);
    }
}

// Only while no result is missing.
void GumbelPolicy::begin_phase(const Tree& tree) {
    const RootView view(tree);
    const bool is_first = phase_moves_ == 0;
    std::vector<std::size_t> considered;
    for (std::size_t i = 0; i < rows_.size(); ++i)
        if (view.is_playable(i) && (is_first || rows_[i].place > 0)) considered.push_back(i);
    if (is_first) {
        const std::uint64_t affordable = std::min(planned_, std::max<std::uint64_t>(2, planned_ / least_visits_));
        phase_moves_ = std::min({most_moves_, considered.size(), static_cast<std::size_t>(affordable)});
        halvings_ = static_cast<std::size_t>(std::bit_width(std::max<std::size_t>(phase_moves_, 2) - 1));
    } else {
        phase_moves_ = std::max<std::size_t>(2, phase_moves_ / 2);
    }
    std::vector<double> sampled;
    for (const Row& row : rows_) sampled.push_back(static_cast<double>(row.gumbel) + row.logit);
    keep_highest(considered, is_first ? sampled : scores(tree), phase_moves_);
    if (std::none_of(considered.begin(), considered.end(), [&](std::size_t i) { return view.is_open(i); })) {
        std::vector<std::size_t> open;
        for (std::size_t i = 0; i < rows_.size(); ++i)
            if (view.is_open(i)) open.push_back(i);
        keep_highest(open, sampled, phase_moves_);
        considered.insert(considered.end(), open.begin(), open.end());
    }
    phase_visits_ = std::max<std::uint64_t>(1, planned_ / (halvings_ * considered.size()));
    for (Row& row : rows_) row.place = 0;
    for (std::size_t place = 0; place < considered.size(); ++place) {
        rows_[considered[place]].place = static_cast<std::uint32_t>(place + 1);
        rows_[considered[place]].visits = view.visits(considered[place]);
    }
}

// logit + sigma(q) of each edge; -INFINITY for moves that are not to be played.
std::vector<double> GumbelPolicy::improved_logits(const Tree& tree) const {
    const RootView view(tree);
    double visits = 0.0, most = 0.0, prior = 0.0, value = 0.0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (!view.is_playable(i) || !view.is_known(i)) continue;
        visits += view.visits(i);
        most = std::max<double>(most, view.visits(i));
        prior += std::exp(rows_[i].logit);
        value += std::exp(rows_[i].logit) * view.q(i);
    }
    const double own = view.own_value();
    const double mixed = prior > 0.0 ? (own + visits * value / prior) / (1.0 + visits) : own;
    std::vector<double> found(rows_.size(), -INFINITY);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (!view.is_playable(i)) continue;
        const double q = view.is_known(i) ? view.q(i) : mixed;
        found[i] = rows_[i].logit + (c_visit_ + most) * c_scale_ * (2.0 * q - 1.0);
    }
    return found;
}

std::vector<double> GumbelPolicy::scores(const Tree& tree) const {
    std::vector<double> found = improved_logits(tree);
    for (std::size_t i = 0; i < rows_.size(); ++i) found[i] += rows_[i].gumbel;
    return found;
}

void GumbelPolicy::rank(const Tree& tree, std::span<const Child> children, std::vector<std::size_t>& slots) {
    RootPolicy::rank(tree, children, slots);
    align(rows_, tree.edges(tree.root()));
    const auto proof = [&](std::size_t slot) { return tree[children[slot].node].proof; };
    const auto first = std::find_if(slots.begin(), slots.end(), [&](auto slot) { return proof(slot) != Proof::LOSS; });
    const auto last = std::find_if(first, slots.end(), [&](auto slot) { return proof(slot) == Proof::WIN; });
    const std::vector<double> score = scores(tree);
    const auto left = std::stable_partition(first, last, [&](std::size_t slot) { return rows_[slot].place > 0; });
    std::stable_sort(first, left, [&](std::size_t a, std::size_t b) { return score[a] > score[b]; });
}

std::vector<double> GumbelPolicy::weights(const Tree& tree, std::span<const std::size_t>) {
    align(rows_, tree.edges(tree.root()));
    std::vector<double> found = improved_logits(tree);
    const double highest = *std::max_element(found.begin(), found.end());
    for (double& each : found) each = std::exp(each - highest);
    const double all = std::accumulate(found.begin(), found.end(), 0.0);
    for (double& each : found) each *= MOST_WEIGHT / all;
    return found;
}

}  // namespace fukayomi
