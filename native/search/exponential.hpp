// The exponential function of what is not positive.
#pragma once

#include <bit>
#include <cstdint>

namespace fukayomi {

// e^x for x <= 0 to seven digits; a prior has three and a half. Plain arithmetic, so that a loop over it becomes vector
// instructions and every computer gets the same tree: e^x = 2^n * e^r, n the nearest integer to x / ln 2.
inline float exp_negative(float x) {
    x = x < -80.0F ? -80.0F : x;
    const float shifted = x * 1.44269504F + 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
    const float n = shifted - 12582912.0F;
    const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;  // ln 2 in two parts
    float p = 1.0F / 720.0F;
    p = p * r + 1.0F / 120.0F;
    p = p * r + 1.0F / 24.0F;
    p = p * r + 1.0F / 6.0F;
    p = p * r + 0.5F;
    p = p * r + 1.0F;
    p = p * r + 1.0F;
    const auto exponent = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127) << 23;
    return p * std::bit_cast<float>(exponent);
}

}  // namespace fukayomi
