// Work in parts, for several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "network/threads.hpp"

namespace fukayomi {

// Threads that are joined at the end of their block. (Apple's standard library has no std::jthread.)
struct Helpers {
    std::vector<std::thread> threads;

    Helpers() = default;
    Helpers(const Helpers&) = delete;
    Helpers& operator=(const Helpers&) = delete;
    ~Helpers() {
        for (std::thread& thread : threads) thread.join();
    }
};

// work(i) for each i below `count`, each by one thread. Rethrows an exception of the work; the other parts may be left out then.
// Throws as require_threads does.
template <class Work>
void share_out(std::size_t count, std::size_t threads, const Work& work) {
    require_threads(threads);
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::exception_ptr error;
    const auto run = [&] {
        try {
            for (std::size_t i = next++; i < count; i = next++) work(i);
        } catch (...) {
            next = count;
            const std::lock_guard lock(mutex);
            error = std::current_exception();
        }
    };
    {
        Helpers helpers;
        for (std::size_t n = 1; n < std::min(threads, count); ++n) helpers.threads.emplace_back(run);
        run();
    }
    if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace fukayomi
