// The inputs on which programs were compared, for the reader: a verdict holds for these. Users: bisect, compare, the
// commands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rldb::repro {

struct TriedInputs {
  std::vector<std::string> dims;     // `n=7, m=8`; empty: there are no symbolic ones
  std::vector<std::string> numbers;  // kinds of generated numbers
  std::vector<std::uint64_t> seeds;  // of generated numbers
  std::vector<std::string> inputs;   // given ones, as texts
  std::vector<std::string> weights;  // parameters that had the values of the model's initialisers
  void add_dims(const std::string& text);
  void add_numbers(const std::string& text);
  void add_seed(std::uint64_t seed);
  void add_weight(const std::string& parameter);
  void add(const TriedInputs& other);
  bool empty() const { return dims.empty() && numbers.empty() && inputs.empty() && weights.empty(); }
};

// The numbers that a session generates, in words. Uses as indices are followed in Relax modules only.
inline constexpr const char* kUsualNumbersUnfollowed = "floats from -1 to 1, integers from 0 to 9";
inline constexpr const char* kUsualNumbers = "floats from -1 to 1, integers from 0 to 9, indices over whole dimensions";

// `dims n=7, m=8; n=7, m=7 | numbers: ... | seeds 0, 24301 | weights of the model: w, b`; empty: nothing was tried.
std::string to_string(const TriedInputs& t);

}  // namespace rldb::repro
