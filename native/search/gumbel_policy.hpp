// Gumbel AlphaZero's root: moves are sampled, and sequential halving finds the best of them. (Danihelka, Guez, Schrittwieser,
// Silver, "Policy improvement by planning with Gumbel", ICLR 2022.)
#pragma once

#include "search/root_policy.hpp"

namespace fukayomi {

// The moves with the greatest g + logit are considered, where g is drawn from the Gumbel distribution: a sample of the
// policy without replacement. In each phase they get the same number of visits, and after it the better half of them by
// g + logit + sigma(q) goes on, so that the last two are left when the planned visits are spent; if the search goes on, so do
// they. The move to play is the best of those left. With
//
//   logit     ln P, with the root's temperature
//   sigma(q)  (c_visit + most visits of a move) * c_scale * (2 q - 1), since the paper's values lie between -1 and 1
//   q         of a move without visits: the mixed value, (V + N / P' * sum of P q) / (1 + N), where V is the network's value
//             of the root, N the number of visits, and P' the prior of all moves that have some
//
// and what is taught is the improved policy, softmax(logit + sigma(q)) of all moves.
//
// The number of visits in a phase is that of mctx: visits / (log2(moves) * moves left), at least 1. With as many moves as
// visits, as the paper allows, each has a single one, which says little of a move in shogi: gumbel_visits limits the moves. The paper's deterministic
// choice below the root is left out: the rule there is PUCT.
//
// What the paper has not: visits of a tree that was kept count for q, while the phases add theirs. Moves that are proven to
// lose drop out, and drawn ones need no visits; if only they are left, others are considered. No move has two visits in
// flight, and no phase begins before all results are in, so the search is the same for every batch size.
class GumbelPolicy final : public RootPolicy {
  public:
    explicit GumbelPolicy(const SearchParams& params);
    void begin(const Tree& tree, const RootPlan& plan) override;
    Choice select(const Tree& tree, const Child& entry, bool avoid_settled) override;
    void rank(const Tree& tree, std::span<const Child> children, std::vector<std::size_t>& slots) override;
    std::vector<double> weights(const Tree& tree, std::span<const std::size_t> slots) override;

  private:
    struct Row {
        std::uint32_t move;
        float logit;
        float gumbel;
        std::uint32_t place;   // in the phase, from 1 on, best first; 0: not considered
        std::uint32_t visits;  // when the phase began
    };

    void begin_phase(const Tree& tree);
    std::vector<double> scores(const Tree& tree) const;
    std::vector<double> improved_logits(const Tree& tree) const;

    double power_;  // of the network's priors
    std::size_t most_moves_;
    std::uint64_t least_visits_;  // for each of them
    double scale_;                // of the Gumbel variables
    double c_visit_;
    double c_scale_;
    std::uint64_t seed_;

    std::vector<Row> rows_;           // in the order of the root's edges
    std::uint64_t planned_ = 0;       // visits
    std::size_t halvings_ = 0;        // until one move is left
    std::size_t phase_moves_ = 0;     // at most, in the phase under way; 0: none has begun
    std::uint64_t phase_visits_ = 0;  // of each move
};

}  // namespace fukayomi
