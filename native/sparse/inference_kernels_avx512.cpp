// For processors with AVX-512 (F, BW and VL); CMakeLists.txt compiles this file with these instructions.
#if defined(__AVX512BW__) && defined(__AVX512VL__)
#define FUKAYOMI_BITS 512
#define FUKAYOMI_INSTRUCTIONS "AVX-512"
#include "sparse/inference_kernels_impl.hpp"

namespace fukayomi {

const SparseKernels* avx512_sparse_kernels() { return &KERNELS; }

}  // namespace fukayomi
#else
#include "sparse/inference_kernels.hpp"

namespace fukayomi {

const SparseKernels* avx512_sparse_kernels() { return nullptr; }

}  // namespace fukayomi
#endif
