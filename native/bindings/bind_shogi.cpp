#include "bindings.hpp"

namespace nb = nanobind;

void bind_shogi(nb::module_& m) { (void)m; }
