// For processors with AVX-512 (F, BW and VL); CMakeLists.txt compiles this file with these instructions.
#if defined(__AVX512BW__) && defined(__AVX512VL__)
#define FUKAYOMI_LANES 16
#define FUKAYOMI_INSTRUCTIONS "AVX-512"
#include "network/kernels_impl.hpp"

namespace fukayomi {

const Kernels* avx512_kernels() { return &KERNELS; }

}  // namespace fukayomi
#else
#include "network/kernels.hpp"

namespace fukayomi {

const Kernels* avx512_kernels() { return nullptr; }

}  // namespace fukayomi
#endif
