// Evaluations and chances of winning.
#pragma once

#include <cmath>

namespace fukayomi {

// dlshogi's constant (0.0013226 a centipawn): 1 / (1 + exp(-eval / 756.0864962951762)) is the chance of winning.
constexpr double EVAL_SCALE = 756.0864962951762;

// Records and training data write a mate as +-30000 centipawns, as dlshogi and CSA programs do.
constexpr int MATE_CP = 30000;

inline double win_probability(double eval, double scale) { return 1.0 / (1.0 + std::exp(-eval / scale)); }

}  // namespace fukayomi
