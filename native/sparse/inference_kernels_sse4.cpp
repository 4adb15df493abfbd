// For x86-64-v2, which is what everything is compiled for where this is compiled.
#if defined(__SSE4_1__)
#define FUKAYOMI_BITS 128
#define FUKAYOMI_INSTRUCTIONS "SSE4"
#include "sparse/inference_kernels_impl.hpp"

namespace fukayomi {

const SparseKernels* sse4_sparse_kernels() { return &KERNELS; }

}  // namespace fukayomi
#else
#include "sparse/inference_kernels.hpp"

namespace fukayomi {

const SparseKernels* sse4_sparse_kernels() { return nullptr; }

}  // namespace fukayomi
#endif
