// The generated arguments of a call, in a few lines.
#include "rldb/session/generated.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rldb::session {

namespace {

bool lacks_numbers(const runtime::Value& v, int depth) {
  constexpr std::int64_t kMost = 10'000'000;
  constexpr int kDeepest = 16;
  if (v.is(runtime::ValueKind::Tuple) && depth < kDeepest) {
    const auto& fields = v.as_tuple().fields;
    return std::any_of(fields.begin(), fields.end(), [&](const auto& f) { return lacks_numbers(f, depth + 1); });
  }
  if (!v.is(runtime::ValueKind::Tensor)) return false;
  const runtime::Tensor& t = v.as_tensor();
  if (!t.dtype().is_float() || t.dtype().lanes != 1) return false;
  for (std::int64_t i = 0; i < std::min(t.element_count(), kMost); ++i)
    if (!std::isfinite(t.at(i))) return true;
  return false;
}

}  // namespace

bool any_generated(std::span<const Argument> arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const Argument& a) { return a.generated; });
}

bool lacks_numbers(const runtime::Value& result) { return lacks_numbers(result, 0); }

std::vector<std::string> generated_lines(std::span<const Argument> arguments) {
  constexpr std::size_t kAll = 12, kFirst = 8;  // up to so many are all named, of more the first
  std::vector<const Argument*> generated;
  for (const Argument& a : arguments)
    if (a.generated) generated.push_back(&a);
  const std::size_t named = generated.size() <= kAll ? generated.size() : kFirst;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < named; ++i)
    lines.push_back(fmt::format("generated {} = {}", generated[i]->parameter, runtime::describe(generated[i]->value)));
  if (named < generated.size())
    lines.push_back(fmt::format("generated {} more, {} to {}", generated.size() - named, generated[named]->parameter,
                                generated.back()->parameter));
  return lines;
}

}  // namespace rldb::session
