#include "network/network.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace fukayomi {

namespace {

constexpr std::size_t SIDE = 9;
constexpr std::size_t STAGGER = 16;  // keeps the points of a tile out of the same sets of the cache

// The weights of a small network stay in the cache, and few positions do so beside them. Those of a large one come from memory, for as
// many positions as possible.
constexpr std::size_t LARGE_WIDTH = 128, FEW = 8, MANY = 16;

// A square's place on a board with its border.
constexpr std::size_t cell(std::size_t square) { return (square / SIDE + 1) * BOARD_SIDE + square % SIDE + 1; }

}  // namespace

ResidualNetwork::ResidualNetwork(const NetworkWeights& weights, const Kernels& kernels, Precision precision)
    : kernels_(kernels), precision_(precision), activation_(weights.activation), width_(padded(weights.channels, kernels.panel)),
      group_(width_ < LARGE_WIDTH ? FEW : MANY), stride_(group_ * TILES * width_ + STAGGER),
      stem1_(static_cast<std::size_t>(FEATURES1) * 9 * width_), stem2_(weights.constant_planes * width_),
      stem_bias_(pack_row(weights.stem_bias, width_)), no_bias_(width_), constant_planes_(weights.constant_planes),
      policy_(POLICY_LABELS / SQUARES * width_), policy_bias_(pack_row(weights.policy_bias, POLICY_LABELS)),
      value_(width_, weights.value_channels, kernels.panel), value_bias_(pack_row(weights.value_bias, value_.columns())),
      hidden_(SQUARES * value_.columns(), weights.hidden, kernels.panel), hidden_bias_(pack_row(weights.hidden_bias, hidden_.columns())),
      last_(pack_row(weights.last, hidden_.columns())), last_bias_(weights.last_bias) {
    const std::size_t channels = weights.channels;
    for (std::size_t c = 0; c < channels; ++c) {
        for (std::size_t p = 0; p < FEATURES1; ++p)  // the kernel's last cell comes first: see `stem`
            for (std::size_t k = 0; k < 9; ++k) stem1_.data()[(p * 9 + 8 - k) * width_ + c] = weights.stem1[(c * FEATURES1 + p) * 9 + k];
        for (std::size_t p = 0; p < constant_planes_; ++p) stem2_.data()[p * width_ + c] = weights.stem2[c * constant_planes_ + p];
        for (std::size_t d = 0; d < POLICY_LABELS / SQUARES; ++d) policy_.data()[d * width_ + c] = weights.policy[d * channels + c];
        for (std::size_t v = 0; v < weights.value_channels; ++v) value_.at(c, v) = weights.value[v * channels + c];
    }
    for (const Convolution& convolution : weights.tower) {
        Layer& layer = tower_.emplace_back();
        layer.bias = pack_row(convolution.bias, width_);
        if (precision == Precision::FLOAT32)
            layer.weights = pack_convolution(convolution.weights, channels, width_, kernels.panel);
        else
            layer.shorts = pack_short_convolution(convolution.weights, channels, width_, kernels.panel);
    }
    for (std::size_t h = 0; h < weights.hidden; ++h)
        for (std::size_t v = 0; v < weights.value_channels; ++v)
            for (std::size_t square = 0; square < SQUARES; ++square)
                hidden_.at(square * value_.columns() + v, h) = weights.hidden_weights[(h * weights.value_channels + v) * SQUARES + square];
}

std::size_t ResidualNetwork::bytes() const {
    std::size_t total = stem1_.bytes() + stem2_.bytes() + policy_.bytes() + value_.bytes() + hidden_.bytes();
    for (const Layer& layer : tower_)
        total += layer.weights.bytes() + layer.shorts.weights.bytes() + layer.shorts.scales.bytes() + layer.bias.bytes();
    return total;
}

