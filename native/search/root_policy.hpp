// How the visits of the root are shared out among its moves, which of them is the best in the end, and what a network learns
// from that. Below the root the rule is always PUCT.
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
#include "search/random.hpp"
#include "search/ranking.hpp"
#include "search/tree.hpp"

namespace fukayomi {

// What a search is about to do.
struct RootPlan {
    std::uint64_t key = 0;  // of the root's position
    // Leaves that the search may still evaluate, unless it is stopped before; none if that is not known.
    std::optional<std::uint64_t> nodes;
    bool explores = true;  // false: nothing is left to chance, and no visit is spent on anything but the best move
};

// A search has one, and calls it with its lock held.
class RootPolicy {
  public:
    explicit RootPolicy(const SearchParams& params);
    virtual ~RootPolicy() = default;
    // The root now has edges: it was evaluated, or it is the root of a tree that was kept. All functions below come after it.
    virtual void begin(const Tree&, const RootPlan&) {}
    // The edge that a visit takes. `entry`: the root's own. `avoid_settled`: leave out children with a proof. NO_EDGE if that
    // depends on results of visits in flight; there are some then.
    virtual Choice select(const Tree& tree, const Child& entry, bool avoid_settled) = 0;
    // A visit whose choice said is_noise has come to its end.
    virtual void count_noise(Move) {}
    // Puts the slots of children, all with visits or a proof, in the order of choice. Here by proof, then by the lower bound of
    // their value if SearchParams::lcb_stdevs asks for that, then by visits. A rule with another order for open moves leaves
    // to this one the moves with a proof.
    virtual void rank(const Tree& tree, std::span<const Child> children, std::vector<std::size_t>& slots);
    // How much each edge should be played, for a network to learn from; any scale. Here the visits. `slots`: those of the
    // moves of which something is known, in the order of choice; at least one.
    virtual std::vector<double> weights(const Tree& tree, std::span<const std::size_t> slots);
    // The visits of a child of the root by which it is judged.
    virtual std::uint32_t visits_of(const Node& child) const { return child.visits; }

  private:
    LowerBound lower_bound_;
};

// PUCT with the root's constants.
class PuctPolicy final : public RootPolicy {
  public:
    explicit PuctPolicy(const SearchParams& params) : RootPolicy(params), puct_(Puct::at_root(params)) {}
    Choice select(const Tree& tree, const Child& entry, bool avoid_settled) override {
        return select_by_puct(tree, tree.root(), entry, puct_, avoid_settled);
    }

  private:
    Puct puct_;
};

// Gives all visits to some of the moves, to each the same number: for comparing them. Where all of them are proven, it is up to
// the other policy again.
class EvenPolicy final : public RootPolicy {
  public:
    EvenPolicy(std::span<const Move> moves, RootPolicy& otherwise)
        : RootPolicy(otherwise), moves_(moves.begin(), moves.end()), otherwise_(otherwise) {}
    Choice select(const Tree& tree, const Child& entry, bool avoid_settled) override;

  private:
    std::vector<Move> moves_;
    RootPolicy& otherwise_;
};

std::unique_ptr<RootPolicy> make_root_policy(const SearchParams& params);

// What the policies share.

// A softmax with the root's temperature is one with the temperature below the root, raised to this power and normalised.
double power_of_root(const SearchParams& params);

// Random numbers of a move of the root that depend on the seed, the position and the move alone.
Random random_of_move(std::uint64_t seed, std::uint64_t key, Edge edge);

// Puts the rows that a policy keeps of the root's moves in the order of the root's edges, which changes as moves get
// children. `Row::move` are the edge_move_bits.
template <class Row>
void align(std::vector<Row>& rows, EdgeSpan edges) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::uint32_t move = edge_move_bits(edges[i]);
        for (std::size_t k = i; rows[i].move != move;) std::swap(rows[i], rows.at(++k));
    }
}

}  // namespace fukayomi
