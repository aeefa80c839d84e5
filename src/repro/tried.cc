// The inputs that were tried, as a line.
#include "rldb/repro/tried.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace rldb::repro {

namespace {

template <class T>
void add_new(std::vector<T>& to, const T& value) {
  if (std::find(to.begin(), to.end(), value) == to.end()) to.push_back(value);
}

// The first of them, and how many more there are: a model has hundreds of weights.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  const std::span<const std::string> shown(names.data(), std::min(names.size(), kShown));
  const std::string more = names.size() > kShown ? fmt::format(" and {} more", names.size() - kShown) : "";
  return fmt::format("{}{}", fmt::join(shown, ", "), more);
}

}  // namespace

void TriedInputs::add_dims(const std::string& text) {
  if (!text.empty()) add_new(dims, text);
}

void TriedInputs::add_numbers(const std::string& text) {
  if (!text.empty()) add_new(numbers, text);
}

void TriedInputs::add_seed(std::uint64_t seed) { add_new(seeds, seed); }

void TriedInputs::add_weight(const std::string& parameter) { add_new(weights, parameter); }

void TriedInputs::add(const TriedInputs& other) {
  for (const std::string& d : other.dims) add_dims(d);
  for (const std::string& n : other.numbers) add_numbers(n);
  for (const std::uint64_t s : other.seeds) add_seed(s);
  for (const std::string& i : other.inputs) add_new(inputs, i);
  for (const std::string& w : other.weights) add_weight(w);
}

std::string to_string(const TriedInputs& t) {
  std::vector<std::string> parts;
  if (!t.dims.empty()) parts.push_back(fmt::format("dims {}", fmt::join(t.dims, "; ")));
  if (!t.numbers.empty()) parts.push_back(fmt::format("{}", fmt::join(t.numbers, "; ")));
  if (!t.numbers.empty() && !t.seeds.empty())
    parts.push_back(fmt::format("{} {}", t.seeds.size() == 1 ? "seed" : "seeds", fmt::join(t.seeds, ", ")));
  if (!t.inputs.empty()) parts.push_back(fmt::format("given: {}", fmt::join(t.inputs, ", ")));
  if (!t.weights.empty()) parts.push_back("weights of the model: " + some_of(t.weights));
  return fmt::format("{}", fmt::join(parts, " | "));
}

}  // namespace rldb::repro
