// Cuts two programs to the computation of their first difference.
#include "rldb/repro/cut_pair.h"

#include <algorithm>

#include "repro/borrow.h"
#include "repro/compare/slice.h"
#include "repro/reduce/moves.h"
#include "rldb/ir/verifier.h"
#include "rldb/passes/pass_id.h"

namespace rldb::repro {

namespace {

std::size_t event_of(const Trace& trace, const std::string& function, const std::string& name,
                     const ir::Binding* binding) {
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& e = trace.events[i];
    const bool named = std::find(e.names.begin(), e.names.end(), name) != e.names.end();
    if (e.function == function && named && (!binding || e.binding == binding)) return i;
  }
  return kNoEvent;
}

std::optional<CutPair> cut(session::Session& session, Program a, Program b, const Tolerances& tolerances,
                           std::string& why) {
  a = with_numbers(session, a, why);
  b = with_numbers(session, b, why);
  if (!why.empty()) return std::nullopt;
  const Trace ta = record(session, a), tb = record(session, b);
  const Comparison c = compare(session.context(), ta, tb, tolerances);
  why = "the first difference is not in one computation whose inputs are equal";
  if (c.verdict != Comparison::Verdict::Differs || !c.first || !c.first->starts_here()) return std::nullopt;
  const FirstDifference& d = *c.first;
  const std::size_t at_b = event_of(tb, b.function, d.name, d.binding);
  const std::size_t at_a = event_of(ta, a.function, d.other_name, nullptr);
  if (at_a == kNoEvent || at_b == kNoEvent) return std::nullopt;
  GivenTensors given(session.context());
  Slice of_b(session.context(), b, tb, given), of_a(session.context(), a, ta, given);
  if (!of_b.take(at_b, false, why) || !of_a.take(at_a, true, why)) return std::nullopt;
  if (!of_b.ends_at(at_b, why) || !of_a.ends_at(at_a, why)) return std::nullopt;
  CutPair out{a, b, {}};
  out.a.module = of_a.finished();
  out.b.module = of_b.finished();
  out.a.args.clear();
  for (const auto& [var, value] : given.all()) {
    out.a.args.push_back(value);
    out.values.push_back({std::string(var->name), value, false});
  }
  out.b.args = out.a.args;
  source::Diagnostics found;
  why = "the parts by themselves are not well-formed";
  if (!ir::verify(session.context(), out.a.module, found) || !ir::verify(session.context(), out.b.module, found))
    return std::nullopt;
  why = "the parts by themselves do not differ";
  if (compare(session, out.a, out.b, tolerances).verdict != Comparison::Verdict::Differs) return std::nullopt;
  why.clear();
  return out;
}

}  // namespace

std::optional<CutPair> cut_pair(session::Session& session, const Program& a, const Program& b,
                                const Tolerances& tolerances, std::string& why) {
  const bool plain = a.module && b.module && a.outputs == 0 && b.outputs == 0;
  if (!plain) why = "one of the programs writes its results to arguments";
  if (!plain) return std::nullopt;
  const Borrow borrow(session);
  if (auto made = cut(session, a, b, tolerances, why)) return made;
  // The computation may be in a function of its own, as FuseOps leaves it.
  Program flat_a = a, flat_b = b;
  flat_a.module = run_pass(session.context(), a.module, passes::PassId::InlinePrivateFunctions);
  flat_b.module = run_pass(session.context(), b.module, passes::PassId::InlinePrivateFunctions);
  if (!flat_a.module || !flat_b.module || (flat_a.module == a.module && flat_b.module == b.module)) return std::nullopt;
  std::string ignored;
  return cut(session, flat_a, flat_b, tolerances, ignored);
}

}  // namespace rldb::repro
