#include "encode/slot.hpp"

#include <algorithm>

#include "encode/labels.hpp"

namespace fukayomi {

void PlaneInput::write(std::size_t row, const Board& pos, std::span<const Move> moves) {
    encode_packed(pos, Packed1(planes1(row), PACKED1_BYTES), Packed2(planes2(row), PACKED2_BYTES));
    std::uint16_t* const to = labels(row);
    for (std::size_t i = 0; i < moves.size(); ++i) to[i] = policy_label(pos.turn(), moves[i]);
    counts_[row] = static_cast<std::uint16_t>(moves.size());
}

std::size_t JointInput::capacity() const {
    std::size_t least = inputs_.front()->capacity();
    for (const auto& input : inputs_) least = std::min(least, input->capacity());
    return least;
}

void JointInput::write(std::size_t row, const Board& pos, std::span<const Move> moves) {
    for (const auto& input : inputs_) input->write(row, pos, moves);
}

}  // namespace fukayomi
