// For 64-bit ARM, all of which has NEON.
#if defined(__aarch64__) || defined(_M_ARM64)
#define FUKAYOMI_BITS 128
#define FUKAYOMI_NEON
#define FUKAYOMI_INSTRUCTIONS "NEON"
#include "sparse/inference_kernels_impl.hpp"

namespace fukayomi {

const SparseKernels* neon_sparse_kernels() { return &KERNELS; }

}  // namespace fukayomi
#else
#include "sparse/inference_kernels.hpp"

namespace fukayomi {

const SparseKernels* neon_sparse_kernels() { return nullptr; }

}  // namespace fukayomi
#endif
