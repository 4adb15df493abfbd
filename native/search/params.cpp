#include "search/params.hpp"

#include <cmath>

#include "shogi/require.hpp"

namespace fukayomi {

namespace {

constexpr float PLIES_TO_HALF = 4.0F;

}  // namespace

float SearchParams::temperature_at(std::size_t depth) const {
    if (softmax_temperature_deep == 0.0F) return softmax_temperature;
    const float left = std::exp2(-static_cast<float>(depth) / PLIES_TO_HALF);
    return softmax_temperature_deep + (softmax_temperature - softmax_temperature_deep) * left;
}

void SearchParams::validate() const {
    require_between<double>("c_init", c_init, 0.0, 100.0);
    require_between<double>("c_init_root", c_init_root, 0.0, 100.0);
    require_between<double>("c_base", c_base, 1.0, 1e9);
    require_between<double>("c_base_root", c_base_root, 1.0, 1e9);
    require_between<double>("fpu_reduction", fpu_reduction, 0.0, 10.0);
    require_between<double>("fpu_reduction_root", fpu_reduction_root, 0.0, 10.0);
    require_between<double>("softmax_temperature", softmax_temperature, 0.01F, 100.0);  // 0.01F is a little below 0.01
    if (softmax_temperature_root != 0.0F) require_between<double>("softmax_temperature_root", softmax_temperature_root, 0.01F, 100.0);
    if (softmax_temperature_deep != 0.0F) require_between<double>("softmax_temperature_deep", softmax_temperature_deep, 0.01F, 100.0);
    require_between<double>("c_exponent", c_exponent, 0.0, 1.0);
    require_between<double>("c_variance", c_variance, 0.0, 1.0);
    require_between<double>("c_stdev", c_stdev, 0.001F, 0.5);
    require_between<double>("value_correction", value_correction, 0.0, 2.0);
    require_between<double>("policy_history", policy_history, 0.0, 100.0);
    require_between<double>("review_visits", review_visits, 0, 1e9);
    require_between<double>("lcb_stdevs", lcb_stdevs, 0.0, 100.0);
    require_between<double>("lcb_visits", lcb_visits, 0.0, 1.0);
    require_between<double>("draw_value_black", draw_value_black, 0.0, 1.0);
    require_between<double>("draw_value_white", draw_value_white, 0.0, 1.0);
    require_between<double>("root_noise_epsilon", root_noise_epsilon, 0.0, 1.0);
    require_between<double>("root_noise_alpha", root_noise_alpha, 0.001, 1000.0);
    require_between<double>("root_visit_noise", root_visit_noise, 0.0, 1.0);
    require_between<double>("forced_playouts", forced_playouts, 0.0, 100.0);
    require_between<double>("gumbel_moves", gumbel_moves, 1, static_cast<double>(MAX_MOVES));
    require_between<double>("gumbel_visits", gumbel_visits, 1, 1e6);
    require_between<double>("gumbel_scale", gumbel_scale, 0.0, 100.0);
    require_between<double>("gumbel_c_visit", gumbel_c_visit, 0.0, 1e6);
    require_between<double>("gumbel_c_scale", gumbel_c_scale, 0.0, 1000.0);
    require_between<double>("draw_ply", draw_ply, 0, 100000);
    require_between<double>("leaf_mate_plies", leaf_mate_plies, 0, 3);
    require_between<double>("leaf_mate_nodes", leaf_mate_nodes, 0, 10000);
    require_between<double>("root_move_mate_nodes", root_move_mate_nodes, 0, 10000);
}

}  // namespace fukayomi
