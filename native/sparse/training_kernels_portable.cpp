#define FUKAYOMI_LANES 4
#include "sparse/training_kernels_impl.hpp"

namespace fukayomi {

const TrainingKernels& portable_training_kernels() { return KERNELS; }

}  // namespace fukayomi
