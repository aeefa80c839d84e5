// The state of a machine as a number, and what two CPUs differ in.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "rldb/support/cancel.h"
#include "rldb/support/hash.h"
#include "rldb/ui/prompt/run_file.h"

namespace rldb::ui {

using runtime::Value;
using runtime::ValueKind;

namespace {

class StateDigest {
 public:
  void number(std::uint64_t v) { bytes({reinterpret_cast<const char*>(&v), sizeof v}); }
  void bytes(std::string_view text) {
    support::poll();
    hash_ = (hash_ ^ support::fnv1a(text)) * 0x9E3779B97F4A7C15u;
  }
  void value(const Value& v, int depth = 0) {
    constexpr int kMaxDepth = 200;
    number(std::uint64_t(v.kind()));
    if (v.is(ValueKind::Int) || v.is(ValueKind::Bool) || v.is(ValueKind::Float)) number(bits(v));
    if (v.is(ValueKind::String)) bytes(v.as_string());
    if (v.is(ValueKind::Shape))
      for (const std::int64_t d : v.as_shape()) number(std::uint64_t(d));
    if (v.is(ValueKind::Tensor)) {
      const runtime::Tensor& t = v.as_tensor();
      for (const std::int64_t d : t.shape()) number(std::uint64_t(d));
      bytes({reinterpret_cast<const char*>(t.peek()), t.byte_size()});
    }
    if (v.is(ValueKind::Tuple) && depth < kMaxDepth)
      for (const Value& field : v.as_tuple().fields) value(field, depth + 1);
  }
  std::uint64_t take() const { return hash_; }

 private:
  static std::uint64_t bits(const Value& v) {
    if (!v.is(ValueKind::Float)) return std::uint64_t(v.as_int());
    const double d = v.as_float();
    std::uint64_t word = 0;
    std::memcpy(&word, &d, sizeof word);
    return word;
  }
  std::uint64_t hash_ = 0xCBF29CE484222325u;
};

}  // namespace

std::uint64_t state_digest(const vm::Machine& machine) {
  StateDigest digest;
  for (std::size_t f = 0; f < machine.frames().size(); ++f) {
    digest.number(std::uint64_t(machine.frames()[f].function));
    digest.number(std::uint64_t(machine.frames()[f].pc.value()));
    for (const Value& v : machine.registers(f)) digest.value(v);
  }
  return digest.take();
}

std::string feature_difference(const std::vector<std::string>& theirs, const std::vector<std::string>& ours) {
  const auto only = [](const std::vector<std::string>& a, const std::vector<std::string>& b) {
    std::vector<std::string> out;
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
    return out;
  };
  std::vector<std::string> sorted_theirs = theirs, sorted_ours = ours;
  std::sort(sorted_theirs.begin(), sorted_theirs.end());
  std::sort(sorted_ours.begin(), sorted_ours.end());
  const std::vector<std::string> there = only(sorted_theirs, sorted_ours), here = only(sorted_ours, sorted_theirs);
  std::string text;
  if (!there.empty()) text = fmt::format("only the other CPU has {}", fmt::join(there, ", "));
  if (!here.empty()) text += fmt::format("{}only this one has {}", text.empty() ? "" : "; ", fmt::join(here, ", "));
  return text;
}

}  // namespace rldb::ui
