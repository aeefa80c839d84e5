// The most that one thread of this CPU can do: multiply-adds of vectors in registers, and the traffic of a copy and of
// a sum over memory that no cache holds. Measured once per CPU, in about 0.2 s, and kept in a file.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <ctime>
#include <memory>
#include <new>
#include <string>

#include "rldb/debug/profile.h"
#include "rldb/support/cpu.h"
#include "rldb/support/file.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace rldb::debug {

namespace {

// Independent sums: enough to hide the latency of a multiply-add. RLDB_IN_REGISTERS has the same number.
constexpr std::size_t kChains = 10;
constexpr int kTries = 8;  // the best one counts

// A loop of multiply-adds: `rounds` times kChains of them on vectors of `width` elements.
struct PeakLoop {
  std::size_t width = 1;
  double (*run)(std::uint64_t rounds) = nullptr;
};

// A loop over an array is in registers only if it is unrolled.
#define RLDB_IN_REGISTERS _Pragma("GCC unroll 10")

#if defined(__x86_64__)
#define RLDB_PEAK_LOOP(NAME, FEATURES, VECTOR, ELEMENT, SET, MULTIPLY_ADD)             \
  __attribute__((target(FEATURES))) double NAME(std::uint64_t rounds) {                \
    VECTOR sums[kChains];                                                              \
    for (std::size_t i = 0; i < kChains; ++i) sums[i] = SET(ELEMENT(i));               \
    const VECTOR a = SET(ELEMENT(0.999)), b = SET(ELEMENT(0.001));                     \
    for (std::uint64_t r = 0; r < rounds; ++r) {                                       \
      RLDB_IN_REGISTERS                                                                \
      for (std::size_t i = 0; i < kChains; ++i) sums[i] = MULTIPLY_ADD(sums[i], a, b); \
    }                                                                                  \
    ELEMENT out[sizeof(VECTOR) / sizeof(ELEMENT)];                                     \
    double sum = 0;                                                                    \
    for (std::size_t i = 0; i < kChains; ++i) {                                        \
      std::memcpy(out, &sums[i], sizeof out);                                          \
      sum += double(out[0]);                                                           \
    }                                                                                  \
    return sum;                                                                        \
  }
RLDB_PEAK_LOOP(peak_f32_512, "avx512f", __m512, float, _mm512_set1_ps, _mm512_fmadd_ps)
RLDB_PEAK_LOOP(peak_f64_512, "avx512f", __m512d, double, _mm512_set1_pd, _mm512_fmadd_pd)
RLDB_PEAK_LOOP(peak_f32_256, "avx2,fma", __m256, float, _mm256_set1_ps, _mm256_fmadd_ps)
RLDB_PEAK_LOOP(peak_f64_256, "avx2,fma", __m256d, double, _mm256_set1_pd, _mm256_fmadd_pd)
#define RLDB_ADD_PS(x, a, b) _mm_add_ps(_mm_mul_ps(x, a), b)
#define RLDB_ADD_PD(x, a, b) _mm_add_pd(_mm_mul_pd(x, a), b)
RLDB_PEAK_LOOP(peak_f32_128, "sse2", __m128, float, _mm_set1_ps, RLDB_ADD_PS)
RLDB_PEAK_LOOP(peak_f64_128, "sse2", __m128d, double, _mm_set1_pd, RLDB_ADD_PD)
#undef RLDB_ADD_PS
#undef RLDB_ADD_PD
#undef RLDB_PEAK_LOOP

PeakLoop peak_loop(bool f64) {
  if (__builtin_cpu_supports("avx512f")) return {f64 ? 8U : 16U, f64 ? peak_f64_512 : peak_f32_512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {f64 ? 4U : 8U, f64 ? peak_f64_256 : peak_f32_256};
  return {f64 ? 2U : 4U, f64 ? peak_f64_128 : peak_f32_128};
}
#elif defined(__aarch64__)
double peak_f32_neon(std::uint64_t rounds) {
  float32x4_t sums[kChains];
  for (std::size_t i = 0; i < kChains; ++i) sums[i] = vdupq_n_f32(float(i));
  const float32x4_t a = vdupq_n_f32(0.999F), b = vdupq_n_f32(0.001F);
  for (std::uint64_t r = 0; r < rounds; ++r) {
    RLDB_IN_REGISTERS
    for (std::size_t i = 0; i < kChains; ++i) sums[i] = vfmaq_f32(b, sums[i], a);
  }
  double sum = 0;
  for (std::size_t i = 0; i < kChains; ++i) sum += double(vgetq_lane_f32(sums[i], 0));
  return sum;
}
double peak_f64_neon(std::uint64_t rounds) {
  float64x2_t sums[kChains];
  for (std::size_t i = 0; i < kChains; ++i) sums[i] = vdupq_n_f64(double(i));
  const float64x2_t a = vdupq_n_f64(0.999), b = vdupq_n_f64(0.001);
  for (std::uint64_t r = 0; r < rounds; ++r) {
    RLDB_IN_REGISTERS
    for (std::size_t i = 0; i < kChains; ++i) sums[i] = vfmaq_f64(b, sums[i], a);
  }
  double sum = 0;
  for (std::size_t i = 0; i < kChains; ++i) sum += vgetq_lane_f64(sums[i], 0);
  return sum;
}
PeakLoop peak_loop(bool f64) { return {f64 ? 2U : 4U, f64 ? peak_f64_neon : peak_f32_neon}; }
#else
PeakLoop peak_loop(bool) { return {}; }
#endif

// Keeps a result that nobody reads from being left out.
void keep_result(double value) {
  static volatile double kept;
  kept = value;
  (void)kept;
}

// Somebody may read the memory: the compiler leaves out a copy that nobody reads.
void keep_memory(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

// Of this thread's own time: other work on the machine does not count.
double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

double seconds_of(const auto& work) {
  const double begin = thread_seconds();
  work();
  return thread_seconds() - begin;
}

double operations_per_second(bool f64) {
  const PeakLoop loop = peak_loop(f64);
  if (!loop.run) return 0;
  constexpr std::uint64_t kRounds = 500'000;
  double best = 0;
  for (int t = 0; t < kTries; ++t) {
    const double seconds = seconds_of([&] { keep_result(loop.run(kRounds)); });
    best = std::max(best, 2.0 * double(kRounds * kChains * loop.width) / std::max(seconds, 1e-9));
  }
  return best;
}

// The better one of a copy (it reads and writes) and a sum (it only reads).
double bytes_per_second() {
  constexpr std::size_t kWords = std::size_t(48) << 17;  // 48 MiB
  const std::unique_ptr<std::uint64_t[]> from(new (std::nothrow) std::uint64_t[kWords]),
      to(new (std::nothrow) std::uint64_t[kWords]);
  if (!from || !to) return 0;
  constexpr std::size_t kBytes = kWords * sizeof(std::uint64_t);
  std::memset(from.get(), 1, kBytes);
  std::memset(to.get(), 2, kBytes);
  double best = 0;
  for (int t = 0; t < kTries; ++t) {
    const double copied = seconds_of([&] {
      std::memcpy(to.get(), from.get(), kBytes);
      keep_memory(to.get());
    });
    best = std::max(best, 2.0 * double(kBytes) / std::max(copied, 1e-9));
    const double read = seconds_of([&] {
      std::array<std::uint64_t, 8> sums{};
      for (std::size_t i = 0; i < kWords; i += sums.size())
        for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += from[i + k];
      keep_result(double(sums[0] ^ sums[1] ^ sums[2] ^ sums[3] ^ sums[4] ^ sums[5] ^ sums[6] ^ sums[7]));
    });
    best = std::max(best, double(kBytes) / std::max(read, 1e-9));
  }
  return best;
}

// Lines: how it was measured, the CPU, three numbers. Those of another CPU, or of a damaged file, are measured again.
constexpr std::string_view kMethod = "multiply-adds, copy, sum\n";
bool read_rates(std::string_view text, PeakRates& rates) {
  if (!text.starts_with(kMethod)) return false;
  text.remove_prefix(kMethod.size());
  const std::size_t line = text.find('\n');
  if (line == std::string_view::npos || text.substr(0, line) != rates.cpu) return false;
  text.remove_prefix(line + 1);
  for (double* number : {&rates.f32_operations, &rates.f64_operations, &rates.bytes}) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
    if (error != std::errc() || end == text.data() + text.size() || *end != '\n') return false;
    if (!(*number > 0 && *number < 1e18)) return false;
    text.remove_prefix(std::size_t(end - text.data()) + 1);
  }
  return text.empty();
}

}  // namespace

PeakRates peak_rates(const std::string& folder) {
  PeakRates rates;
  rates.cpu = support::cpu_model();
  const std::string path = folder.empty() ? std::string() : folder + "/peak_rates";
  if (!path.empty())
    if (const auto text = support::read_file(path); text.ok() && read_rates(*text, rates)) return rates;
  rates.f32_operations = operations_per_second(false);
  rates.f64_operations = operations_per_second(true);
  rates.bytes = bytes_per_second();
  if (!path.empty())  // the next one measures again if this fails
    (void)support::write_file(path, fmt::format("{}{}\n{}\n{}\n{}\n", kMethod, rates.cpu, rates.f32_operations,
                                                rates.f64_operations, rates.bytes));
  return rates;
}

}  // namespace rldb::debug
