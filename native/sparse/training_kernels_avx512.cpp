// For processors with AVX512; CMakeLists.txt compiles this file with these instructions.
#if defined(__AVX512BW__)
#define FUKAYOMI_LANES 16
#include "sparse/training_kernels_impl.hpp"

namespace fukayomi {

const TrainingKernels* avx512_training_kernels() { return &KERNELS; }

}  // namespace fukayomi
#else
#include "sparse/training_kernels.hpp"

namespace fukayomi {

const TrainingKernels* avx512_training_kernels() { return nullptr; }

}  // namespace fukayomi
#endif
