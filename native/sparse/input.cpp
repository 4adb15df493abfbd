#include "sparse/input.hpp"

namespace fukayomi {

SparseInput::SparseInput(std::size_t capacity)
    : capacity_(capacity), rows_(std::make_unique_for_overwrite<std::uint16_t[]>(capacity * MAX_SPARSE_ROWS)),
      moves_(std::make_unique_for_overwrite<MoveFeatures[]>(capacity * MAX_MOVES)), counts_(std::make_unique<Counts[]>(capacity)) {}

void SparseInput::write(std::size_t row, const Board& pos, std::span<const Move> moves) {
    SparseReader reader;
    reader.read(pos);
    const std::size_t rows = reader.rows(std::span<std::uint16_t, MAX_SPARSE_ROWS>(rows_.get() + row * MAX_SPARSE_ROWS, MAX_SPARSE_ROWS));
    reader.moves(moves, moves_.get() + row * MAX_MOVES);
    counts_[row] = {static_cast<std::uint16_t>(rows), static_cast<std::uint16_t>(moves.size()),
                    static_cast<std::uint16_t>(pos.turn() * 2 + (reader.is_mirrored() ? 1 : 0))};
}

}  // namespace fukayomi
