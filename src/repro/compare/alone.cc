// One computation of the second program on the tensors of the first.
#include "repro/compare/alone.h"

#include "repro/borrow.h"
#include "repro/compare/executable.h"
#include "repro/compare/slice.h"
#include "repro/values.h"
#include "rldb/ir/verifier.h"

namespace rldb::repro {

using Alone = FirstDifference::Alone;

namespace {

Alone judged(const runtime::Value& theirs, const runtime::Value& ours, const Tolerances& tolerances) {
  const auto found = difference(theirs, ours, tolerances);
  if (found && !found->kind.empty()) return Alone::NotTried;  // it gives something else
  return found ? Alone::Differs : Alone::Agrees;
}

// A call of an executable is repeated in its place.
Alone run_call_alone(session::Session& session, const Program& b, const Trace& first, const Trace& second,
                     const FirstDifference& d, const Tolerances& tolerances) {
  CallWithOthers call;
  call.event = d.event;
  call.instruction = second.events[d.event].instruction;
  const std::vector<Reading>& reads = second.events[d.event].inputs;
  if (call.instruction.empty() || reads.size() != d.inputs.size()) return Alone::NotTried;
  for (std::size_t k = 0; k < reads.size(); ++k) {
    const runtime::Value& own = second.events[reads[k].event].value;
    const runtime::Value& other = d.inputs[k].rounded ? first.events[d.inputs[k].other_event].value : own;
    if (!own.is(runtime::ValueKind::Tensor) || !other.is(runtime::ValueKind::Tensor)) return Alone::NotTried;
    for (const CallWithOthers::Input& in : call.inputs)  // which is which?
      if (same_bits(in.own.as_tensor(), own.as_tensor()) && !same_bits(in.other.as_tensor(), other.as_tensor()))
        return Alone::NotTried;
    call.inputs.push_back({own, other});
  }
  const auto ours = record_with_others(session, b, call);
  return ours ? judged(first.events[d.other_event].value, *ours, tolerances) : Alone::NotTried;
}

}  // namespace

FirstDifference::Alone run_alone(session::Session& session, const Program& b, const Trace& first, const Trace& second,
                                 const FirstDifference& d, const Tolerances& tolerances) {
  if (d.other_event == kNoEvent) return Alone::NotTried;
  if (b.other) return run_call_alone(session, b, first, second, d, tolerances);
  if (!b.module || b.outputs > 0 || d.function != b.function) return Alone::NotTried;
  const Borrow borrow(session);
  std::string why;
  Program part = with_numbers(session, b, why);
  if (!why.empty()) return Alone::NotTried;
  const Event& theirs = first.events[d.other_event];
  Trace changed;
  changed.events = second.events;
  const std::vector<Reading>& reads = changed.events[d.event].inputs;
  for (std::size_t k = 0; k < reads.size() && k < d.inputs.size(); ++k)
    if (d.inputs[k].rounded) changed.events[reads[k].event].value = first.events[d.inputs[k].other_event].value;
  GivenTensors given(session.context());
  Slice slice(session.context(), part, changed, given);
  if (!slice.take(d.event, false, why) || !slice.ends_at(d.event, why)) return Alone::NotTried;
  part.module = slice.finished();
  part.args.clear();
  for (const auto& [var, value] : given.all()) part.args.push_back(value);
  source::Diagnostics found;
  if (!ir::verify(session.context(), part.module, found)) return Alone::NotTried;
  const Trace trace = record(session, part);
  if (!trace.error.empty()) return Alone::NotTried;
  return judged(theirs.value, trace.result, tolerances);
}

}  // namespace rldb::repro
