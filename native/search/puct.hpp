// PUCT: which move of a node a visit takes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "search/node.hpp"
#include "search/params.hpp"
#include "search/spread.hpp"
#include "search/tree.hpp"

namespace fukayomi {

// The constants of the formula, at the root or below it.
struct Puct {
    float c_init;
    float c_base;
    Fpu first_play;
    float fpu_reduction;
    bool has_visit_mass;
    float exponent;
    float variance;  // SearchParams::c_variance
    float stdev;
    bool is_plain = exponent == 0.5F && variance == 0.0F;  // the square root, and no variance

    static Puct at_root(const SearchParams& p) {
        return {p.c_init_root, p.c_base_root, p.fpu_root, p.fpu_reduction_root, p.fpu_visit_mass, p.c_exponent, p.c_variance, p.c_stdev};
    }
    static Puct below_root(const SearchParams& p) {
        return {p.c_init, p.c_base, p.fpu, p.fpu_reduction, p.fpu_visit_mass, p.c_exponent, p.c_variance, p.c_stdev};
    }

    // c * sqrt(N), with c = ln((N + c_base + 1) / c_base) + c_init. The logarithm is taken in double and then rounded, so
    // that it is the same with every platform's library. `visits`: N, those that the children of the node have shared so far,
    // including those in flight.
    //
    // Where the values below a node differ much, a move with few visits may yet turn out better, and where they are all alike
    // it hardly will; so c may grow with their spread: "dynamic variance-scaled cPUCT" of KataGo (docs/KataGoMethods.md).
    // There, too, it is 1 + 0.85 * (spread / stdev - 1) times as large, with a stdev that is 0.2 on our scale.
    float exploration(float visits, const Node& node) const {
        const auto log = static_cast<float>(std::log((static_cast<double>(visits) + c_base + 1.0) / c_base));
        const float c = log + c_init, n = std::max(visits, 1.0F);
        if (is_plain) [[likely]]
            return c * std::sqrt(n);
        return c * std::pow(n, exponent) * (1.0F + variance * (spread(node, stdev) / stdev - 1.0F));
    }
    // The value of a move without visits. `q`: the node's for the side to move. `mass`: sum of the priors of the moves with
    // visits (SearchParams::fpu_visit_mass).
    float fpu(float q, float mass) const {
        switch (first_play) {
            case Fpu::PARENT: break;
            case Fpu::HALF: return 0.5F;
            case Fpu::LOSS: return 0.0F;
            case Fpu::WIN: return 1.0F;
        }
        return std::max(0.0F, q - fpu_reduction * std::sqrt(mass));
    }
};

// The edge that a visit takes.
struct Choice {
    std::size_t edge;       // below the node's child_count: that child; else an edge that has none yet
    float fpu;              // the value of an edge without a child
    bool is_noise = false;  // by noise alone: without it the visit had gone elsewhere
};
constexpr std::size_t NO_EDGE = SIZE_MAX;

// All untried moves have the same value, so only the one with the greatest prior can be the best of them.
struct Untried {
    std::size_t edge;
    float prior;  // -INFINITY if there is none
};

// `fpu`: the value of untried moves. `scale`: of the exploration. `prior(child, slot)`: a child's. Children for which `skips` is
// true are left out.
template <class Prior, class Skips>
Choice best_edge(std::span<const Child> children, Untried untried, float fpu, float scale, Prior&& prior, Skips&& skips) {
    Choice choice{untried.edge, fpu};
    float best = fpu + scale * untried.prior;
    const Child* child = children.data();
    for (std::size_t slot = 0, count = children.size(); slot < count; ++slot) {
        const float score = child[slot].q + scale * prior(child[slot], slot) / (1.0F + static_cast<float>(child[slot].visits));
        if (score > best && !skips(child[slot])) {
            best = score;
            choice.edge = slot;
        }
    }
    return choice;
}

// With `avoid_settled`, settled children are left out: at a node that is not settled itself, some move remains.
template <class Prior>
Choice best_edge(const Tree& tree, std::span<const Child> children, Untried untried, float fpu, float scale, Prior&& prior,
                 bool avoid_settled) {
    const auto skips_none = [](const Child&) { return false; };
    const auto skips_settled = [&tree](const Child& child) { return tree[child.node].is_settled != 0; };
    return avoid_settled ? best_edge(children, untried, fpu, scale, prior, skips_settled)
                         : best_edge(children, untried, fpu, scale, prior, skips_none);
}

// Sum of the children's priors, each times its visits.
template <class Prior>
float visit_mass(std::span<const Child> children, Prior&& prior) {
    float mass = 0.0F;
    for (std::size_t slot = 0; slot < children.size(); ++slot)
        mass += prior(children[slot], slot) * static_cast<float>(children[slot].visits);
    return mass;
}

// All visits of a node went to its children, except the first, which evaluated it, and the one under way.
inline float child_visits(const Child& entry) { return static_cast<float>(entry.visits - 2); }

// The edge that a visit of an expanded node takes, by the network's priors. `entry` is the node's own.
inline Choice select_by_puct(const Tree& tree, Index i, const Child& entry, const Puct& puct, bool avoid_settled) {
    const Node& node = tree[i];
    const float q = 1.0F - entry.q;
    if (node.children == NOWHERE) return {0, puct.fpu(q, 0.0F)};
    const Children& children = tree.children(i);
    const bool has_untried = node.child_count < node.edge_count;
    const Untried untried{node.child_count, has_untried ? edge_prior(children.next) : -INFINITY};
    const auto prior = [](const Child& child, std::size_t) { return child.prior; };
    const std::span<const Child> tried{children.begin(), node.child_count};
    float mass = children.visited_mass;
    if (puct.has_visit_mass) [[unlikely]]
        mass = visit_mass(tried, prior);
    const float scale = puct.exploration(child_visits(entry), node);
    return best_edge(tree, tried, untried, puct.fpu(q, mass), scale, prior, avoid_settled);
}

}  // namespace fukayomi
