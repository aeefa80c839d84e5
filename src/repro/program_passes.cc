// Each kind of program by its own search.
#include "rldb/repro/program_passes.h"

#include "rldb/ir/printer.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/repro/relay_passes.h"

namespace rldb::repro {

Validation validate_program(session::Session& session, std::size_t before) {
  if (const session::RelayText* relay = session::relay_text(session.program()))
    return validate_relay(relay->source().ctx, relay->module_at(before), relay->module(), session.options());
  std::string applied;
  for (std::size_t v = before + 1; v <= session.program()->position(); ++v) {
    const std::string pass = session.program()->version(v).pass;
    if (!pass.empty()) applied += (applied.empty() ? "" : ",") + pass;
  }
  return validate_versions(session, session.history().module_at(before), session.module(), applied);
}

bool can_bisect(session::Session& session, const Question& question, source::Diagnostics& out) {
  if (session::relay_text(session.program())) return relay::parse_passes(question.passes, out).has_value();
  auto pipeline = passes::parse_pipeline(question.passes);
  if (!pipeline.ok()) out.add({}, std::move(pipeline).error());
  return !out.has_errors();
}

namespace {

template <class Bisection, class Print>
ProgramBisection for_reader(const Bisection& found, const Print& print) {
  using Verdict = ProgramBisection::Verdict;
  ProgramBisection out;
  out.verdict = found.verdict == Bisection::Verdict::None    ? Verdict::None
                : found.verdict == Bisection::Verdict::Found ? Verdict::Found
                                                             : Verdict::CannotTell;
  out.why = found.why;
  out.text = to_string(found);
  out.json = to_json(found);
  if (out.verdict != Verdict::Found) return out;
  out.pass = to_string(found.pass);
  out.symptom = found.symptom;
  const auto* without = found.rewrite > 0 ? found.without : found.before;
  const auto* with = found.rewrite > 0 ? found.with : found.after;
  if (!without || !with) return out;
  out.without = print(without);
  out.with = print(with);
  return out;
}

}  // namespace

ProgramBisection bisect_program(session::Session& session, const Question& question, const BisectProgress& progress) {
  if (const session::RelayText* relay = session::relay_text(session.program())) {
    source::Diagnostics ignored;  // `can_bisect` has read it
    const auto passes = relay::parse_passes(question.passes, ignored);
    if (!passes) return {};
    const RelayBisection found = bisect_relay(session, *relay, *passes, question, progress);
    return for_reader(found, [](const relay::Module* m) { return relay::print(m); });
  }
  const PassBisection found = bisect_passes(session, session.module(), question, progress);
  return for_reader(found, [&](const ir::Module* m) { return ir::print(m, session.options().print); });
}

ProgramReduction reduce_program(session::Session& session, const Question& question, const ReduceOptions& options) {
  ProgramReduction out;
  if (session::RelayText* relay = session::relay_text(session.program())) {
    source::Diagnostics ignored;  // `can_bisect` has read it
    const auto passes = relay::parse_passes(question.passes, ignored);
    if (!passes) return out;
    const RelayReduction found = reduce_relay(session, *relay, *passes, question, options);
    static_cast<ReductionFacts&>(out) = found;
    if (found.module) relay->set_module(found.module);
    out.found = found.module != nullptr;
  } else {
    const Reduction found = reduce(session, session.module(), question, options);
    static_cast<ReductionFacts&>(out) = found;
    if (found.module) session.set_module(found.module);
    out.found = found.module != nullptr;
  }
  const session::Program& program = *session.program();
  if (out.found) out.text = *program.text(program.position(), session::TextFor::Saving);
  return out;
}

}  // namespace rldb::repro
