#include "search/correction.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace fukayomi {

namespace {

constexpr std::size_t KINDS = std::size_t{1} << 16;  // half a MiB, whatever the tree's memory: all trees find the same
constexpr double EXPONENT = 0.8;                     // an error counts by its visits to this power
constexpr double NEAREST = 0.001;                    // a corrected value is at least so far from a proof

std::uint64_t mixed(std::uint64_t x) {  // SplitMix64's
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
}

// What an error counts when the visits have reached 2^power, beyond what the one before it counted.
std::array<float, 32> make_weights() {
    std::array<float, 32> weights{};
    for (int power = 1; power < 32; ++power) {
        const double before = power == 1 ? 0.0 : std::pow(std::exp2(power - 1), EXPONENT);
        weights[static_cast<std::size_t>(power)] = static_cast<float>(std::pow(std::exp2(power), EXPONENT) - before);
    }
    return weights;
}
const std::array<float, 32> WEIGHTS = make_weights();

// The pieces on a square and the eight around it.
std::uint64_t neighbourhood(const Board& pos, Square center) {
    constexpr std::uint64_t EDGE = 31;  // of the board
    std::uint64_t pieces = 0;
    for (int file = file_of(center) - 1; file <= file_of(center) + 1; ++file)
        for (int rank = rank_of(center) - 1; rank <= rank_of(center) + 1; ++rank) {
            const bool is_inside = file >= 0 && file < 9 && rank >= 0 && rank < 9;
            pieces = pieces * 32 + (is_inside ? static_cast<std::uint64_t>(pos.piece_on(make_square(file, rank))) : EDGE);
        }
    return pieces;
}

}  // namespace

std::uint16_t kind_of(const Board& pos, std::span<const Move> moves) {
    if (moves.empty()) return 0;
    const Move last = moves.back(), before = moves.size() > 1 ? moves[moves.size() - 2] : Move();
    const std::uint64_t side = pos.turn() == BLACK ? 0 : 1;
    const std::uint64_t two = (std::uint64_t{last.raw()} << 17) | (std::uint64_t{before.raw()} << 1) | side;
    const auto kind = static_cast<std::uint16_t>(mixed(mixed(two) + neighbourhood(pos, last.to())));
    return kind == 0 ? 1 : kind;
}

ValueCorrection::ValueCorrection(float share) : share_(share), kinds_(share > 0.0F ? KINDS : 0) {}

void ValueCorrection::clear() { std::fill(kinds_.begin(), kinds_.end(), Kind{}); }

double ValueCorrection::corrected(std::uint16_t kind, double value) const {
    if (kind == 0) return value;
    const Kind& found = kinds_[kind];
    if (found.weight == 0.0F) return value;
    return std::clamp(value + static_cast<double>(share_ * found.error / found.weight), NEAREST, 1.0 - NEAREST);
}

void ValueCorrection::enter(std::uint16_t kind, std::uint32_t visits, double error) {
    if (kind == 0) return;
    Kind& found = kinds_[kind];
    const float weight = WEIGHTS[static_cast<std::size_t>(std::countr_zero(visits))];
    found.weight += weight;
    found.error += weight * static_cast<float>(error);
}

}  // namespace fukayomi
