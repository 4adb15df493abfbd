// A mutex whose rules clang checks (-Wthread-safety, in .ci/portability): which members it guards, and which functions need it.
// https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#if defined(__clang__)
#define FUKAYOMI_THREAD(ATTRIBUTE) __attribute__((ATTRIBUTE))
#else
#define FUKAYOMI_THREAD(ATTRIBUTE)
#endif
#define FUKAYOMI_GUARDED_BY(MUTEX) FUKAYOMI_THREAD(guarded_by(MUTEX))
#define FUKAYOMI_REQUIRES(MUTEX) FUKAYOMI_THREAD(requires_capability(MUTEX))

namespace fukayomi {

class FUKAYOMI_THREAD(capability("mutex")) Mutex {
  public:
    // What a mutex guards here takes microseconds, and to sleep and be woken longer: so it is tried for a while first.
    void lock() FUKAYOMI_THREAD(acquire_capability()) {
        for (int tries = 0; tries < TRIES; ++tries) {
            if (mutex_.try_lock()) return;
            std::this_thread::yield();
        }
        mutex_.lock();
    }
    void unlock() FUKAYOMI_THREAD(release_capability()) { mutex_.unlock(); }

    // As `lock`, for one who asks while another thread holds the mutex most of the time, and takes it again at once.
    void lock_first() FUKAYOMI_THREAD(acquire_capability()) {
        asking_.fetch_add(1);
        mutex_.lock();
        asking_.fetch_sub(1);
    }
    // That other thread waits here until those who ask have had the mutex. It does not hold it.
    void let_pass() const {
        while (asking_.load() > 0) std::this_thread::yield();
    }

  private:
    static constexpr int TRIES = 100;

    std::mutex mutex_;
    std::atomic<int> asking_ = 0;
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

// The same by `lock_first`.
class FUKAYOMI_THREAD(scoped_lockable) Asking {
  public:
    explicit Asking(Mutex& mutex) FUKAYOMI_THREAD(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock_first(); }
    ~Asking() FUKAYOMI_THREAD(release_capability()) { mutex_.unlock(); }
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

  private:
    Mutex& mutex_;
};

}  // namespace fukayomi
