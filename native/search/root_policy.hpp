// How the visits of the root are shared out among its moves, and which of them is the best in the end. Below the root the rule
// is always PUCT.
//
// To add a rule: derive from RootPolicy, and let make_root_policy return it for the parameters that ask for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "search/params.hpp"
#include "search/puct.hpp"
#include "search/ranking.hpp"
#include "search/tree.hpp"

namespace fukayomi {

// A search has one, and calls it with its lock held.
class RootPolicy {
public:
    explicit RootPolicy(const SearchParams& params);
    virtual ~RootPolicy() = default;
    // The root now has edges: it was evaluated, or it is the root of a tree that was kept. `key` is its position's. `nodes`:
    // leaves that this search may still evaluate, unless it is stopped before; none if that is not known.
    virtual void begin(const Tree&, std::uint64_t /*key*/, std::optional<std::uint64_t> /*nodes*/) {}
    // The edge that a visit takes. `entry`: the root's own. `avoid_proven`: leave out children with a proof.
    virtual Choice select(const Tree& tree, const Child& entry, bool avoid_proven) const = 0;
    // Puts the slots of children, all with visits or a proof, in the order of choice. Here by proof, then by the lower bound of
    // their value if SearchParams::lcb_stdevs asks for that, then by visits. A rule with another order for open moves leaves
    // to this one the moves with a proof.
    virtual void rank(const Tree& tree, std::span<const Child> children, std::vector<std::size_t>& slots) const;

private:
    LowerBound lower_bound_;
};

// PUCT with the root's constants.
class PuctPolicy final : public RootPolicy {
public:
    explicit PuctPolicy(const SearchParams& params) : RootPolicy(params), puct_(Puct::at_root(params)) {}
    Choice select(const Tree& tree, const Child& entry, bool avoid_proven) const override {
        return select_by_puct(tree, tree.root(), entry, puct_, avoid_proven);
    }

private:
    Puct puct_;
};

// PUCT over priors of its own, while the tree keeps the network's: with another temperature than below the root, and with
// Dirichlet noise, (1 - epsilon) P + epsilon Dir(alpha), for games against itself (Silver et al., "A general reinforcement
// learning algorithm that masters chess, shogi, and Go through self-play", Science 362, 2018). The noise depends on the
// seed, the position and the move alone.
class OwnPriorsPolicy final : public RootPolicy {
public:
    explicit OwnPriorsPolicy(const SearchParams& params);
    void begin(const Tree& tree, std::uint64_t key, std::optional<std::uint64_t> nodes) override;
    Choice select(const Tree& tree, const Child& entry, bool avoid_proven) const override;

private:
    Puct puct_;
    double power_;  // of the network's priors: they were made with the temperature below the root
    double epsilon_;
    double alpha_;
    std::uint64_t seed_;
    std::vector<float> priors_;  // by edge_move_bits; those of the root's moves are set
};

// Gives all visits to some of the moves, to each the same number: for comparing them. Where all of them are proven, it is up to
// the other policy again.
class EvenPolicy final : public RootPolicy {
public:
    EvenPolicy(std::span<const Move> moves, const RootPolicy& otherwise)
        : RootPolicy(otherwise), moves_(moves.begin(), moves.end()), otherwise_(otherwise) {}
    Choice select(const Tree& tree, const Child& entry, bool avoid_proven) const override;

private:
    std::vector<Move> moves_;
    const RootPolicy& otherwise_;
};

std::unique_ptr<RootPolicy> make_root_policy(const SearchParams& params);

}  // namespace fukayomi
