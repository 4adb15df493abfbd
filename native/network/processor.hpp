// The kernels that this processor runs.
#pragma once

#include <cstddef>
#include <vector>

#include "network/kernels.hpp"
#include "network/weights.hpp"

namespace fukayomi {

// What the processor has and the system allows.
struct Instructions {
    bool avx2 = false, avx512 = false, vnni = false, avx_vnni = false;
};
const Instructions& usable_instructions();

// The narrowest vectors first; never empty.
const std::vector<const Kernels*>& usable_kernels();

// Whether they have a precision; all have FLOAT32.
bool computes(const Kernels& kernels, Precision precision);

// The fastest for a number of channels: wide vectors need more padding. nullptr: none has the precision.
const Kernels* fastest_kernels(std::size_t channels, Precision precision);

}  // namespace fukayomi
