// Each kind of program by its own search.
#include "rldb/repro/program_passes.h"

#include "rldb/ir/printer.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/repro/relay_passes.h"

namespace rldb::repro {

Validation validate_program(session::Session& session, pipeline::ModuleRef before, pipeline::ModuleRef after,
                            std::string_view passes) {
  if (const session::RelayText* relay = session::relay_text(session.program()))
    return validate_relay(relay->source().ctx, before.as<relay::Module>(), after.as<relay::Module>(),
                          session.options());
  return validate_versions(session, before.as<ir::Module>(), after.as<ir::Module>(), passes);
}

Validation validate_program(session::Session& session, std::size_t before) {
  const pipeline::History& history = session.program()->history();
  std::string applied;
  for (std::size_t v = before + 1; v <= session.program()->position(); ++v) {
    const std::string pass = session.program()->version(v).pass;
    if (!pass.empty()) applied += (applied.empty() ? "" : ",") + pass;
  }
  return validate_program(session, history.module_at(before), history.current(), applied);
}

bool can_bisect(session::Session& session, const Question& question, source::Diagnostics& out) {
  return pipeline::parse(session.program()->passes(), question.passes, session.sources(), out).has_value();
}

namespace {

std::optional<PassBisection> bisected(session::Session& session, const Question& question,
                                      const BisectProgress& progress, support::Ranks* ranks) {
  const session::RelayText* relay = session::relay_text(session.program());
  if (!relay) return bisect_passes(session, session.module(), question, progress, ranks);
  const auto passes = pipeline::parse(relay->passes(), question.passes);
  if (!passes.ok()) return std::nullopt;  // `can_bisect` has said why
  return bisect_relay(session, *relay, *passes, question, progress, ranks);
}

}  // namespace

ProgramBisection bisect_program(session::Session& session, const Question& question, const BisectProgress& progress,
                                support::Ranks* ranks) {
  using Verdict = ProgramBisection::Verdict;
  ProgramBisection out;
  const auto found = bisected(session, question, progress, ranks);
  if (!found) return out;
  out.verdict = found->verdict == PassBisection::Verdict::None    ? Verdict::None
                : found->verdict == PassBisection::Verdict::Found ? Verdict::Found
                                                                  : Verdict::CannotTell;
  out.why = found->why;
  out.text = to_string(*found);
  out.json = to_json(*found);
  if (out.verdict != Verdict::Found) return out;
  out.pass = pipeline::to_string(found->pass);
  out.symptom = found->symptom;
  out.values = found->values;
  const pipeline::ModuleRef without = found->rewrite > 0 ? found->without : found->before;
  const pipeline::ModuleRef with = found->rewrite > 0 ? found->with : found->after;
  if (!without || !with) return out;
  out.without = *session.program()->text_of(without, session::TextFor::Reading);
  out.with = *session.program()->text_of(with, session::TextFor::Reading);
  return out;
}

ProgramReduction reduce_program(session::Session& session, const Question& question, const ReduceOptions& options) {
  ProgramReduction out;
  if (session::RelayText* relay = session::relay_text(session.program())) {
    std::vector<pipeline::Invocation> passes;
    if (!question.passes.empty()) {
      auto parsed = pipeline::parse(relay->passes(), question.passes);
      if (!parsed.ok()) return out;  // `can_bisect` has said why
      passes = std::move(parsed).value();
    }
    const RelayReduction found = reduce_relay(session, *relay, passes, question, options);
    static_cast<ReductionFacts&>(out) = found;
    if (found.module) relay->push_edit(found.module);
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
