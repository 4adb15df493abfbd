// Signals, such as Ctrl-C, during long native calls.
#pragma once

#include <Python.h>
#include <nanobind/nanobind.h>

#include <csignal>

namespace fukayomi {

// Python's number of the thread that handles signals; asked once, when the module is loaded. Later it would be Python code amid a native
// call, in which the end of the program ends other threads by an exception that no native function expects.
inline unsigned long main_thread() {
    static const auto number = nanobind::cast<unsigned long>(nanobind::module_::import_("threading").attr("main_thread")().attr("ident"));
    return number;
}

// Whether this is the thread that handles signals. Others must not take the GIL amid long work: the program may have ended.
inline bool is_main_thread() { return PyThread_get_thread_ident() == main_thread(); }

// Holds signals back while it lives: Python raises them when it is gone.
class HeldSignals {
#ifndef _WIN32
  public:
    HeldSignals() {
        sigset_t held;
        sigemptyset(&held);
        sigaddset(&held, SIGINT);
        sigaddset(&held, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &held, &before_);
    }
    ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;

  private:
    sigset_t before_;
#endif
};

}  // namespace fukayomi
