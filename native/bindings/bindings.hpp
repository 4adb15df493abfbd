// One function for each folder of the core; it adds the folder's classes and functions to the module.
#pragma once

#include <nanobind/nanobind.h>

void bind_search(nanobind::module_& m);
void bind_shogi(nanobind::module_& m);
void bind_codec(nanobind::module_& m);
void bind_csa(nanobind::module_& m);
void bind_encode(nanobind::module_& m);
void bind_slots(nanobind::module_& m);  // of encode
void bind_dedup(nanobind::module_& m);
void bind_mate(nanobind::module_& m);
void bind_network(nanobind::module_& m);
void bind_selfplay(nanobind::module_& m);
void bind_sparse(nanobind::module_& m);
