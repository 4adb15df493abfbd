// A residual network on the CPU: from bit-packed planes to the logits of the legal moves and a win probability.
//
// The result of a position depends on nothing else: neither on the batch it is in nor on threads.
#pragma once

#include <cstddef>
#include <vector>

#include "encode/slot.hpp"
#include "network/aligned.hpp"
#include "network/kernels.hpp"
#include "network/packing.hpp"
#include "network/weights.hpp"

namespace fukayomi {

class ResidualNetwork {
  public:
    // The sizes of the weights must fit together, and the kernels must have the precision.
    ResidualNetwork(const NetworkWeights& weights, const Kernels& kernels, Precision precision);

    using Input = PlaneInput;

    // Memory of one thread.
    class Scratch {
      public:
        explicit Scratch(const ResidualNetwork& network);

      private:
        friend class ResidualNetwork;
        AlignedFloats boards_[3], points_, products_, squares_, hidden_;
        AlignedShorts short_points_;
        AlignedFloats scales_, inverses_;  // of the positions
    };

    // Positions `first` to `first + count - 1` of a slot. False: a result is not finite. Throws std::out_of_range for a count or a label
    // that does not exist.
    bool evaluate(Scratch& scratch, std::size_t first, std::size_t count, const PlaneInput& in, const SlotOutput& out) const;

    const Kernels& kernels() const { return kernels_; }
    Precision precision() const { return precision_; }
    std::size_t bytes() const;

  private:
    struct Layer {
        AlignedFloats weights;    // FLOAT32
        ShortConvolution shorts;  // INT16
        AlignedFloats bias;
    };

    bool evaluate_group(Scratch& scratch, std::size_t first, std::size_t count, const PlaneInput& in, const SlotOutput& out) const;
    void stem(const PlaneInput& in, std::size_t first, std::size_t count, float* boards) const;
    void convolve(Scratch& scratch, const Layer& layer, const float* boards, const float* added, std::size_t count, float* out) const;
    void multiply(Scratch& scratch, const Layer& layer, const float* boards, std::size_t count) const;
    void multiply_short(Scratch& scratch, const Layer& layer, const float* boards, std::size_t count) const;
    bool policy(const float* board, std::size_t row, const PlaneInput& in, const SlotOutput& out) const;
    bool values(Scratch& scratch, const float* boards, std::size_t count, float* values) const;

    const Kernels& kernels_;
    Precision precision_;
    Activation activation_;
    std::size_t width_;        // channels with padding
    std::size_t group_;        // positions that go through the network together: the weights are read once for all
    std::size_t stride_;       // from one of Winograd's points to the next
    AlignedFloats stem1_;      // [62 * 9 neighbours, width]
    AlignedFloats stem2_;      // [planes, width]
    AlignedFloats stem_bias_;  // [width]
    AlignedFloats no_bias_;    // [width]
    std::size_t constant_planes_;
    std::vector<Layer> tower_;
    AlignedFloats policy_;       // [27, width]
    AlignedFloats policy_bias_;  // [2187]
    PackedMatrix value_;         // [width, V]
    AlignedFloats value_bias_;
    PackedMatrix hidden_;  // [81 * V with padding, H]
    AlignedFloats hidden_bias_, last_;
    float last_bias_;
};

}  // namespace fukayomi
