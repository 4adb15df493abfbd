#include "search/params.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace fukayomi {

namespace {

// Written so that NaN fails.
void require_between(const char* name, double value, double low, double high) {
    if (value >= low && value <= high) return;
    throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) + "; it must be between " +
                                std::to_string(low) + " and " + std::to_string(high));
}

constexpr float PLIES_TO_HALF = 4.0F;

}  // namespace

float SearchParams::temperature_at(std::size_t depth) const {
    if (softmax_temperature_deep == 0.0F) return softmax_temperature;
    const float left = std::exp2(-static_cast<float>(depth) / PLIES_TO_HALF);
    return softmax_temperature_deep + (softmax_temperature - softmax_temperature_deep) * left;
}

void SearchParams::validate() const {
    require_between("c_init", c_init, 0.0, 100.0);
    require_between("c_init_root", c_init_root, 0.0, 100.0);
    require_between("c_base", c_base, 1.0, 1e9);
    require_between("c_base_root", c_base_root, 1.0, 1e9);
    require_between("fpu_reduction", fpu_reduction, 0.0, 10.0);
    require_between("fpu_reduction_root", fpu_reduction_root, 0.0, 10.0);
    require_between("softmax_temperature", softmax_temperature, 0.01F, 100.0);  // 0.01F is a little below 0.01
    if (softmax_temperature_root != 0.0F)
        require_between("softmax_temperature_root", softmax_temperature_root, 0.01F, 100.0);
    if (softmax_temperature_deep != 0.0F)
        require_between("softmax_temperature_deep", softmax_temperature_deep, 0.01F, 100.0);
    require_between("c_exponent", c_exponent, 0.0, 1.0);
    require_between("c_variance", c_variance, 0.0, 1.0);
    require_between("c_stdev", c_stdev, 0.001F, 0.5);
    require_between("lcb_stdevs", lcb_stdevs, 0.0, 100.0);
    require_between("lcb_visits", lcb_visits, 0.0, 1.0);
    require_between("draw_value_black", draw_value_black, 0.0, 1.0);
    require_between("draw_value_white", draw_value_white, 0.0, 1.0);
    require_between("root_noise_epsilon", root_noise_epsilon, 0.0, 1.0);
    require_between("root_noise_alpha", root_noise_alpha, 0.001, 1000.0);
    require_between("root_visit_noise", root_visit_noise, 0.0, 1.0);
    require_between("forced_playouts", forced_playouts, 0.0, 100.0);
    require_between("gumbel_moves", gumbel_moves, 1, static_cast<double>(MAX_MOVES));
    require_between("gumbel_visits", gumbel_visits, 1, 1e6);
    require_between("gumbel_scale", gumbel_scale, 0.0, 100.0);
    require_between("gumbel_c_visit", gumbel_c_visit, 0.0, 1e6);
    require_between("gumbel_c_scale", gumbel_c_scale, 0.0, 1000.0);
    require_between("draw_ply", draw_ply, 0, 100000);
    require_between("leaf_mate_plies", leaf_mate_plies, 0, 3);
    require_between("leaf_mate_nodes", leaf_mate_nodes, 0, 10000);
    require_between("root_move_mate_nodes", root_move_mate_nodes, 0, 10000);
}

}  // namespace fukayomi