ResidualNetwork::Scratch::Scratch(const ResidualNetwork& network)
    : products_(POINTS * network.stride_), squares_(network.group_ * network.hidden_.inner()),
      hidden_(network.group_ * network.hidden_.columns()), scales_(network.group_), inverses_(network.group_) {
    if (network.precision_ == Precision::FLOAT32)
        points_ = AlignedFloats(POINTS * network.stride_);
    else
        short_points_ = AlignedShorts(POINTS * network.stride_);
    std::fill_n(scales_.data(), network.group_, 1.0f);
    for (AlignedFloats& board : boards_) board = AlignedFloats(network.group_ * BOARD_CELLS * network.width_);
}

bool ResidualNetwork::evaluate(Scratch& scratch, std::size_t first, std::size_t count, const PlaneInput& in, const SlotOutput& out) const {
    bool is_finite = true;
    for (std::size_t done = 0; done < count; done += group_)
        is_finite &= evaluate_group(scratch, first + done, std::min(group_, count - done), in, out);
    return is_finite;
}

bool ResidualNetwork::evaluate_group(Scratch& scratch, std::size_t first, std::size_t count, const PlaneInput& in,
                                     const SlotOutput& out) const {
    float *boards = scratch.boards_[0].data(), *middle = scratch.boards_[1].data(), *next = scratch.boards_[2].data();
    stem(in, first, count, boards);
    for (std::size_t block = 0; block + 1 < tower_.size(); block += 2) {
        convolve(scratch, tower_[block], boards, nullptr, count, middle);
        convolve(scratch, tower_[block + 1], middle, boards, count, next);
        std::swap(boards, next);
    }
    bool is_finite = values(scratch, boards, count, out.values + first);
    for (std::size_t n = 0; n < count; ++n) is_finite &= policy(boards + n * BOARD_CELLS * width_, first + n, in, out);
    return is_finite;
}

// Planes are mostly zeros: each one adds its column of the kernel to the squares around it.
void ResidualNetwork::stem(const PlaneInput& in, std::size_t first, std::size_t count, float* boards) const {
    AlignedFloats same(width_);
    for (std::size_t n = 0; n < count; ++n) {
        const std::uint8_t* const planes1 = in.planes1(first + n);
        const std::uint8_t* const planes2 = in.planes2(first + n);
        float* const board = boards + n * BOARD_CELLS * width_;
        std::copy_n(stem_bias_.data(), width_, same.data());
        for (std::size_t plane = 0; plane < constant_planes_; ++plane)
            if (planes2[plane / 8] >> (plane % 8) & 1) kernels_.add(same.data(), stem2_.data() + plane * width_, width_);
        for (std::size_t square = 0; square < SQUARES; ++square) std::copy_n(same.data(), width_, board + cell(square) * width_);
        for (std::size_t byte = 0; byte < (FEATURES1 * SQUARES + 7) / 8; ++byte)
            for (unsigned bits = planes1[byte]; bits != 0; bits &= bits - 1) {
                const std::size_t index = byte * 8 + static_cast<std::size_t>(std::countr_zero(bits));
                const std::size_t plane = index / SQUARES, file = index % SQUARES / SIDE, rank = index % SIDE;
                if (plane >= FEATURES1) break;
                // A square sees this one through the kernel's opposite side, which is what the reversed kernel has there. Squares of a
                // file lie together, so three are added at once.
                const std::size_t first_rank = rank == 0 ? 1 : 0, end_rank = rank == 8 ? 2 : 3;
                for (std::size_t i = file == 0 ? 1 : 0; i < (file == 8 ? 2 : 3); ++i)
                    kernels_.add(board + ((file + i) * BOARD_SIDE + rank + first_rank) * width_,
                                 stem1_.data() + (plane * 9 + i * 3 + first_rank) * width_, (end_rank - first_rank) * width_);
            }
        for (std::size_t file = 0; file < SIDE; ++file)
            kernels_.activate(board + cell(file * SIDE) * width_, width_, SIDE, width_, no_bias_.data(), activation_);
    }
}

void ResidualNetwork::convolve(Scratch& scratch, const Layer& layer, const float* boards, const float* added, std::size_t count,
                               float* out) const {
    if (precision_ == Precision::FLOAT32)
        multiply(scratch, layer, boards, count);
    else
        multiply_short(scratch, layer, boards, count);
    kernels_.from_points(scratch.products_.data(), stride_, count, width_, scratch.scales_.data(), layer.bias.data(), added, activation_,
                         out);
}

