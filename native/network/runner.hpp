// Batches of one slot: the positions are divided among some threads.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "encode/evaluator.hpp"
#include "network/threads.hpp"

namespace fukayomi {

// A network has `Input`, the kind that it reads; `Scratch`, memory of one thread; and `evaluate`, for some rows.
template <class Network>
class Runner final : public CoreEvaluator {
  public:
    // The calling thread works too, so `threads` - 1 are started. Throws as require_threads does.
    Runner(std::shared_ptr<const Network> network, std::size_t threads);
    ~Runner() override;
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    // The first `count` positions of a slot, as `Network::evaluate`. A second caller waits for the first.
    bool run(std::size_t count, const typename Network::Input& in, const SlotOutput& out);
    bool evaluate(const SlotInput& in, std::size_t count, const SlotOutput& out) override {
        return run(count, input_as<typename Network::Input>(in), out);
    }

  private:
    void stop();

    struct Work {
        std::size_t count = 0;
        const typename Network::Input* in = nullptr;
        SlotOutput out{};
    };

    void help(std::size_t worker);
    void evaluate_share(std::size_t worker, const Work& work);

    std::shared_ptr<const Network> network_;
    std::vector<typename Network::Scratch> scratches_;  // one for each thread
    std::mutex callers_;                                // held while a batch is run
    std::mutex mutex_;                                  // of what follows
    std::condition_variable begin_, end_;
    Work work_;
    std::size_t round_ = 0;    // of the work
    std::size_t working_ = 0;  // helpers that have not finished it
    bool is_finite_ = true;
    std::exception_ptr error_;
    bool is_over_ = false;
    std::vector<std::thread> helpers_;
};

template <class Network>
Runner<Network>::Runner(std::shared_ptr<const Network> network, std::size_t threads) : network_(std::move(network)) {
    require_threads(threads);
    for (std::size_t n = 0; n < threads; ++n) scratches_.emplace_back(*network_);
    try {
        for (std::size_t n = 1; n < threads; ++n) helpers_.emplace_back([this, n] { help(n); });
    } catch (...) {  // the system has no more threads
        stop();
        throw;
    }
}

template <class Network>
Runner<Network>::~Runner() {
    stop();
}

template <class Network>
void Runner<Network>::stop() {
    {
        const std::lock_guard lock(mutex_);
        is_over_ = true;
    }
    begin_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
}

template <class Network>
bool Runner<Network>::run(std::size_t count, const typename Network::Input& in, const SlotOutput& out) {
    const std::lock_guard caller(callers_);
    const Work work{count, &in, out};
    {
        const std::lock_guard lock(mutex_);
        work_ = work;
        is_finite_ = true;
        error_ = nullptr;
        working_ = helpers_.size();
        ++round_;
    }
    begin_.notify_all();
    evaluate_share(0, work);
    std::unique_lock lock(mutex_);
    end_.wait(lock, [this] { return working_ == 0; });
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
    return is_finite_;
}

template <class Network>
void Runner<Network>::help(std::size_t worker) {
    std::size_t done = 0;
    std::unique_lock lock(mutex_);
    while (true) {
        begin_.wait(lock, [&] { return is_over_ || round_ != done; });
        if (is_over_) return;
        done = round_;
        const Work work = work_;
        lock.unlock();
        evaluate_share(worker, work);
        lock.lock();
        if (--working_ == 0) end_.notify_one();
    }
}

template <class Network>
void Runner<Network>::evaluate_share(std::size_t worker, const Work& work) {
    const std::size_t workers = scratches_.size();
    const std::size_t first = work.count * worker / workers, last = work.count * (worker + 1) / workers;
    bool is_finite = true;
    std::exception_ptr error;
    try {
        is_finite = network_->evaluate(scratches_[worker], first, last - first, *work.in, work.out);
    } catch (...) {
        error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    is_finite_ = is_finite_ && is_finite;
    if (error != nullptr) error_ = error;
}

}  // namespace fukayomi
