// The parameters of the search. The defaults are dlshogi's, so that a network tuned for it plays alike, but for those whose
// change won a match (docs/strength.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "shogi/types.hpp"

namespace fukayomi {

// First-play urgency: the value Q of a move without visits. They are the choices that were compared for AlphaZero's shogi,
// Leela Chess Zero and dlshogi; the default is theirs of today.
enum class Fpu : std::uint8_t {
    PARENT,  // max(0, Q of the node - fpu_reduction * sqrt(sum of the visited moves' priors))
    HALF,    // 0.5
    LOSS,    // 0
    WIN,     // 1
};

// The rule that shares out the visits of the root.
enum class RootRule : std::uint8_t {
    PUCT,    // with noise and forced playouts, if they are asked for
    GUMBEL,  // sampled moves and sequential halving (gumbel_policy.hpp); noise and forced playouts are left out
};

constexpr std::uint32_t MAX_ROOT_MOVE_MATE_NODES = 32768;  // about 30 ms of a core, for which a batch waits

struct SearchParams {
    // score = Q + c * P * sqrt(N) / (1 + n), with c = ln((N + c_base + 1) / c_base) + c_init; N^c_exponent in place of the root
    // where that is not 0.5.
    float c_init = 1.44F;
    float c_base = 28288.0F;
    Fpu fpu = Fpu::PARENT;
    float fpu_reduction = 0.45F;
    float c_init_root = 1.16F;
    float c_base_root = 25617.0F;
    Fpu fpu_root = Fpu::PARENT;
    float fpu_reduction_root = 0.0F;
    // The sum of the visited moves' priors has a prior once for each visit, as dlshogi's has, not once for each move. So the
    // reduction grows until no unvisited move is worth anything.
    bool fpu_visit_mass = false;
    float c_exponent = 0.5F;
    // c grows with the spread of a node's values: it is multiplied by 1 + c_variance * (spread / c_stdev - 1). 0: it does not.
    // (puct.hpp has the formula and its source.)
    float c_variance = 0.0F;
    float c_stdev = 0.08F;  // the standard deviation that is expected, and that nodes with few visits have
    // The share of the mean error of positions of a kind by which the value of a new one is corrected (correction.hpp). 0: none.
    float value_correction = 0.0F;
    // The weight of what the search found out about moves in the priors of new positions (policy_history.hpp). 0: none.
    float policy_history = 0.0F;
    // A position with so many visits gets the priors of a second evaluator (reviewer.hpp), where a batch has one. 0: none does.
    int review_visits = 0;
    // The best move at the root is the one with the greatest lower confidence bound, Q - lcb_stdevs * (standard error of Q),
    // among those with at least lcb_visits of the most visits. 0: the most visited move.
    float lcb_stdevs = 0.0F;
    float lcb_visits = 0.15F;
    float softmax_temperature = 1.74F;
    float softmax_temperature_root = 0.0F;  // 0: the same
    // Of positions far below the root: each 4 plies halve the difference to it. 0: the same at every depth. Nodes of a tree that
    // is used again keep the priors that they have.
    float softmax_temperature_deep = 0.0F;
    // The value of a draw for each side, 0 to 1. They need not add up to 1: each side chooses by its own.
    float draw_value_black = 0.5F;
    float draw_value_white = 0.5F;
    int draw_ply = 0;  // a game is drawn once this many moves have been played; 0: never
    DeclarationRule declaration_rule = DeclarationRule::POINTS_27;
    int leaf_mate_plies = 3;  // the longest mate to look for at every new leaf, 0 to 3; 0: none
    int leaf_mate_nodes = 0;  // with leaf_mate_plies 3: positions to search for a longer one, by df-pn; 0: none
    // Positions to search by df-pn for a mate after a move of the root that is visited for the 16th, 64th, 256th, ... time, for
    // each of these visits, at most MAX_ROOT_MOVE_MATE_NODES; 0: none. What may be played must not be mated, and such mates are
    // longer than those that a look at each leaf finds.
    int root_move_mate_nodes = 0;
    RootRule root_rule = RootRule::PUCT;
    // Dirichlet noise in the root's priors (exploring_policy.hpp): its share, 0 for none, and its concentration. AlphaZero has
    // 0.25 and, for shogi, 0.15.
    float root_noise_epsilon = 0.0F;
    float root_noise_alpha = 0.15F;
    // The chance of each root move to have the prior (P + 1) / 2 in a visit; 0: no such noise. dlshogi has 0.003.
    float root_visit_noise = 0.0F;
    // Each root move with visits gets at least sqrt(forced_playouts * P * N) of N; 0: no such number. KataGo has 2.
    float forced_playouts = 0.0F;
    // With RootRule::GUMBEL: the number of root moves to sample, as long as there are at least gumbel_visits visits for each;
    // the scale of the Gumbel variables (0: the moves with the greatest priors), and the two constants of sigma. The paper has
    // one visit for each move, and for board games c_scale 1; docs/selfplay.md has what these are worth here.
    int gumbel_moves = 16;
    int gumbel_visits = 4;
    float gumbel_scale = 1.0F;
    float gumbel_c_visit = 50.0F;
    float gumbel_c_scale = 0.1F;
    std::uint64_t seed = 0;  // of the noise and of the Gumbel variables

    // Of a position so many moves below the root.
    float temperature_at(std::size_t depth) const;
    void validate() const;  // throws std::invalid_argument, which names the parameter and its value
};

}  // namespace fukayomi
