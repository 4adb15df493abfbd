// The parameters of the search. The defaults are dlshogi's, so that a network tuned for it plays alike.
#pragma once

#include <cstdint>

#include "shogi/types.hpp"

namespace fukayomi {

struct SearchParams {
    // score = Q + c * P * sqrt(N) / (1 + n), with c = ln((N + c_base + 1) / c_base) + c_init.
    float c_init = 1.44F;
    float c_base = 28288.0F;
    // Q of an unvisited move = max(0, Q of the node - fpu_reduction * sqrt(sum of the visited moves' priors)).
    float fpu_reduction = 0.27F;
    float c_init_root = 1.16F;
    float c_base_root = 25617.0F;
    float fpu_reduction_root = 0.0F;
    float softmax_temperature = 1.74F;
    // The value of a draw for each side, 0 to 1. They need not add up to 1: each side chooses by its own.
    float draw_value_black = 0.5F;
    float draw_value_white = 0.5F;
    int draw_ply = 0;  // a game is drawn once this many moves have been played; 0: never
    DeclarationRule declaration_rule = DeclarationRule::POINTS_27;
    bool mate_in_one = true;  // look for a mate in one at every new leaf
    // Dirichlet noise in the root's priors (root_policy.hpp): its share, 0 for none, and its concentration. AlphaZero has
    // 0.25 and, for shogi, 0.15.
    float root_noise_epsilon = 0.0F;
    float root_noise_alpha = 0.15F;
    std::uint64_t seed = 0;  // of the noise

    void validate() const;  // throws std::invalid_argument, which names the parameter and its value
};

}  // namespace fukayomi
