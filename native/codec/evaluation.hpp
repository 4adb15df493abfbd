// Evaluations and chances of winning.
#pragma once

#include <algorithm>
#include <cmath>

namespace fukayomi {

// dlshogi's constant (0.0013226 a centipawn): 1 / (1 + exp(-eval / 756.0864962951762)) is the chance of winning.
constexpr double EVAL_SCALE = 756.0864962951762;

// Records and training data write a mate as +-30000 centipawns, as dlshogi and CSA programs do.
constexpr int MATE_CP = 30000;

inline double win_probability(double eval, double scale) { return 1.0 / (1.0 + std::exp(-eval / scale)); }

// The inverse, in whole centipawns: a win rate of 0 or 1 is a mate, and no other evaluation lies beyond one.
inline int centipawns(double winrate, double scale) {
    if (!(winrate > 0.0)) return -MATE_CP;
    if (!(winrate < 1.0)) return MATE_CP;
    const double cp = std::nearbyint(-scale * std::log(1.0 / winrate - 1.0));
    return static_cast<int>(std::clamp(cp, -double{MATE_CP}, double{MATE_CP}));
}

}  // namespace fukayomi
