// Batches of one slot: the positions are divided among some threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "encode/evaluator.hpp"
#include "network/network.hpp"

namespace fukayomi {

class NetworkRunner final : public CoreEvaluator {
  public:
    // The calling thread works too, so `threads` - 1 are started.
    NetworkRunner(std::shared_ptr<const ResidualNetwork> network, std::size_t threads);
    ~NetworkRunner() override;
    NetworkRunner(const NetworkRunner&) = delete;
    NetworkRunner& operator=(const NetworkRunner&) = delete;

    // The first `count` positions of a slot, as `ResidualNetwork::evaluate`. A second caller waits for the first.
    bool run(std::size_t count, const PlaneInput& in, const SlotOutput& out);
    bool evaluate(const SlotInput& in, std::size_t count, const SlotOutput& out) override {
        return run(count, input_as<PlaneInput>(in), out);
    }

  private:
    void stop();

    struct Work {
        std::size_t count = 0;
        const PlaneInput* in = nullptr;
        SlotOutput out{};
    };

    void help(std::size_t worker);
    void evaluate_share(std::size_t worker, const Work& work);

    std::shared_ptr<const ResidualNetwork> network_;
    std::vector<ResidualNetwork::Scratch> scratches_;  // one for each thread
    std::mutex callers_;  // held while a batch is run
    std::mutex mutex_;    // of what follows
    std::condition_variable begin_, end_;
    Work work_;
    std::size_t round_ = 0;    // of the work
    std::size_t working_ = 0;  // helpers that have not finished it
    bool is_finite_ = true;
    std::exception_ptr error_;
    bool is_over_ = false;
    std::vector<std::thread> helpers_;
};

}  // namespace fukayomi
