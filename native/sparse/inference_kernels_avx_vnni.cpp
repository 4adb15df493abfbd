// For processors with AVX2 and AVX-VNNI; CMakeLists.txt compiles this file with these instructions.
#if defined(__AVXVNNI__)
#define FUKAYOMI_BITS 256
#define FUKAYOMI_DOT
#define FUKAYOMI_INSTRUCTIONS "AVX-VNNI"
#include "sparse/inference_kernels_impl.hpp"

namespace fukayomi {

const SparseKernels* avx_vnni_sparse_kernels() { return &KERNELS; }

}  // namespace fukayomi
#else
#include "sparse/inference_kernels.hpp"

namespace fukayomi {

const SparseKernels* avx_vnni_sparse_kernels() { return nullptr; }

}  // namespace fukayomi
#endif
