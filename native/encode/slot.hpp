// What lies between the search and an evaluator: the input of a batch, which the search writes, and the output, which it reads.
// A position has a row in both. Which form a position has in the input is the evaluator's choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "encode/planes.hpp"
#include "shogi/board.hpp"
#include "shogi/types.hpp"

namespace fukayomi {

// What an evaluator reads of the positions of a batch.
class SlotInput {
  public:
    virtual ~SlotInput() = default;

    virtual std::size_t capacity() const = 0;  // rows
    // Writes a position and the moves whose logits are wanted, at most MAX_MOVES; the logits come in their order. The moves are
    // legal. Different rows may be written at once.
    virtual void write(std::size_t row, const Board& pos, std::span<const Move> moves) = 0;
    // Number of moves of a row; 0 if it was never written.
    virtual std::size_t moves(std::size_t row) const = 0;
};

// Bit-packed planes and policy labels, in memory that belongs to somebody else.
class PlaneInput final : public SlotInput {
  public:
    // planes1 [capacity, PACKED1_BYTES], planes2 [capacity, PACKED2_BYTES], labels [capacity, MAX_MOVES], counts [capacity]:
    // numbers of moves. Only the first counts[row] labels of a row are written.
    PlaneInput(std::size_t capacity, std::uint8_t* planes1, std::uint8_t* planes2, std::uint16_t* labels, std::uint16_t* counts)
        : capacity_(capacity), planes1_(planes1), planes2_(planes2), labels_(labels), counts_(counts) {}

    std::size_t capacity() const override { return capacity_; }
    void write(std::size_t row, const Board& pos, std::span<const Move> moves) override;
    std::size_t moves(std::size_t row) const override { return counts_[row]; }

    // Where a row begins.
    std::uint8_t* planes1(std::size_t row) const { return planes1_ + row * PACKED1_BYTES; }
    std::uint8_t* planes2(std::size_t row) const { return planes2_ + row * PACKED2_BYTES; }
    std::uint16_t* labels(std::size_t row) const { return labels_ + row * MAX_MOVES; }
    std::uint16_t* counts() const { return counts_; }

  private:
    std::size_t capacity_;
    std::uint8_t* planes1_;
    std::uint8_t* planes2_;
    std::uint16_t* labels_;
    std::uint16_t* counts_;
};

// Several inputs that hold the same positions, each in its own form.
class JointInput final : public SlotInput {
  public:
    // There must be at least one.
    explicit JointInput(std::vector<std::shared_ptr<SlotInput>> inputs) : inputs_(std::move(inputs)) {}

    std::size_t capacity() const override;
    void write(std::size_t row, const Board& pos, std::span<const Move> moves) override;
    std::size_t moves(std::size_t row) const override { return inputs_.front()->moves(row); }

  private:
    std::vector<std::shared_ptr<SlotInput>> inputs_;
};

// What an evaluator says of the positions of a batch.
struct SlotOutput {
    float* logits;  // [capacity, MAX_MOVES], in the order of the moves
    float* values;  // [capacity]: win probability of the side to move
};

}  // namespace fukayomi
