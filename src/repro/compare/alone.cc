// One computation of the second program on the tensors of the first.
#include "repro/compare/alone.h"

#include "repro/borrow.h"
#include "repro/compare/slice.h"
#include "rldb/ir/verifier.h"

namespace rldb::repro {

FirstDifference::Alone run_alone(session::Session& session, const Program& b, const Trace& first, const Trace& second,
                                 const FirstDifference& d, const Tolerances& tolerances) {
  using Alone = FirstDifference::Alone;
  if (!b.module || b.outputs > 0 || d.function != b.function || d.other_event == kNoEvent) return Alone::NotTried;
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
  const auto found_difference = difference(theirs.value, trace.result, tolerances);
  if (found_difference && !found_difference->kind.empty()) return Alone::NotTried;  // the part gives something else
  return found_difference ? Alone::Differs : Alone::Agrees;
}

}  // namespace rldb::repro
