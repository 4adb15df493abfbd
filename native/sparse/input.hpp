// What a sparse network reads of the positions of a batch: rows of its tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "encode/slot.hpp"
#include "shogi/board.hpp"
#include "shogi/types.hpp"
#include "sparse/features.hpp"

namespace fukayomi {

class SparseInput final : public SlotInput {
  public:
    explicit SparseInput(std::size_t capacity);

    std::size_t capacity() const override { return capacity_; }
    void write(std::size_t row, const Board& pos, std::span<const Move> moves) override;
    std::size_t moves(std::size_t row) const override { return counts_[row].moves; }

    std::span<const std::uint16_t> rows(std::size_t row) const { return {rows_.get() + row * MAX_SPARSE_ROWS, counts_[row].rows}; }
    std::span<const MoveFeatures> move_features(std::size_t row) const { return {moves_.get() + row * MAX_MOVES, counts_[row].moves}; }

    // Who moves and whether the board is mirrored, 0 to 3: positions of one game with the same view have rows in common.
    std::size_t view(std::size_t row) const { return counts_[row].view; }
    static constexpr std::size_t VIEWS = 4;

  private:
    struct Counts {
        std::uint16_t rows, moves, view;
    };

    std::size_t capacity_;
    // Of the two large ones the system gives memory where it is written first.
    std::unique_ptr<std::uint16_t[]> rows_;  // [C, MAX_SPARSE_ROWS]
    std::unique_ptr<MoveFeatures[]> moves_;  // [C, MAX_MOVES]
    std::unique_ptr<Counts[]> counts_;       // [C]
};

}  // namespace fukayomi
