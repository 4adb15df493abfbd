#include "selfplay/params.hpp"

#include <stdexcept>
#include <string>

#include "mate/mate_solver.hpp"

namespace fukayomi {

namespace {

template <class T>
void require(const char* name, T value, T least, T most) {
    if (value >= least && value <= most) return;
    throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) + "; it must be between " +
                                std::to_string(least) + " and " + std::to_string(most));
}

}  // namespace

void SelfplayParams::validate() const {
    require("playouts", playouts, 1, 1'000'000);
    require("extension", extension, 0.0F, 100.0F);
    require("leaves", leaves, 1, 64);
    require("random", random, 0, 512);
    require("random_temperature", random_temperature, 0.0F, 1000.0F);
    require("random_temperature_drop", random_temperature_drop, 0.0F, 1000.0F);
    require("random_cutoff", random_cutoff, 0.0F, 1.0F);
    require("random_cutoff_drop", random_cutoff_drop, 0.0F, 1.0F);
    require("random2", random2, 0.0F, 1000.0F);
    require("low_moves", low_moves, 0.0F, 1.0F);
    require("max_move", max_move, 1, 512);
    require("plies", plies, 0, 512);
    require("keep_nodes", keep_nodes, 0, 1'000'000);
    if (keep_nodes == 1) throw std::invalid_argument("keep_nodes is 1; positions with one visit have no searched policy: give 2 or more");
    if (keep_nodes > 0 && keep_leaves) throw std::invalid_argument("keep_nodes and keep_leaves cannot both be set");
    require("threshold", threshold, 0.0F, 1.0F);
    require("play_out", play_out, 0.0F, 1.0F);
    require("cheap", cheap, 0.0F, 1.0F);
    require("cheap_playouts", cheap_playouts, 1, 1'000'000);
    require("soft_playouts", soft_playouts, 0, 1'000'000);
    require("soft_weight", soft_weight, 0.0F, 1.0F);
    require("surprise", surprise, 0.0F, 1.0F);
    require("mate_depth", mate_depth, 0, MateSolver::MAX_PLIES);
    require("mate_nodes", mate_nodes, 1, 1'000'000'000);
}

}  // namespace fukayomi
