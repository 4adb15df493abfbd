// Native code without the GIL.
#pragma once

#include <Python.h>

#include <chrono>
#include <thread>

namespace fukayomi {

// Gives up the GIL while it lives, as nanobind's gil_scoped_release does.
//
// When the program ends, Python 3.13 and earlier end every other thread that wants the GIL back. With glibc that is an exception, which
// would leave a destructor here and end the program by std::terminate. Such a thread sleeps instead until the program has ended, as in
// later versions of Python.
class Unlocked {
  public:
    Unlocked() : state_(PyEval_SaveThread()) {}
    ~Unlocked() {
        try {
            PyEval_RestoreThread(state_);
        } catch (...) {
            while (true) std::this_thread::sleep_for(std::chrono::hours(1));
        }
    }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

  private:
    PyThreadState* state_;
};

}  // namespace fukayomi
