// The parameters of a residual network with dlshogi's inputs and heads, as files have them: BatchNorm folded, float32.
//
// C channels, V channels and H hidden units of the value head, F constant planes. A 3x3 kernel is nine numbers, [file][rank].
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "encode/labels.hpp"
#include "encode/planes.hpp"
#include "network/kernels.hpp"

namespace fukayomi {

// What the 3x3 convolutions of the tower multiply. INT16: tiles and kernels are rounded to about four digits; what is added up, and all
// other layers, are float32.
enum class Precision { FLOAT32, INT16 };

struct Convolution {
    std::span<const float> weights;  // [C, C, 9]: output, input, kernel
    std::span<const float> bias;     // [C]
};

struct NetworkWeights {
    Activation activation = Activation::RELU;
    std::size_t channels = 0, constant_planes = 0, value_channels = 0, hidden = 0;  // C, F, V, H
    std::span<const float> stem1;                                                   // [C, 62, 9]
    std::span<const float> stem2;                                                   // [C, F]
    std::span<const float> stem_bias;                                               // [C]
    std::vector<Convolution> tower;                                                 // two for each block
    std::span<const float> policy;                                                  // [27, C]
    std::span<const float> policy_bias;                                             // [2187]
    std::span<const float> value;                                                   // [V, C]
    std::span<const float> value_bias;                                              // [V]
    std::span<const float> hidden_weights;                                          // [H, V * 81]
    std::span<const float> hidden_bias;                                             // [H]
    std::span<const float> last;                                                    // [H]
    float last_bias = 0;
};

}  // namespace fukayomi
