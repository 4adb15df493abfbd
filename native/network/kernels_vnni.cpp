// For processors with AVX-512 and its VNNI; CMakeLists.txt compiles this file with these instructions.
#if defined(__AVX512VNNI__) && defined(__AVX512BW__)
#define FUKAYOMI_LANES 16
#define FUKAYOMI_INSTRUCTIONS "AVX-512 VNNI"
#include "network/kernels_impl.hpp"

namespace fukayomi {

const Kernels* vnni_kernels() { return &KERNELS; }

}  // namespace fukayomi
#else
#include "network/kernels.hpp"

namespace fukayomi {

const Kernels* vnni_kernels() { return nullptr; }

}  // namespace fukayomi
#endif
