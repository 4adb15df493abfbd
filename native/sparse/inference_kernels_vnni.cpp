// For processors with AVX-512 and its VNNI; CMakeLists.txt compiles this file with these instructions.
#if defined(__AVX512VNNI__) && defined(__AVX512BW__)
#define FUKAYOMI_BITS 512
#define FUKAYOMI_DOT
#define FUKAYOMI_INSTRUCTIONS "AVX-512 VNNI"
#include "sparse/inference_kernels_impl.hpp"

namespace fukayomi {

const SparseKernels* vnni_sparse_kernels() { return &KERNELS; }

}  // namespace fukayomi
#else
#include "sparse/inference_kernels.hpp"

namespace fukayomi {

const SparseKernels* vnni_sparse_kernels() { return nullptr; }

}  // namespace fukayomi
#endif
