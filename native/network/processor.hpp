// The kernels that this processor runs.
#pragma once

#include <vector>

#include "network/kernels.hpp"

namespace fukayomi {

// The slowest first; never empty.
const std::vector<const Kernels*>& usable_kernels();

}  // namespace fukayomi
