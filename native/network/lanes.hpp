// A vector of FUKAYOMI_LANES floats, for files that are compiled once for each set of vector instructions. Everything is in an unnamed
// namespace and nothing comes from the standard library: no function that is compiled here for newer processors may take the place of
// its namesake elsewhere.
#pragma once

#include <cstddef>

namespace fukayomi {
namespace {

constexpr std::size_t LANES = FUKAYOMI_LANES;

#if defined(__GNUC__) || defined(__clang__)
typedef float Lanes __attribute__((vector_size(4 * LANES)));
typedef float UnalignedLanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

inline Lanes load(const float* from) { return *reinterpret_cast<const UnalignedLanes*>(from); }
inline void store(float* to, Lanes x) { *reinterpret_cast<UnalignedLanes*>(to) = x; }
inline Lanes all(float x) { return x - Lanes{}; }
inline Lanes positive(Lanes x) { return Lanes{} > x ? Lanes{} : x; }                               // NaN stays
inline Lanes smaller(Lanes x, Lanes y) { return x > y ? y : x; }                                   // NaN of x stays
inline Lanes inside(Lanes x, Lanes y) { return ((x > Lanes{}) & (x < all(1.0F))) ? y : Lanes{}; }  // y where x is between 0 and 1
inline float total(Lanes x) {
    typedef float Four __attribute__((vector_size(16), may_alias));
    const Four* parts = reinterpret_cast<const Four*>(&x);
    Four sum = parts[0];
    for (std::size_t i = 1; i < LANES / 4; ++i) sum = sum + parts[i];
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}
inline void prefetch(const void* from) { __builtin_prefetch(from); }
#define FUKAYOMI_UNROLL _Pragma("GCC unroll 12")
#else
struct Lanes {
    float at[LANES];
};
#define FUKAYOMI_EACH(EXPRESSION)                                   \
    Lanes out;                                                      \
    for (std::size_t i = 0; i < LANES; ++i) out.at[i] = EXPRESSION; \
    return out
inline Lanes load(const float* from) { FUKAYOMI_EACH(from[i]); }
inline void store(float* to, Lanes x) {
    for (std::size_t i = 0; i < LANES; ++i) to[i] = x.at[i];
}
inline Lanes all(float x) { FUKAYOMI_EACH(x); }
inline Lanes positive(Lanes x) { FUKAYOMI_EACH(0 > x.at[i] ? 0.0f : x.at[i]); }
inline Lanes smaller(Lanes x, Lanes y) { FUKAYOMI_EACH(x.at[i] > y.at[i] ? y.at[i] : x.at[i]); }
inline Lanes inside(Lanes x, Lanes y) { FUKAYOMI_EACH(x.at[i] > 0 && x.at[i] < 1 ? y.at[i] : 0.0f); }
inline float total(Lanes x) {
    float sum = 0.0f;
    for (std::size_t i = 0; i < LANES; ++i) sum += x.at[i];
    return sum;
}
inline Lanes operator+(Lanes x, Lanes y) { FUKAYOMI_EACH(x.at[i] + y.at[i]); }
inline Lanes operator-(Lanes x, Lanes y) { FUKAYOMI_EACH(x.at[i] - y.at[i]); }
inline Lanes operator*(Lanes x, Lanes y) { FUKAYOMI_EACH(x.at[i] * y.at[i]); }
inline Lanes operator*(float x, Lanes y) { FUKAYOMI_EACH(x * y.at[i]); }
inline void prefetch(const void*) {}
#define FUKAYOMI_UNROLL
#endif

}  // namespace
}  // namespace fukayomi
