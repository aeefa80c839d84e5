// A fuzz target: a function that tries one input, and one that makes a new input from an old one.
//
// Each <name>_fuzz.cc defines both. Built by Clang they are libFuzzer targets (libfuzzer_entry.cc); built by any
// compiler they are programs that run a number of seeded inputs in child processes (driver.cc), as scripts/test
// does.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::fuzz {

using Rng = std::mt19937_64;
// Whole inputs from which to start and to take pieces.
using Pool = std::vector<std::string>;

inline std::size_t below(Rng& rng, std::size_t n) { return n == 0 ? 0 : std::size_t(rng() % n); }

// Empty, or the problem. A signal, an uncaught exception and a hang are detected by the caller.
std::string run_one(const std::string& input);
std::string mutate_one(const std::string& input, const Pool& pool, Rng& rng);
// The endings of the seed files that suit the target, e.g. ".py"; empty: all files.
extern const std::vector<std::string> kSeedEndings;

}  // namespace rldb::fuzz
