// A game as it will be written: its moves with what was found, as one game of hcpe3.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shogi/position.hpp"
#include "shogi/types.hpp"

namespace fukayomi {

// A move of a position's policy target.
struct Candidate {
    Move move;
    std::uint16_t visits;
};

enum class GameReason : std::uint8_t {
    MATE,         // the record ends in checkmate
    RESIGNATION,  // the search saw the result, or an outside player gave up
    REPETITION,   // a position came back; drawn, or lost by perpetual check
    DECLARATION,
    MAX_PLIES,  // those of a game, or those of the whole record
};

struct FinishedGame {
    std::uint64_t index = 0;
    std::vector<std::uint8_t> data;  // hcpe3
    std::optional<Color> winner;
    GameReason reason = GameReason::MATE;
    std::vector<Move> moves;  // all, those of the opening included
    int opening_plies = 0;
    int random_plies = 0;        // moves drawn at random
    int searches = 0;            // moves that were searched for
    std::uint64_t playouts = 0;  // visits of all searches
    std::uint64_t evaluations = 0;
    // hcpe3: with SelfplayParams::keep_leaves in the order of their evaluation, with keep_nodes tree by tree, that of the last search
    // first: there a position that was in a tree before has most visits.
    std::vector<std::uint8_t> kept;
    std::vector<float> weights;         // of the positions with targets, in their order
    bool is_played_out = false;         // past the point where a side would have resigned
    bool is_wrong_resignation = false;  // that side did not lose
};

class GameRecord {
  public:
    explicit GameRecord(const Position& opening);

    // Without `taught` the position has no target. `surprise`: the divergence of the target from the network's policy.
    void add(Move move, int eval, std::span<const Candidate> taught = {}, float weight = 1.0F, double surprise = 0.0);
    std::size_t plies() const { return moves_.size(); }
    int last_eval() const { return evals_.empty() ? 0 : evals_.back(); }
    const std::vector<Move>& moves() const { return moves_; }
    // Of the positions with targets. `share` of it follows the surprise; the sum is that of the weights that were given.
    std::vector<float> weights(double share) const;
    std::vector<std::uint8_t> hcpe3(std::uint8_t result, std::uint8_t opponent) const;

  private:
    Board start_;
    std::vector<Move> moves_;
    std::vector<std::int16_t> evals_;
    std::vector<std::uint64_t> candidates_{0};
    std::vector<Candidate> taught_;
    std::vector<float> weights_;
    std::vector<double> surprises_;
};

// hcpe3's result with its flags.
std::uint8_t result_byte(std::optional<Color> winner, GameReason reason);

}  // namespace fukayomi
