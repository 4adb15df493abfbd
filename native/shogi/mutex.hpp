// A mutex whose rules clang checks (-Wthread-safety, in .ci/portability): which members it guards, and which functions need it.
// https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#pragma once

#include <mutex>

#if defined(__clang__)
#define FUKAYOMI_THREAD(ATTRIBUTE) __attribute__((ATTRIBUTE))
#else
#define FUKAYOMI_THREAD(ATTRIBUTE)
#endif
#define FUKAYOMI_GUARDED_BY(MUTEX) FUKAYOMI_THREAD(guarded_by(MUTEX))
#define FUKAYOMI_REQUIRES(...) FUKAYOMI_THREAD(requires_capability(__VA_ARGS__))

namespace fukayomi {

class FUKAYOMI_THREAD(capability("mutex")) Mutex {
public:
    void lock() FUKAYOMI_THREAD(acquire_capability()) { mutex_.lock(); }
    void unlock() FUKAYOMI_THREAD(release_capability()) { mutex_.unlock(); }
    bool try_lock() FUKAYOMI_THREAD(try_acquire_capability(true)) { return mutex_.try_lock(); }

private:
    std::mutex mutex_;
};

// Holds a mutex to the end of its block.
class FUKAYOMI_THREAD(scoped_lockable) Lock {
public:
    explicit Lock(Mutex& mutex) FUKAYOMI_THREAD(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
    ~Lock() FUKAYOMI_THREAD(release_capability()) { mutex_.unlock(); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

private:
    Mutex& mutex_;
};

}  // namespace fukayomi
