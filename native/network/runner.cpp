#include "network/runner.hpp"

#include <algorithm>
#include <utility>

namespace fukayomi {

NetworkRunner::NetworkRunner(std::shared_ptr<const ResidualNetwork> network, std::size_t threads) : network_(std::move(network)) {
    for (std::size_t n = 0; n < threads; ++n) scratches_.emplace_back(*network_);
    try {
        for (std::size_t n = 1; n < threads; ++n) helpers_.emplace_back([this, n] { help(n); });
    } catch (...) {  // the system has no more threads
        stop();
        throw;
    }
}

NetworkRunner::~NetworkRunner() { stop(); }

void NetworkRunner::stop() {
    {
        const std::lock_guard lock(mutex_);
        is_over_ = true;
    }
    begin_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
}

bool NetworkRunner::run(std::size_t count, const PlaneInput& in, const SlotOutput& out) {
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

void NetworkRunner::help(std::size_t worker) {
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

void NetworkRunner::evaluate_share(std::size_t worker, const Work& work) {
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
