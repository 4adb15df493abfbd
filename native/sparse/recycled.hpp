// Large arrays that are needed again and again, as the gradients of each step: memory that the operating system gives anew costs
// more than what is computed in it.
#pragma once

#include <cstddef>

namespace fukayomi {

// Uninitialised floats, aligned to cache lines. Freed memory is kept for the next one of about the same size.
class Recycled {
  public:
    explicit Recycled(std::size_t count);
    ~Recycled();
    Recycled(const Recycled&) = delete;
    Recycled& operator=(const Recycled&) = delete;

    float* data() const { return data_; }

  private:
    float* data_;
    std::size_t capacity_;
};

}  // namespace fukayomi
