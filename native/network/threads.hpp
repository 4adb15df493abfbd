// How many threads may share one piece of work.
#pragma once

#include <cstddef>
#include <stdexcept>

namespace fukayomi {

// Throws std::invalid_argument at 0, and at more than any machine has.
inline void require_threads(std::size_t threads) {
    if (threads == 0 || threads > 1024) throw std::invalid_argument("threads must be 1 to 1024");
}

}  // namespace fukayomi
