// Random numbers that are the same on every platform, which those of <random>'s distributions are not.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "shogi/zobrist.hpp"

namespace fukayomi {

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t bits() { return mix64(state_ += 0x9E3779B97F4A7C15ULL); }

    // In (0, 1).
    double uniform() { return (static_cast<double>(bits() >> 12) + 0.5) * 0x1p-52; }

    // N(0, 1), by Box and Muller.
    double normal() {
        const double radius = std::sqrt(-2.0 * std::log(uniform()));
        return radius * std::cos(2.0 * std::numbers::pi * uniform());
    }

    // The standard Gumbel distribution.
    double gumbel() { return -std::log(-std::log(uniform())); }

    // How many trials fail before one succeeds. `chance`: of success, above 0.
    double failures(double chance) { return chance < 1.0 ? std::floor(std::log(uniform()) / std::log1p(-chance)) : 0.0; }

    // Gamma(shape, 1): Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
    double gamma(double shape) {
        if (shape < 1.0) {
            const double lower = std::pow(uniform(), 1.0 / shape);
            return lower * gamma(shape + 1.0);
        }
        const double d = shape - 1.0 / 3.0;
        const double c = 1.0 / std::sqrt(9.0 * d);
        for (;;) {
            const double x = normal();
            const double root = 1.0 + c * x;
            if (root <= 0.0) continue;
            const double v = root * root * root;
            if (std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
        }
    }

  private:
    std::uint64_t state_;
};

}  // namespace fukayomi
