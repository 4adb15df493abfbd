#include "network/processor.hpp"

#include <algorithm>

#include "network/packing.hpp"

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#include <cpuid.h>
#elif defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>

#include <array>
#endif

namespace fukayomi {

namespace {

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
Instructions find_instructions() {
    __builtin_cpu_init();
    unsigned a = 0, b = 0, c = 0, d = 0;
    const bool has_avx_vnni = __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0;
    return {__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"),
            __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"),
            __builtin_cpu_supports("avx512vnni") != 0, has_avx_vnni};
}
#elif defined(_MSC_VER) && defined(_M_X64)
// Intel's manual, volume 2, CPUID and XGETBV: the processor has the instructions, and the system saves the registers.
Instructions find_instructions() {
    std::array<int, 4> first, seventh, further;
    __cpuid(first.data(), 1);
    __cpuidex(seventh.data(), 7, 0);
    __cpuidex(further.data(), 7, 1);
    const auto bit = [](int word, int number) { return (word >> number & 1) != 0; };
    if (!bit(first[2], 27)) return {};
    const unsigned long long saved = _xgetbv(0);
    // /arch:AVX512 uses F, DQ, CD, BW and VL.
    const bool has_avx512 = bit(seventh[1], 16) && bit(seventh[1], 17) && bit(seventh[1], 28) && bit(seventh[1], 30) && bit(seventh[1], 31);
    return {bit(seventh[1], 5) && bit(first[2], 12) && (saved & 0x6) == 0x6, has_avx512 && (saved & 0xe6) == 0xe6, bit(seventh[2], 11),
            bit(further[0], 4)};
}
#else
Instructions find_instructions() { return {}; }
#endif

std::vector<const Kernels*> find_usable() {
    const Instructions& has = usable_instructions();
    std::vector<const Kernels*> found{&portable_kernels()};
    if (has.avx2 && avx2_kernels() != nullptr) found.push_back(avx2_kernels());
    if (has.avx512 && avx512_kernels() != nullptr) found.push_back(avx512_kernels());
    if (has.avx512 && has.vnni && vnni_kernels() != nullptr) found.push_back(vnni_kernels());
    return found;
}

}  // namespace

const Instructions& usable_instructions() {
    static const Instructions usable = find_instructions();
    return usable;
}

const std::vector<const Kernels*>& usable_kernels() {
    static const std::vector<const Kernels*> usable = find_usable();
    return usable;
}

bool computes(const Kernels& kernels, Precision precision) { return precision == Precision::FLOAT32 || kernels.multiply_short != nullptr; }

const Kernels* fastest_kernels(std::size_t channels, Precision precision) {
    const auto cost = [channels](const Kernels* kernels) {  // multiplications for each pair of channels, in vectors
        const std::size_t width = padded(channels, kernels->panel);
        return static_cast<double>(width) * static_cast<double>(width) / static_cast<double>(kernels->panel);
    };
    const Kernels* fastest = nullptr;
    for (const Kernels* kernels : usable_kernels())
        if (computes(*kernels, precision) && (fastest == nullptr || cost(kernels) <= cost(fastest))) fastest = kernels;
    return fastest;
}

}  // namespace fukayomi
