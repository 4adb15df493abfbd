// PUCT at the root for games against itself.
#pragma once

#include "search/root_policy.hpp"

namespace fukayomi {

// PUCT over priors of its own, while the tree keeps the network's. Each of these may be left out:
//
//   - another temperature than below the root
//   - Dirichlet noise: (1 - epsilon) P + epsilon Dir(alpha). (Silver et al., "A general reinforcement learning algorithm that
//     masters chess, shogi, and Go through self-play", Science 362, 2018.) The same in each visit of a position.
//   - noise by visit, dlshogi's: in each visit a move's prior becomes (P + 1) / 2 with some chance. Visits that would have
//     gone elsewhere without it count neither for the choice of the move nor for what is taught.
//   - forced playouts: a move that has visits gets at least sqrt(k P N) of them. What they and the noise brought that PUCT
//     would not have, is taken off what is taught. (Wu, "Accelerating self-play learning in Go", 2019, section 3.2.)
class ExploringPolicy final : public RootPolicy {
  public:
    explicit ExploringPolicy(const SearchParams& params);
    void begin(const Tree& tree, const RootPlan& plan) override;
    Choice select(const Tree& tree, const Child& entry, bool avoid_settled) override;
    void count_noise(Move move) override;
    std::vector<double> weights(const Tree& tree, std::span<const std::size_t> slots) override;
    std::uint32_t visits_of(const Node& child) const override;

  private:
    struct Row {
        std::uint32_t move;
        float prior;
    };
    struct NoiseVisits {
        Move move;
        std::uint32_t visits;
    };
    // What all moves of the root have in common in a visit.
    struct Terms {
        float fpu;    // value of moves without a child
        float scale;  // of the exploration
    };

    void make_priors(const Tree& tree, const RootPlan& plan);
    Terms terms(const Tree& tree, const Child& entry) const;
    Choice select_plain(const Tree& tree, const Terms& terms, bool avoid_settled) const;
    Choice select_noisy(const Tree& tree, const Terms& terms, bool avoid_settled, Choice plain);
    float prior(const Tree& tree, std::size_t edge) const;
    float forced_visits(float prior, float visits) const;
    std::optional<std::size_t> forced_slot(const Tree& tree, const Child& entry) const;

    Puct puct_;
    double power_;  // of the network's priors: they were made with the temperature below the root
    double epsilon_;
    double alpha_;
    double visit_noise_;  // chance of each move in each visit
    float forced_;        // k
    std::uint64_t seed_;

    bool explores_ = true;
    Index root_ = NOWHERE;
    std::vector<Row> rows_;  // in the order of the root's edges; empty if the priors are the network's
    std::vector<NoiseVisits> noise_visits_;
    Random random_{0};
    double calm_ = 0.0;  // moves before the next one with noise
};

}  // namespace fukayomi
