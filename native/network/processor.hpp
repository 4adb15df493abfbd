// The kernels that this processor runs.
#pragma once

#include <cstddef>
#include <vector>

#include "network/kernels.hpp"

namespace fukayomi {

// The narrowest vectors first; never empty.
const std::vector<const Kernels*>& usable_kernels();

// The fastest for a number of channels: wide vectors need more padding.
const Kernels& fastest_kernels(std::size_t channels);

}  // namespace fukayomi
