// For any processor.
#define FUKAYOMI_BITS 0
#define FUKAYOMI_INSTRUCTIONS "plain"
#include "sparse/inference_kernels_impl.hpp"

namespace fukayomi {

const SparseKernels& portable_sparse_kernels() { return KERNELS; }

}  // namespace fukayomi
