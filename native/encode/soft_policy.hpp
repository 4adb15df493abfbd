// The policy as a target of training: weights of candidate moves.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fukayomi {

// The candidates of all rows, one after the other: `places` are row * POLICY_LABELS + label, the `weights` of a row add up
// to 1.
struct SoftPolicy {
    std::vector<std::int32_t> places;
    std::vector<float> weights;
};

// Adds the candidates of a row that have visits, with weights visits^(1/temperature); only `best` if it is the only one, or
// at temperature 0. visits(i) and place_of(i) belong to candidate i; `best` has the most visits, at least one.
template <class Visits, class PlaceOf>
void add_candidates(SoftPolicy& out, std::size_t count, std::size_t best, double temperature, Visits visits, PlaceOf place_of) {
    const std::size_t begin = out.weights.size();
    if (count == 1 || temperature == 0) {
        out.places.push_back(place_of(best));
        out.weights.push_back(1.0F);
        return;
    }
    const double most = visits(best);
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double share = visits(i) / most;  // at most 1, so that no power overflows
        if (share == 0) continue;
        const double weight = temperature == 1 ? share : std::pow(share, 1 / temperature);
        out.places.push_back(place_of(i));
        out.weights.push_back(static_cast<float>(weight));
        sum += weight;
    }
    for (std::size_t i = begin; i < out.weights.size(); ++i) out.weights[i] = static_cast<float>(out.weights[i] / sum);
}

}  // namespace fukayomi
