// Runners with threads of their own, and several at once on one network: the results are those of one thread. For ThreadSanitizer and
// AddressSanitizer.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "network/network.hpp"
#include "network/processor.hpp"
#include "network/runner.hpp"

using namespace fukayomi;
using NetworkRunner = Runner<ResidualNetwork>;

namespace {

constexpr std::size_t CHANNELS = 24, VALUES = 3, UNITS = 5, ROWS = 19, ROUNDS = 30;

struct Parameters {
    std::mt19937 random{7};
    std::vector<std::vector<float>> arrays;

    std::span<const float> array(std::size_t count) {
        std::normal_distribution<float> normal(0.0f, 0.1f);
        std::vector<float>& values = arrays.emplace_back(count);
        std::ranges::generate(values, [&] { return normal(random); });
        return values;
    }
};

struct Rows {
    std::vector<std::uint8_t> planes1 = std::vector<std::uint8_t>(ROWS * PACKED1_BYTES),
                              planes2 = std::vector<std::uint8_t>(ROWS * PACKED2_BYTES);
    std::vector<std::uint16_t> labels = std::vector<std::uint16_t>(ROWS * MAX_MOVES), counts = std::vector<std::uint16_t>(ROWS);
    std::vector<float> logits = std::vector<float>(ROWS * MAX_MOVES), values = std::vector<float>(ROWS);

    PlaneInput input() { return {ROWS, planes1.data(), planes2.data(), labels.data(), counts.data()}; }
    SlotOutput output() { return {logits.data(), values.data()}; }
};

Rows some_rows() {
    Rows rows;
    std::mt19937 random(11);
    for (std::uint8_t& byte : rows.planes1) byte = random() % 8 == 0 ? static_cast<std::uint8_t>(random()) : 0;
    for (std::size_t row = 0; row < ROWS; ++row) {
        rows.counts[row] = static_cast<std::uint16_t>(row * 30);
        for (std::size_t m = 0; m < rows.counts[row]; ++m)
            rows.labels[row * MAX_MOVES + m] = static_cast<std::uint16_t>(random() % POLICY_LABELS);
    }
    return rows;
}

std::shared_ptr<const ResidualNetwork> some_network(const Kernels& kernels, Precision precision) {
    Parameters parameters;
    NetworkWeights weights;
    weights.activation = Activation::SILU;
    weights.channels = CHANNELS;
    weights.constant_planes = FEATURES2;
    weights.value_channels = VALUES;
    weights.hidden = UNITS;
    weights.stem1 = parameters.array(CHANNELS * FEATURES1 * 9);
    weights.stem2 = parameters.array(CHANNELS * FEATURES2);
    weights.stem_bias = parameters.array(CHANNELS);
    for (int layer = 0; layer < 4; ++layer) {
        const auto kernel = parameters.array(CHANNELS * CHANNELS * 9);
        weights.tower.push_back({kernel, parameters.array(CHANNELS)});
    }
    weights.policy = parameters.array(POLICY_LABELS / SQUARES * CHANNELS);
    weights.policy_bias = parameters.array(POLICY_LABELS);
    weights.value = parameters.array(VALUES * CHANNELS);
    weights.value_bias = parameters.array(VALUES);
    weights.hidden_weights = parameters.array(UNITS * VALUES * SQUARES);
    weights.hidden_bias = parameters.array(UNITS);
    weights.last = parameters.array(UNITS);
    return std::make_shared<ResidualNetwork>(weights, kernels, precision);
}

bool agrees(const Rows& found, const Rows& expected) { return found.logits == expected.logits && found.values == expected.values; }

bool check(const Kernels& kernels, Precision precision) {
    const auto network = some_network(kernels, precision);
    Rows expected = some_rows();
    if (!NetworkRunner(network, 1).run(ROWS, expected.input(), expected.output())) return false;
    std::array<bool, 3> good{};
    std::vector<std::thread> callers;
    for (std::size_t caller = 0; caller < good.size(); ++caller)
        callers.emplace_back([&, caller] {
            NetworkRunner runner(network, caller + 1);
            bool all = true;
            for (std::size_t round = 0; round < ROUNDS; ++round) {
                Rows rows = some_rows();
                all &= runner.run(ROWS, rows.input(), rows.output()) && agrees(rows, expected);
            }
            good[caller] = all;
        });
    for (std::thread& caller : callers) caller.join();
    return std::ranges::all_of(good, [](bool each) { return each; });
}

}  // namespace

int main() {
    for (const Kernels* kernels : usable_kernels())
        for (const Precision precision : {Precision::FLOAT32, Precision::INT16})
            if (computes(*kernels, precision) && !check(*kernels, precision)) {
                std::printf("%s: results differ\n", kernels->name);
                return 1;
            }
    return 0;
}
