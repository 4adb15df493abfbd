// For any processor: vectors of four floats, as SSE2 and NEON have them.
#define FUKAYOMI_LANES 4
#define FUKAYOMI_INSTRUCTIONS "128 bit"
#include "network/kernels_impl.hpp"

namespace fukayomi {

const Kernels& portable_kernels() { return KERNELS; }

}  // namespace fukayomi
