#include "bindings.hpp"
#include "signals.hpp"

NB_MODULE(_native, m) {
    [[maybe_unused]] const fukayomi::HeldSignals held;  // Python makes enums here, and nanobind ends the program if it is interrupted
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
#ifdef NDEBUG
    // What the program still holds when it ends (a cache, an exception that a test tool keeps) is no user's concern.
    nanobind::set_leak_warnings(false);
#endif
    fukayomi::main_thread();
    m.doc() = "The native core of fukayomi: rules, encoding, search, games.";
    bind_shogi(m);
    bind_mate(m);
    bind_codec(m);
    bind_csa(m);
    bind_encode(m);
    bind_slots(m);
    bind_dedup(m);
    bind_search(m);
    bind_network(m);
    bind_selfplay(m);
    bind_sparse(m);
}
