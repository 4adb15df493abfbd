// Residual networks on the CPU. Weights are copied; the arrays of a slot belong to the caller, and the GIL is released while they are
// computed.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "network/network.hpp"
#include "network/processor.hpp"
#include "network/runner.hpp"
#include "slots.hpp"
#include "unlocked.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace fukayomi;

namespace {

using Vector = Rows<const float>;
template <nb::ssize_t... COLUMNS>
using Matrix = Rows<const float, COLUMNS...>;

constexpr std::size_t DIRECTIONS = POLICY_LABELS / SQUARES;

Precision precision_named(const std::string& name) {
    if (name == "fp32") return Precision::FLOAT32;
    if (name == "int16") return Precision::INT16;
    throw std::invalid_argument("precision must be fp32 or int16, not " + name);
}

std::vector<std::string> instructions(const std::string& precision) {
    std::vector<std::string> names;
    for (const Kernels* kernels : usable_kernels())
        if (computes(*kernels, precision_named(precision))) names.emplace_back(kernels->name);
    return names;
}

const Kernels& kernels_named(const std::optional<std::string>& name, std::size_t channels, Precision precision) {
    const Kernels* found = name ? nullptr : fastest_kernels(channels, precision);
    for (const Kernels* kernels : usable_kernels())
        if (name == kernels->name && computes(*kernels, precision)) found = kernels;
    if (found == nullptr) throw std::invalid_argument("this processor has no " + name.value_or("instructions") + " for this precision");
    return *found;
}

template <class Array>
std::span<const float> numbers(const Array& array) {
    return {array.data(), array.size()};
}

template <class Array>
void require_shape(const char* name, const Array& array, std::initializer_list<std::size_t> shape) {
    std::string has, wanted;
    bool is_equal = true;
    std::size_t axis = 0;
    for (const std::size_t size : shape) {
        has += (axis == 0 ? "" : ", ") + std::to_string(array.shape(axis));
        wanted += (axis == 0 ? "" : ", ") + std::to_string(size);
        is_equal &= array.shape(axis++) == size;
    }
    if (!is_equal) throw std::invalid_argument(std::string(name) + " is [" + has + "]; it must be [" + wanted + "]");
}

Activation activation_named(const std::string& name) {
    if (name == "relu") return Activation::RELU;
    if (name == "silu") return Activation::SILU;
    throw std::invalid_argument("activation must be relu or silu, not " + name);
}

std::shared_ptr<ResidualNetwork> make_network(const std::string& activation, const Matrix<FEATURES1, 3, 3>& stem1, const Matrix<-1>& stem2,
                                              const Vector& stem_bias, const Matrix<-1, -1, 3, 3>& tower, const Matrix<-1>& tower_bias,
                                              const Matrix<-1>& policy, const Vector& policy_bias, const Matrix<-1>& value,
                                              const Vector& value_bias, const Matrix<-1>& hidden, const Vector& hidden_bias,
                                              const Vector& last, float last_bias, const std::string& precision_name,
                                              const std::optional<std::string>& instructions) {
    const std::size_t channels = stem1.shape(0), value_channels = value.shape(0), units = hidden.shape(0), layers = tower.shape(0);
    if (channels == 0 || value_channels == 0 || units == 0) throw std::invalid_argument("a network needs channels and hidden units");
    if (stem2.shape(1) != FEATURES2 && stem2.shape(1) != COLOUR_PLANE + 1) throw std::invalid_argument("stem2 must have 57 or 58 planes");
    if (layers % 2 != 0) throw std::invalid_argument("tower must have two convolutions for each block");
    if (!std::isfinite(last_bias)) throw std::invalid_argument("last_bias is not finite");
    require_shape("stem2", stem2, {channels, stem2.shape(1)});
    require_shape("stem_bias", stem_bias, {channels});
    require_shape("tower", tower, {layers, channels, channels, 3, 3});
    require_shape("tower_bias", tower_bias, {layers, channels});
    require_shape("policy", policy, {DIRECTIONS, channels});
    require_shape("policy_bias", policy_bias, {POLICY_LABELS});
    require_shape("value", value, {value_channels, channels});
    require_shape("value_bias", value_bias, {value_channels});
    require_shape("hidden", hidden, {units, value_channels * SQUARES});
    require_shape("hidden_bias", hidden_bias, {units});
    require_shape("last", last, {units});
    NetworkWeights weights;
    weights.activation = activation_named(activation);
    weights.channels = channels;
    weights.constant_planes = stem2.shape(1);
    weights.value_channels = value_channels;
    weights.hidden = units;
    weights.stem1 = numbers(stem1);
    weights.stem2 = numbers(stem2);
    weights.stem_bias = numbers(stem_bias);
    for (std::size_t n = 0; n < layers; ++n)
        weights.tower.push_back({numbers(tower).subspan(n * channels * channels * 9, channels * channels * 9),
                                 numbers(tower_bias).subspan(n * channels, channels)});
    weights.policy = numbers(policy);
    weights.policy_bias = numbers(policy_bias);
    weights.value = numbers(value);
    weights.value_bias = numbers(value_bias);
    weights.hidden_weights = numbers(hidden);
    weights.hidden_bias = numbers(hidden_bias);
    weights.last = numbers(last);
    weights.last_bias = last_bias;
    const Precision precision = precision_named(precision_name);
    const Kernels& kernels = kernels_named(instructions, channels, precision);
    const Unlocked release;
    return std::make_shared<ResidualNetwork>(weights, kernels, precision);
}

using NetworkRunner = Runner<ResidualNetwork>;

}  // namespace

