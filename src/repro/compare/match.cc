// Matcher: pairs the tensors of two runs, by name, origin, type and value.
#include "repro/compare/match.h"

#include <algorithm>
#include <unordered_set>

#include "rldb/support/cancel.h"

namespace rldb::repro {

using runtime::ValueKind;

namespace {

// Limit on the candidates for one tensor: those with its name come first, and programs of thousands of equal layers
// must not cost a comparison of every pair.
constexpr std::size_t kMaxCandidates = 512;
constexpr std::size_t kMaxOrigins = 64;

std::size_t type_hash(const Event& e) {
  if (!e.value.is(ValueKind::Tensor)) return 0;
  const runtime::Tensor& t = e.value.as_tensor();
  std::size_t h = std::size_t(t.dtype().code) * 131 + t.dtype().bits;
  for (const std::int64_t d : t.shape()) h = h * 1000003 + std::size_t(d) + 1;
  return h;
}

// A register of an executable has another meaning in a different one.
bool is_register(const std::string& name) { return name.starts_with("%") || name.starts_with("<"); }  // or none

bool share_name(const Event& a, const Event& b) {
  return std::any_of(a.names.begin(), a.names.end(), [&](const std::string& n) {
    return !is_register(n) && std::find(b.names.begin(), b.names.end(), n) != b.names.end();
  });
}

// One kernel may be the other, alone or fused with more; an unknown kernel may be any.
bool related(std::string_view a, std::string_view b) {
  a = stem(a);
  b = stem(b);
  return a.empty() || b.empty() || a.find(b) != std::string_view::npos || b.find(a) != std::string_view::npos;
}

// The node and its origins, some steps back.
std::unordered_set<std::uint32_t> origins_of(const ir::Context& ctx, const ir::Binding* b) {
  std::unordered_set<std::uint32_t> seen;
  if (!b) return seen;
  std::vector<std::uint32_t> open{b->id, b->var->id};
  if (ir::as<ir::Call>(b->value)) open.push_back(b->value->id);  // a variable or a constant occurs in many places
  while (!open.empty() && seen.size() < kMaxOrigins) {
    const std::uint32_t id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    const auto from = ctx.origins().get(id);
    open.insert(open.end(), from.begin(), from.end());
  }
  return seen;
}

}  // namespace

std::string_view stem(std::string_view callee) {
  while (!callee.empty() && callee.back() >= '0' && callee.back() <= '9') callee.remove_suffix(1);
  while (!callee.empty() && callee.back() == '_') callee.remove_suffix(1);
  return callee;
}

Matcher::Matcher(ir::Context& ctx, const Trace& a, const Trace& b, const Tolerances& tolerances)
    : ctx_(ctx), a_(a), b_(b), tolerances_(tolerances), equal_(b.events.size(), kNoEvent), taken_(a.events.size()) {
  for (std::size_t i = 0; i < a.events.size(); ++i) {
    for (const std::string& name : a.events[i].names)
      if (!is_register(name)) by_name_[name].push_back(i);
    by_type_[type_hash(a.events[i])].push_back(i);
  }
  std::unordered_set<std::string_view> functions;
  for (const Event& e : a.events) functions.insert(e.function);
  for (const Event& e : b.events)
    if (functions.contains(e.function)) functions_of_both_.insert(e.function);
  for (std::size_t j = 0; j < b.events.size(); ++j) {
    support::poll();
    for (const std::string& name : b.events[j].names)
      if (!is_register(name)) by_name_b_[name].push_back(j);
    equal_[j] = find_equal(j);
    if (equal_[j] != kNoEvent) taken_[equal_[j]] = true;
  }
}

bool Matcher::same_value(const Event& a, const Event& b) const {
  if (!a.value.is(ValueKind::Tensor) || !b.value.is(ValueKind::Tensor)) return false;
  const runtime::Tensor& x = a.value.as_tensor();
  const runtime::Tensor& y = b.value.as_tensor();
  if (x.dtype() != y.dtype() || x.shape() != y.shape()) return false;
  return !difference(a.value, b.value, tolerances_);
}

std::size_t Matcher::find_equal(std::size_t b) const {
  const Event& e = b_.events[b];
  for (const std::string& name : e.names)
    if (const auto it = by_name_.find(name); it != by_name_.end())
      for (const std::size_t a : it->second)
        if (same_value(a_.events[a], e)) return a;
  const auto it = by_type_.find(type_hash(e));
  if (it == by_type_.end()) return kNoEvent;
  // The nearest in time first: runs of one program mostly keep their order.
  const auto middle = std::lower_bound(it->second.begin(), it->second.end(), b);
  std::ptrdiff_t up = middle - it->second.begin(), down = up - 1;
  const auto size = std::ptrdiff_t(it->second.size());
  for (std::size_t tried = 0; tried < kMaxCandidates && (up < size || down >= 0); ++tried) {
    const bool forward = down < 0 || (up < size && tried % 2 == 0);
    const std::size_t a = it->second[std::size_t(forward ? up++ : down--)];
    if (same_value(a_.events[a], e)) return a;
  }
  return kNoEvent;
}

std::size_t Matcher::namesake(std::size_t b) const {
  const Event& e = b_.events[b];
  for (const std::string& name : e.names) {
    const auto ours = by_name_b_.find(name);
    const auto theirs = by_name_.find(name);
    if (ours == by_name_b_.end() || theirs == by_name_.end()) continue;
    const auto turn = std::size_t(std::find(ours->second.begin(), ours->second.end(), b) - ours->second.begin());
    if (turn >= theirs->second.size()) continue;
    const Event& f = a_.events[theirs->second[turn]];
    if (f.function == e.function && f.is_parameter() == e.is_parameter() && related(f.callee, e.callee))
      return theirs->second[turn];
  }
  return kNoEvent;
}

bool Matcher::became_equal_to_another(std::size_t b) const {
  const std::size_t other = equal_[b];
  const std::size_t own = namesake(b);
  if (other == kNoEvent || own == kNoEvent || own == other || taken_[own]) return false;
  const Event& e = a_.events[other];
  return std::any_of(e.names.begin(), e.names.end(), [&](const std::string& name) {
    const auto it = by_name_b_.find(name);
    if (it == by_name_b_.end()) return false;
    return std::any_of(it->second.begin(), it->second.end(),
                       [&](std::size_t j) { return j != b && equal_[j] == other; });
  });
}

bool Matcher::same_origin(const Event& a, const Event& b) const {
  if (!a.binding || !b.binding) return false;
  const auto left = origins_of(ctx_, a.binding);
  const auto right = origins_of(ctx_, b.binding);
  return std::any_of(right.begin(), right.end(), [&](std::uint32_t id) { return left.contains(id); });
}

bool Matcher::reads_the_same(const Event& a, const Event& b) const {
  if (a.inputs.empty() || a.inputs.size() != b.inputs.size()) return false;
  for (std::size_t i = 0; i < a.inputs.size(); ++i)
    if (b.inputs[i].event == kNoEvent || equal_[b.inputs[i].event] != a.inputs[i].event) return false;
  return true;
}

bool Matcher::is_computed_alike(std::size_t b) const {
  if (equal_[b] == kNoEvent) return false;
  const Event &x = a_.events[equal_[b]], &y = b_.events[b];
  if (x.is_parameter() || y.is_parameter()) return x.is_parameter() && y.is_parameter();
  return stem(x.callee) == stem(y.callee) && reads_the_same(x, y);
}

// How likely it is that two tensors correspond. An equal name means little when something else computed it: passes
// renumber their temporaries.
int Matcher::likeness(const Event& a, const Event& b) const {
  const bool same_callee = !b.callee.empty() && stem(a.callee) == stem(b.callee);
  const bool named = share_name(a, b);
  const bool origin = same_origin(a, b);
  int score = origin ? 4 : 0;
  if (named) score += related(a.callee, b.callee) ? 3 : 1;
  if (same_callee) score += 2;
  if ((named || same_callee || origin) && reads_the_same(a, b)) score += 2;
  if (a.function == b.function) return score + 1;
  // A function that both sides run has its counterparts there; most of those of one fusion look like another's.
  return score - (functions_of_both_.contains(a.function) && functions_of_both_.contains(b.function) ? 2 : 0);
}

std::size_t Matcher::counterpart(std::size_t b, int least) const {
  const Event& e = b_.events[b];
  const auto it = by_type_.find(type_hash(e));
  if (it == by_type_.end()) return kNoEvent;
  std::size_t best = kNoEvent;
  int best_score = 0;
  for (const std::size_t a : it->second) {
    if (taken_[a]) continue;
    const Event& f = a_.events[a];
    const int score = likeness(f, e);
    if (score > best_score && score >= least) {
      best_score = score;
      best = a;
    }
  }
  return best;
}

}  // namespace rldb::repro
