#include "sparse/file.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

namespace fukayomi {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t MAX_COLUMNS = 1024, MAX_HIDDEN = 256;                                 // of policy, of value; of hidden
static_assert(MAX_COLUMNS / 2 * 127 * 32'768 <= std::numeric_limits<std::int32_t>::max());  // sums of value_layer1

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

std::uint32_t word_at(std::span<const std::uint8_t> file, std::size_t offset) {
    std::uint32_t word;
    std::memcpy(&word, file.data() + offset, sizeof(word));
    return word;
}

SparseWidths widths_of(std::span<const std::uint8_t> file) {
    const SparseWidths widths{word_at(file, 16), word_at(file, 20), word_at(file, 24), word_at(file, 28)};
    const auto require = [](const char* name, std::size_t width, std::size_t unit, std::size_t most) {
        if (width == 0 || width % unit != 0 || width > most)
            refuse(std::string(name) + " is " + std::to_string(width) + ", not a multiple of " + std::to_string(unit) + " up to " +
                   std::to_string(most));
    };
    require("policy", widths.policy, 64, MAX_COLUMNS);
    require("value", widths.value, 64, MAX_COLUMNS);
    require("shared", widths.shared, 32, widths.policy / 2);
    require("hidden", widths.hidden, 8, MAX_HIDDEN);
    return widths;
}

void require_finite(const char* name, const std::uint8_t* floats, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        float number;
        std::memcpy(&number, floats + i * sizeof(number), sizeof(number));
        if (!std::isfinite(number)) refuse(std::string(name) + " has a number that is not finite");
    }
}

}  // namespace

SparseArrays read_sparse_file(std::span<const std::uint8_t> file) {
    if (file.size() < SPARSE_HEADER_BYTES) refuse("it ends within its header");
    if (!std::equal(SPARSE_MAGIC.begin(), SPARSE_MAGIC.end(), file.begin())) refuse("it does not begin as a sparse network does");
    if (const auto version = word_at(file, 8); version != SPARSE_FILE_VERSION)
        refuse("it has format version " + std::to_string(version) + "; version " + std::to_string(SPARSE_FILE_VERSION) + " is known");
    if (const auto version = word_at(file, 12); version != SPARSE_FEATURES_VERSION)
        refuse("it reads features of version " + std::to_string(version) + "; version " + std::to_string(SPARSE_FEATURES_VERSION) +
               " is known");
    SparseArrays found{};
    const SparseWidths& widths = found.widths = widths_of(file);
    std::size_t end = SPARSE_HEADER_BYTES;
    const auto take = [&](std::size_t count, std::size_t bytes) {
        const std::size_t begin = end;
        end += (count * bytes + 63) / 64 * 64;
        return begin;
    };
    const std::size_t scales = take(16, 4), tops = take(widths.columns(), 2), bias = take(widths.columns(), 2),
                      table = take(KEPT_ROWS * widths.columns(), 1), label_table = take(SPARSE_LABELS * widths.policy / 2, 1),
                      label_scales = take(SPARSE_LABELS, 4), label_bias = take(SPARSE_LABELS, 2),
                      group_table = take(MOVE_ROWS * widths.shared, 1), group_bias = take(MOVE_ROWS, 2), value_rows = take(KEPT_ROWS, 2),
                      layer1 = take(widths.hidden * widths.value / 2, 2), scales1 = take(widths.hidden, 4), bias1 = take(widths.hidden, 4),
                      layer2 = take(widths.hidden * widths.hidden, 4), bias2 = take(widths.hidden, 4), layer3 = take(widths.hidden, 4);
    if (file.size() != end) refuse("it has " + std::to_string(file.size()) + " bytes; a network of its widths has " + std::to_string(end));
    const std::uint8_t* const at = file.data();
    found.scales = at + scales;
    found.tops = at + tops;
    found.bias = at + bias;
    found.table = at + table;
    found.label_table = at + label_table;
    found.label_scales = at + label_scales;
    found.label_bias = at + label_bias;
    found.group_table = at + group_table;
    found.group_bias = at + group_bias;
    found.value_rows = at + value_rows;
    found.value_layer1 = at + layer1;
    found.value_scales1 = at + scales1;
    found.value_bias1 = at + bias1;
    found.value_layer2 = at + layer2;
    found.value_bias2 = at + bias2;
    found.value_layer3 = at + layer3;
    require_finite("scales", found.scales, 16);
    require_finite("label_scales", found.label_scales, SPARSE_LABELS);
    require_finite("value_scales1", found.value_scales1, widths.hidden);
    require_finite("value_bias1", found.value_bias1, widths.hidden);
    require_finite("value_layer2", found.value_layer2, widths.hidden * widths.hidden);
    require_finite("value_bias2", found.value_bias2, widths.hidden);
    require_finite("value_layer3", found.value_layer3, widths.hidden);
    for (std::size_t c = 0; c < widths.columns(); ++c) {
        std::uint16_t top;
        std::memcpy(&top, found.tops + 2 * c, sizeof(top));
        if (top < MIN_TOP || top > MAX_TOP)
            refuse("tops has " + std::to_string(top) + "; they are " + std::to_string(MIN_TOP) + " to " + std::to_string(MAX_TOP));
    }
    return found;
}

}  // namespace fukayomi
