#include "network/aligned.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace fukayomi {

void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
}

}  // namespace fukayomi
