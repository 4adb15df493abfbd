// For processors with AVX2 and FMA; CMakeLists.txt compiles this file with these instructions.
#if defined(__AVX2__) && (defined(__FMA__) || defined(_MSC_VER))
#define FUKAYOMI_LANES 8
#define FUKAYOMI_INSTRUCTIONS "AVX2"
#include "network/kernels_impl.hpp"

namespace fukayomi {

const Kernels* avx2_kernels() { return &KERNELS; }

}  // namespace fukayomi
#else
#include "network/kernels.hpp"

namespace fukayomi {

const Kernels* avx2_kernels() { return nullptr; }

}  // namespace fukayomi
#endif
