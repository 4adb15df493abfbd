// Classes of parameters.
#pragma once

#include <nanobind/nanobind.h>

namespace fukayomi {

namespace nb = nanobind;

// A property whose setter validates all parameters together before it changes one.
template <class Params, class T>
void parameter(nb::class_<Params>& type, const char* name, T Params::* field, const char* doc) {
    type.def_prop_rw(
        name, [field](const Params& params) { return params.*field; },
        [field](Params& params, T value) {
            Params changed = params;
            changed.*field = value;
            changed.validate();
            params = changed;
        },
        nb::arg("value"), doc);
}

}  // namespace fukayomi
