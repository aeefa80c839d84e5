// Runs the first program again, on numbers beside the given ones and with its overflows reported.
#include "repro/bisect/doubt.h"

#include <fmt/format.h>

#include <algorithm>

#include "repro/bisect/numbers.h"
#include "repro/borrow.h"
#include "repro/values.h"
#include "rldb/repro/sanitize.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

using runtime::Value;
using runtime::ValueKind;

namespace {

// The first tensor that differs is computed from equal ones.
bool begins_there(const Comparison& c) {
  return c.result && c.first && c.first->starts_here() && !c.first->inputs_rounded();
}

// Both programs compute that tensor from tensors of the same names: nothing was folded into its computation.
bool reads_alike(const Trace& first, const FirstDifference& d) {
  if (d.other_event == kNoEvent) return false;
  const std::vector<Reading>& reads = first.events[d.other_event].inputs;
  return std::equal(reads.begin(), reads.end(), d.inputs.begin(), d.inputs.end(),
                    [](const Reading& a, const ComparedInput& b) { return a.name == b.name; });
}

// An overflow of the first program, in words; empty: there is none. Where the first tensor that differs is computed
// from equal ones, only one in its own computation matters.
std::string overflow_in(session::Session& session, const Program& good, const Trace& first, const Comparison& c) {
  const bool is_one = begins_there(c) && reads_alike(first, *c.first);
  Sanitizers which;
  which.overflow = true;
  for (const Finding& f : run_sanitized(session, good, which).findings)
    if (f.kind == Finding::Kind::Overflow && (f.dtype == "int32" || f.dtype == "int64") &&
        (!is_one || f.reader == c.first->other_name))
      return fmt::format("the first program overflows {} there: {}", f.dtype, f.statement);
  return {};
}

// The distance of neighbouring numbers, twice.
double two_units(runtime::DType t) {
  if (t.bits >= 64) return 0x1p-51;
  if (t.bits == 32) return 0x1p-22;
  return t.is_bfloat16() ? 0x1p-6 : 0x1p-9;
}

std::vector<Value> shifted(const std::vector<Value>& args) {
  std::vector<Value> out = copies(args);
  for (const Value& v : out)
    for_each_tensor(v, [](const runtime::Tensor& t) {
      if (!is_plain_float(t) || t.dtype().bits < 16) return;
      const double unit = two_units(t.dtype());
      for (std::int64_t i = 0; i < t.element_count(); ++i)
        store(t, i, t.at(i) * (i % 3 == 0 ? 1 - unit : 1 + unit));  // no period of powers of two
    });
  return out;
}

// The leaf of the results changes about as much by the shift as it differs between the programs.
bool hides(const Value& good, const Value& shifted, const TensorDifference& d) {
  constexpr double kMuch = 1.0 / 8;
  Tolerances exact;
  exact.exact = true;
  const auto own = difference(good, shifted, exact);
  if (!own) return false;
  if (!own->kind.empty() || own->not_finite > 0 || own->nan_a + own->nan_b + own->inf_a + own->inf_b > 0) return true;
  return d.kind.empty() && d.not_finite == 0 && own->max_abs >= kMuch * d.max_abs;
}

// Some leaf differs more than by what the shift explains.
bool differs_beyond(const Value& good, const Value& shifted, const Value& bad, const Tolerances& tolerances) {
  std::vector<Value> a, b, c;
  flatten(good, a);
  flatten(shifted, b);
  flatten(bad, c);
  if (a.size() != c.size() || a.size() != b.size()) return true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (is_opaque(a[i])) continue;
    const auto d = difference(a[i], c[i], tolerances);
    if (d && !is_rounding(a[i], *d) && !hides(a[i], b[i], *d)) return true;
  }
  return false;
}

// On the evaluator, which computes what the text says, the first tensor that differs is computed from equal ones.
bool begins_with_equal_inputs(session::Session& session, Program good, Program bad, const Tolerances& tolerances) {
  good.kernels = bad.kernels = session::Engine::Eval;
  return begins_there(compare(session.context(), record(session, good), record(session, bad), tolerances));
}

}  // namespace

std::string doubt_about(session::Session& session, const Program& good, const Program& bad,
                        const Tolerances& tolerances, bool integers) {
  const Borrow borrow(session);
  const Trace first = record(session, good), second = record(session, bad);
  if (integers)
    if (std::string why = overflow_in(session, good, first, compare(session.context(), first, second, tolerances));
        !why.empty())
      return why;
  if (!first.error.empty() || !second.error.empty()) return {};
  Program moved = good;
  moved.args = shifted(good.args);
  const Trace near = record(session, moved);
  if (!near.error.empty()) return {};
  if (differs_beyond(first.result, near.result, second.result, tolerances)) return {};
  if (begins_with_equal_inputs(session, good, bad, tolerances)) return {};
  return "the first program's own result changes as much when its inputs change in their last places";
}

}  // namespace rldb::repro
