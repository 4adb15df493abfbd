#include "selfplay/params.hpp"

#include <stdexcept>

#include "mate/mate_solver.hpp"
#include "shogi/require.hpp"

namespace fukayomi {

void SelfplayParams::validate() const {
    require_between("playouts", playouts, 1, 1'000'000);
    require_between("extension", extension, 0.0F, 100.0F);
    require_between("leaves", leaves, 1, 64);
    require_between("random", random, 0, 512);
    require_between("random_temperature", random_temperature, 0.0F, 1000.0F);
    require_between("random_temperature_drop", random_temperature_drop, 0.0F, 1000.0F);
    require_between("random_cutoff", random_cutoff, 0.0F, 1.0F);
    require_between("random_cutoff_drop", random_cutoff_drop, 0.0F, 1.0F);
    require_between("random2", random2, 0.0F, 1000.0F);
    require_between("low_moves", low_moves, 0.0F, 1.0F);
    require_between("max_move", max_move, 1, 512);
    require_between("plies", plies, 0, 512);
    require_between("keep_nodes", keep_nodes, 0, 1'000'000);
    if (keep_nodes == 1) throw std::invalid_argument("keep_nodes is 1; positions with one visit have no searched policy: give 2 or more");
    if (keep_nodes > 0 && keep_leaves) throw std::invalid_argument("keep_nodes and keep_leaves cannot both be set");
    require_between("threshold", threshold, 0.0F, 1.0F);
    require_between("play_out", play_out, 0.0F, 1.0F);
    require_between("cheap", cheap, 0.0F, 1.0F);
    require_between("cheap_playouts", cheap_playouts, 1, 1'000'000);
    require_between("soft_playouts", soft_playouts, 0, 1'000'000);
    require_between("soft_weight", soft_weight, 0.0F, 1.0F);
    require_between("surprise", surprise, 0.0F, 1.0F);
    require_between("mate_depth", mate_depth, 0, MateSolver::MAX_PLIES);
    require_between("mate_nodes", mate_nodes, 1, 1'000'000'000);
}

}  // namespace fukayomi
