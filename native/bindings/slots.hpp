// The arrays of a slot, which an evaluator reads and writes, and their rows.
#pragma once

#include <stdexcept>
#include <string>

#include "arrays.hpp"
#include "encode/planes.hpp"
#include "encode/slot.hpp"
#include "shogi/types.hpp"

namespace fukayomi {

using Planes1 = Rows<std::uint8_t, PACKED1_BYTES>;
using Planes2 = Rows<std::uint8_t, PACKED2_BYTES>;
using Labels = Rows<std::uint16_t, MAX_MOVES>;
using Counts = Rows<std::uint16_t>;

template <class... Arrays>
void require_rows(std::size_t rows, const Arrays&... arrays) {
    const auto check = [rows](std::size_t has) {
        if (has < rows) throw std::invalid_argument("an array has " + std::to_string(has) + " rows; it needs " + std::to_string(rows));
    };
    (check(arrays.shape(0)), ...);
}

// The rows `first` to `first` + `rows` - 1 must exist.
inline void require_rows_of(const SlotInput& input, std::size_t first, std::size_t rows) {
    const std::size_t has = input.capacity();
    if (first > has || rows > has - first)
        throw std::invalid_argument("the input has " + std::to_string(has) + " rows; rows from " + std::to_string(first) + " on, " +
                                    std::to_string(rows) + " of them, are not all there");
}

}  // namespace fukayomi
