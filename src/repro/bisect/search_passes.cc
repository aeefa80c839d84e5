// Makes the versions after each pass the stages of a bisection, and its answer one about passes.
#include "repro/bisect/search_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "repro/bisect/stage_functions.h"
#include "repro/bisect/stages.h"
#include "repro/borrow.h"
#include "repro/compare/search.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

// Runs that take longer together are not repeated on other inputs.
constexpr std::chrono::seconds kMostForAll{8};

// Of the module and what each pass makes of it. Empty: one of them fails.
std::vector<Stage> versions_of(Oracle& oracle, const ir::Module* module,
                               const std::vector<passes::PassInvocation>& passes) {
  std::vector<Stage> stages(1);
  stages[0].file = "the program";
  stages[0].module = stages[0].kernels = module;
  pipeline::ModuleRef now = module;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    support::poll();
    pipeline::ModuleRef after;
    if (oracle.apply(passes[i], now, after)) return {};
    now = after;
    Stage& s = stages.emplace_back();
    s.pass = std::string(passes[i].name());
    s.file = fmt::format("after {} ({})", s.pass, i + 1);
    s.module = s.kernels = now.as<ir::Module>();
  }
  return stages;
}

// The symptom is there at the first version on these inputs already, or there is none.
std::optional<PassBisection> as_pass(const TraceBisection& found, const std::vector<passes::PassInvocation>& passes,
                                     PassBisection out) {
  if (found.bad == 0) return std::nullopt;
  out.verdict = PassBisection::Verdict::Found;
  out.index = found.bad - 1;
  out.pass = passes[out.index];
  out.before = found.stages[found.bad - 1].module;
  out.after = found.stages[found.bad].module;
  out.symptom.kind = SymptomKind::Values;
  if (found.comparison.verdict == Comparison::Verdict::Differs) {
    out.comparison = found.comparison;
    out.symptom.text = found.comparison.result ? to_string(*found.comparison.result) : found.comparison.why;
  } else {
    out.symptom.text = "the values agree, but memory is used wrongly: " + to_string(found.memory.front());
  }
  out.values = found.arguments;
  return out;
}

bool asks_for_values(const Question& q) {
  const bool values = q.kind == OracleKind::Any || q.kind == OracleKind::Values;
  return values && !q.partner && q.expected.empty() && q.values.empty();
}

}  // namespace

std::optional<PassBisection> search_inputs(session::Session& session, Oracle& oracle, const ir::Module* module,
                                           const std::vector<passes::PassInvocation>& passes, CpuClock::duration took,
                                           PassBisection& out, const BisectProgress& progress) {
  const Question& q = oracle.question();
  const auto* f = ir::as<ir::Function>(module->find(q.function));
  const std::vector<bool>& generated = oracle.generated();
  const bool any = std::any_of(generated.begin(), generated.end(), [](bool made) { return made; });
  if (out.verdict != PassBisection::Verdict::None || !out.runs || !asks_for_values(q) || !f || !any)
    return std::nullopt;
  if (took > kMostForAll) {
    out.notes.push_back(fmt::format("no other inputs were tried: the runs take {:.1f} s", double(took.count()) / 1e6));
    return std::nullopt;
  }
  try {
    const Borrow borrow(session);
    TraceBisection versions;
    versions.stages = versions_of(oracle, module, passes);
    if (versions.stages.empty() || are_all_the_same(versions.stages)) return std::nullopt;
    Followed what;
    what.function = q.function;
    for (std::size_t i = 0; i < f->params.size() && i < generated.size(); ++i)
      if (!generated[i]) what.values.emplace(f->params[i]->name, oracle.arguments()[i]);
    keep_given(session.options(), f, what);
    const TraceBisection found = bisect_stages(session, std::move(versions), q.tolerances, what, progress, nullptr);
    out.tried.add(found.tried);
    out.notes.insert(out.notes.end(), found.notes.begin(), found.notes.end());
    if (found.verdict != TraceBisection::Verdict::Found) return std::nullopt;
    if (const std::string note = differs_by_itself(found); !note.empty()) {
      out.notes.push_back(fmt::format("after {}, {}", found.stages[found.bad].pass, note));
      return std::nullopt;
    }
    return as_pass(found, passes, out);
  } catch (const support::Cancelled&) {
    support::acknowledge_cancel();  // what was compared is reported
    out.notes.emplace_back(kSearchEnded);
  } catch (const std::bad_alloc&) {
    out.notes.emplace_back(kSearchOutOfMemory);
  }
  return std::nullopt;
}

}  // namespace rldb::repro
