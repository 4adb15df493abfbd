// How games are played against itself. Names and defaults are dlshogi's where it has the option.
#pragma once

#include <cstdint>

#include "shogi/types.hpp"

namespace fukayomi {

// Plies count from a game's first searched move; those of its opening come before.
struct SelfplayParams {
    // A search gives the root's moves this many visits in all. It ends early if the best move can no longer be overtaken. It is
    // extended by half as many, at most twice, while the best move has fewer than `extension` times the visits of the second.
    int playouts = 800;
    bool early_stop = true;
    float extension = 1.2F;  // 0: no extension
    bool reuse = false;      // keep the subtree of the move played
    int leaves = 1;          // a game gives this many to a batch at most; none where the batch has less room left
    // The first `random` moves are drawn in proportion to visits^(1 / temperature) among the moves whose win rate is at most
    // `cutoff` below the best. Temperature and cutoff fall with each move of the same side.
    int random = 4;
    float random_temperature = 10.0F;
    float random_temperature_drop = 1.0F;
    float random_cutoff = 0.015F;
    float random_cutoff_drop = 0.001F;
    bool train_random = false;  // whether these positions, and those of `low_moves`, have targets
    // After them, where the best move has fewer than random2 times the visits of the second, one of the two is drawn by visits.
    float random2 = 0.0F;
    float low_moves = 0.0F;    // then, chance of a move to be drawn evenly from all but the best; only of players that teach
    int max_move = 320;        // a game is drawn after so many moves, those of its opening included
    int plies = 0;             // a game ends after so many moves of its own, without a result; 0: it does not. Searches do not know
    bool keep_leaves = false;  // whether a game keeps the positions that its searches asked the network about (Search::labelled_leaves)
    int keep_nodes = 0;        // visits from which it keeps the positions of its trees (Search::labelled_nodes); 0: it keeps none
    bool keeps_positions() const { return keep_leaves || keep_nodes > 0; }
    float threshold = 0.99F;  // a game ends by resignation when |2 p - 1| of the best move exceeds it; 1: never
    float play_out = 0.1F;    // share of the games that are played on then, to check the result
    // Playout-cap randomisation (Wu, "Accelerating Self-Play Learning in Go", 2019, section 3.1): this share of the moves is searched
    // with few playouts, without exploration, and not learnt from.
    float cheap = 0.0F;
    int cheap_playouts = 100;
    // Soft resignation (KataGo): with playouts here a game does not end at the threshold; it is played on with these, and its
    // positions from there on have a low weight.
    int soft_playouts = 0;
    float soft_weight = 0.1F;
    // Policy surprise weighting (KataGo): this share of the weight of a game's positions goes to them in proportion to the
    // divergence of the target from the network's policy, the rest evenly.
    float surprise = 0.0F;
    int mate_depth = 0;  // longest mate of the root to look for by df-pn, plies; 0: none
    int mate_nodes = 100'000;
    std::uint64_t seed = 0;

    void validate() const;  // throws std::invalid_argument, which names the parameter and its value
};

constexpr int OUTSIDE = -1;  // the network of a player who is not in the pool

struct SelfplayPlayer {
    int network = 0;      // 0: the newest
    bool teaches = true;  // whether this player's positions have targets
    bool operator==(const SelfplayPlayer&) const = default;
};

}  // namespace fukayomi
