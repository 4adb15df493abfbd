// Which move a visit takes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "search/node.hpp"
#include "search/params.hpp"

namespace fukayomi {

// The constants of the formula at the root or below it.
struct Puct {
    float c_init;
    float c_base;
    float fpu_reduction;

    static Puct at_root(const SearchParams& p) { return {p.c_init_root, p.c_base_root, p.fpu_reduction_root}; }
    static Puct below_root(const SearchParams& p) { return {p.c_init, p.c_base, p.fpu_reduction}; }

    // ln((N + c_base + 1) / c_base) + c_init
    // In double and then rounded, which leaves nothing to the taste of a platform's library.
    float c(float visits) const {
        return static_cast<float>(std::log((static_cast<double>(visits) + c_base + 1.0) / c_base)) + c_init;
    }
};

struct Choice {
    std::size_t slot;  // the number of children: the best edge without one
    float fpu;         // what an untried move counts as
};

// `visits` are those that the children have shared so far, those in flight included; `q` is the node's value for the side
// to move. All untried moves have the same value, so only the one with the greatest prior can be the best of them. Children
// of which `skips` says so are left out.
template <class Skips>
Choice choose(const Children& children, std::size_t child_count, bool has_untried, float visits, float q, const Puct& puct,
              Skips&& skips) {
    const float scale = puct.c(visits) * std::sqrt(std::max(visits, 1.0F));
    Choice choice{child_count, std::max(0.0F, q - puct.fpu_reduction * std::sqrt(children.visited_mass))};
    float best = has_untried ? choice.fpu + scale * edge_prior(children.next) : -INFINITY;
    const Child* child = children.begin();
    for (std::size_t slot = 0; slot < child_count; ++slot) {
        const float score = child[slot].q + scale * child[slot].prior / (1.0F + static_cast<float>(child[slot].visits));
        if (score > best && !skips(child[slot])) {
            best = score;
            choice.slot = slot;
        }
    }
    return choice;
}

}  // namespace fukayomi
