// For processors with AVX2; CMakeLists.txt compiles this file with these instructions.
#if defined(__AVX2__)
#define FUKAYOMI_LANES 8
#include "sparse/training_kernels_impl.hpp"

namespace fukayomi {

const TrainingKernels* avx2_training_kernels() { return &KERNELS; }

}  // namespace fukayomi
#else
#include "sparse/training_kernels.hpp"

namespace fukayomi {

const TrainingKernels* avx2_training_kernels() { return nullptr; }

}  // namespace fukayomi
#endif
