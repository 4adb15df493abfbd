// For processors with AVX2; CMakeLists.txt compiles this file with these instructions.
#if defined(__AVX2__)
#define FUKAYOMI_BITS 256
#define FUKAYOMI_INSTRUCTIONS "AVX2"
#include "sparse/inference_kernels_impl.hpp"

namespace fukayomi {

const SparseKernels* avx2_sparse_kernels() { return &KERNELS; }

}  // namespace fukayomi
#else
#include "sparse/inference_kernels.hpp"

namespace fukayomi {

const SparseKernels* avx2_sparse_kernels() { return nullptr; }

}  // namespace fukayomi
#endif
