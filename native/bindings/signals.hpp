// Signals, such as Ctrl-C, during long native calls.
#pragma once

#include <nanobind/nanobind.h>

namespace fukayomi {

// Whether this is the thread that handles signals. Others must not take the GIL amid long work: the program may have ended.
inline bool is_main_thread() {
    const nanobind::module_ threading = nanobind::module_::import_("threading");
    return threading.attr("current_thread")().is(threading.attr("main_thread")());
}

}  // namespace fukayomi