void ResidualNetwork::multiply(Scratch& scratch, const Layer& layer, const float* boards, std::size_t count) const {
    const float* const points = scratch.points_.data();
    kernels_.to_points(boards, count, width_, scratch.points_.data(), stride_);
    for (std::size_t p = 0; p < POINTS; ++p)
        kernels_.multiply(points + p * stride_, width_, count * TILES, width_, layer.weights.data() + p * width_ * width_, width_,
                          scratch.products_.data() + p * stride_, width_);
}

void ResidualNetwork::multiply_short(Scratch& scratch, const Layer& layer, const float* boards, std::size_t count) const {
    // By which the transform of a tile can exceed its largest number: after ReLU, which leaves nothing negative, by half as much.
    const float most = activation_ == Activation::RELU ? 18.0f : 36.0f;
    for (std::size_t n = 0; n < count; ++n) {
        const float largest = kernels_.largest(boards + n * BOARD_CELLS * width_, BOARD_CELLS * width_);
        const float scale = largest * (most / static_cast<float>(std::numeric_limits<std::int16_t>::max()));
        scratch.scales_.data()[n] = scale;
        scratch.inverses_.data()[n] = scale > std::numeric_limits<float>::min() ? 1 / scale : 0;
    }
    const std::int16_t* const points = scratch.short_points_.data();
    kernels_.to_short_points(boards, count, width_, scratch.inverses_.data(), scratch.short_points_.data(), stride_);
    for (std::size_t p = 0; p < POINTS; ++p)
        kernels_.multiply_short(points + p * stride_, width_, count * TILES, width_, layer.shorts.weights.data() + p * width_ * width_,
                                layer.shorts.scales.data() + p * width_, width_, scratch.products_.data() + p * stride_, width_);
}

bool ResidualNetwork::policy(const float* board, std::size_t row, const PlaneInput& in, const SlotOutput& out) const {
    const std::size_t moves = in.moves(row);
    if (moves > MAX_MOVES) throw std::out_of_range("row " + std::to_string(row) + ": the count " + std::to_string(moves) + " is above 593");
    const std::uint16_t* const labels = in.labels(row);
    bool is_finite = true;
    for (std::size_t m = 0; m < moves; ++m) {
        const std::size_t label = labels[m];
        if (label >= POLICY_LABELS)
            throw std::out_of_range("row " + std::to_string(row) + ", move " + std::to_string(m) + ": the label " + std::to_string(label) +
                                    " is above 2186");
        const float logit = kernels_.dot(policy_.data() + label / SQUARES * width_, board + cell(label % SQUARES) * width_, width_) +
                            policy_bias_.data()[label];
        out.logits[row * MAX_MOVES + m] = logit;
        is_finite &= std::isfinite(logit);
    }
    return is_finite;
}

bool ResidualNetwork::values(Scratch& scratch, const float* boards, std::size_t count, float* values) const {
    float *squares = scratch.squares_.data(), *hidden = scratch.hidden_.data();
    const std::size_t columns = value_.columns(), units = hidden_.columns();
    for (std::size_t n = 0; n < count; ++n)
        for (std::size_t file = 0; file < SIDE; ++file)
            kernels_.multiply(boards + (n * BOARD_CELLS + cell(file * SIDE)) * width_, width_, SIDE, width_, value_.data(), columns,
                              squares + (n * SQUARES + file * SIDE) * columns, columns);
    kernels_.activate(squares, columns, count * SQUARES, columns, value_bias_.data(), activation_);
    kernels_.multiply(squares, hidden_.inner(), count, hidden_.inner(), hidden_.data(), units, hidden, units);
    kernels_.activate(hidden, units, count, units, hidden_bias_.data(), activation_);
    bool is_finite = true;
    for (std::size_t n = 0; n < count; ++n) {
        const float logit = kernels_.dot(hidden + n * units, last_.data(), units) + last_bias_;
        values[n] = 1 / (1 + std::exp(-logit));
        is_finite &= std::isfinite(logit);
    }
    return is_finite;
}

}  // namespace fukayomi
