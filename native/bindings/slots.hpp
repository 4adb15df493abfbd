// The arrays of a slot, which an evaluator reads and writes.
#pragma once

#include <string>

#include "arrays.hpp"
#include "encode/planes.hpp"
#include "shogi/types.hpp"

namespace fukayomi {

using Planes1 = Rows<std::uint8_t, PACKED1_BYTES>;
using Planes2 = Rows<std::uint8_t, PACKED2_BYTES>;
using Labels = Rows<std::uint16_t, MAX_MOVES>;
using Counts = Rows<std::uint16_t>;

template <class... Arrays>
void require_rows(std::size_t rows, const Arrays&... arrays) {
    const auto check = [rows](std::size_t has) {
        if (has < rows)
            throw nb::value_error(("an array has " + std::to_string(has) + " rows; it needs " + std::to_string(rows)).c_str());
    };
    (check(arrays.shape(0)), ...);
}

}  // namespace fukayomi