void bind_network(nb::module_& m) {
    m.def("cpu_instructions", &instructions, "precision"_a = "fp32",
          "The vector instructions of this processor that `ResidualNetwork` can use, the fastest last; none: a precision for\n"
          "which it has none.\n\n"
          "Args:\n    precision: \"fp32\" or \"int16\".\n\nRaises:\n    ValueError: It is neither.");
    nb::class_<ResidualNetwork>(m, "ResidualNetwork",
                                "A network of residual blocks with dlshogi's inputs and heads, on the CPU.\n\n"
                                "A 3x3 convolution is computed by Winograd's algorithm: a third of the multiplications, and\n"
                                "results that differ from the plain sums by rounding alone.\n\n"
                                "In int16 these convolutions multiply 16-bit integers and add them up in 32 bits, without an overflow:\n"
                                "kernels have a scale at each point and output, boards one of their own. The rest is float32.")
        .def(nb::new_(&make_network), "activation"_a, "stem1"_a.noconvert(), "stem2"_a.noconvert(), "stem_bias"_a.noconvert(),
             "tower"_a.noconvert(), "tower_bias"_a.noconvert(), "policy"_a.noconvert(), "policy_bias"_a.noconvert(), "value"_a.noconvert(),
             "value_bias"_a.noconvert(), "hidden"_a.noconvert(), "hidden_bias"_a.noconvert(), "last"_a.noconvert(), "last_bias"_a,
             "precision"_a = "fp32", "instructions"_a = nb::none(),
             "Args:\n    activation: \"relu\" or \"silu\", also of the value head.\n"
             "    stem1: float32 [C, 62, 3, 3], the planes that differ from square to square.\n"
             "    stem2: float32 [C, 57], the constant planes; 58 with the colour to move.\n"
             "    stem_bias: float32 [C].\n"
             "    tower: float32 [2B, C, C, 3, 3], two convolutions for each of B blocks.\n"
             "    tower_bias: float32 [2B, C].\n"
             "    policy: float32 [27, C].\n    policy_bias: float32 [2187].\n"
             "    value: float32 [V, C].\n    value_bias: float32 [V].\n"
             "    hidden: float32 [H, V * 81].\n    hidden_bias: float32 [H].\n"
             "    last: float32 [H].\n    last_bias: The win probability is the sigmoid of last times hidden units, and this.\n"
             "    precision: \"fp32\" or \"int16\".\n"
             "    instructions: One of `cpu_instructions`; None: the fastest for C channels.\n\n"
             "Raises:\n    ValueError: Sizes do not fit together, or the processor has no such instructions.")
        .def_prop_ro(
            "instructions", [](const ResidualNetwork& network) { return network.kernels().name; }, "The vector instructions that it uses.")
        .def_prop_ro(
            "precision", [](const ResidualNetwork& network) { return network.precision() == Precision::FLOAT32 ? "fp32" : "int16"; },
            "What it computes in.")
        .def_prop_ro("bytes", &ResidualNetwork::bytes, "Memory of the weights, in bytes.");
    nb::class_<NetworkRunner, CoreEvaluator>(m, "NetworkRunner",
                                             "Runs a network on the batches of one slot, with memory and threads of its own.")
        .def(nb::init<std::shared_ptr<ResidualNetwork>, std::size_t>(), "network"_a, "threads"_a,
             "Args:\n    network: The network.\n    threads: Threads that share the positions of a batch, 1 to 1024.\n\n"
             "Raises:\n    ValueError: There cannot be so many threads.\n    RuntimeError: The system has no more threads.");
}
