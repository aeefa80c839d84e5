// `:compare`: two programs from the session, from folders of IR files, or given in the entry, tensor by tensor.
#include <fmt/format.h>

#include "rldb/repro/bisect.h"
#include "rldb/repro/compare.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/source/diagnostic_result.h"
#include "ui/named_stage.h"
#include "ui/repl/commands/repro_flags.h"
#include "ui/repl/commands/versions.h"
#include "ui/repl/data/data.h"
#include "ui/repl/entry/reader.h"
#include "ui/repl/entry/state.h"
#include "ui/repl/view.h"

namespace rldb::ui {

namespace {

// The module in the lines after `<<END`, as if it were a version; null: diagnosed.
const ir::Module* read_beside(Repl& repl, std::string_view text) {
  session::Session& session = repl.session();
  source::Diagnostics diagnostics;
  auto before = session.snapshot();
  const bool ok = session.load_text("<here>", std::string(text), diagnostics);
  const ir::Module* module = ok ? session.module() : nullptr;
  session.restore(std::move(before));
  repl.report(diagnostics);
  return module;
}

// The result of passes on a module, without changing the versions; null: diagnosed.
const ir::Module* after_passes(Repl& repl, const ir::Module* module, const std::string& passes) {
  session::Session& session = repl.session();
  source::Diagnostics diagnostics;
  const passes::History before = session.history();
  session.history().start(module);
  const bool ok = session.run_passes(passes, diagnostics);
  const ir::Module* made = ok ? session.module() : nullptr;
  session.history() = before;
  repl.report(diagnostics);
  return made;
}

// The program after passes. False: diagnosed.
bool apply_passes(Repl& repl, const std::string& passes, repro::Program& program) {
  program.module = after_passes(repl, program.module, passes);
  program.label += " after " + passes;
  return program.module != nullptr;
}

// The text is a version, or a stage `FOLDER:STAGE`. False: diagnosed.
bool side_of(Repl& repl, const std::string& text, repro::Program& out) {
  session::Session& session = repl.session();
  if (const auto name = repro::parse_stage_name(text)) {
    source::Diagnostics diagnostics;
    const auto stage = read_runnable_stage(session, *name, diagnostics);
    repl.report(diagnostics);
    if (!stage) return false;
    out.module = stage->module;
    out.label = stage->file;
    return true;
  }
  const auto version = session.history().size() > 0 ? version_of(repl, text) : std::nullopt;
  if (!version && session.history().size() == 0) (void)needs(repl, "`:compare`", session::kModule);  // diagnosed
  if (!version) return false;
  out.module = session.history().module_at(*version);
  out.label = version_name(session.history(), *version);
  return true;
}

bool set_current(Repl& repl, std::size_t version, repro::Program& out) {
  const passes::History& history = repl.session().history();
  if (!needs(repl, "`:compare`", session::kModule)) return false;
  out.module = history.module_at(version);
  out.label = version_name(history, version);
  return true;
}

// The programs of both sides, before passes and engines are taken into account. False: diagnosed, or `usage`.
bool words_to_sides(Repl& repl, const std::vector<std::string>& words, bool own, repro::Program& a, repro::Program& b) {
  const passes::History& history = repl.session().history();
  const std::size_t now = history.position();
  if (!words.empty() && !side_of(repl, words[0], a)) return false;
  if (words.empty() && own && history.size() > 0) {
    const auto before = previous_version(repl);
    if (!before || !set_current(repl, *before, a)) return false;
  } else if (words.empty() && !set_current(repl, now, a)) {
    return false;
  }
  if (words.size() > 1) return side_of(repl, words[1], b);
  if (own) return set_current(repl, now, b);
  b.module = a.module;
  b.label = a.label;
  return true;
}

// The two sides of `:compare`, except for their arguments. False: diagnosed, or `usage`.
bool sides_of(Repl& repl, const ReproFlags& flags, const std::vector<std::string>& words, std::string_view document,
              repro::Program& a, repro::Program& b, bool& usage) {
  const bool own = flags.passes.empty() && flags.other_passes.empty() && !flags.other_engine && document.empty();
  usage = words.size() > 2 || (words.size() == 2 && !document.empty());
  if (usage) return false;
  a.function = b.function = flags.function;
  a.kernels = b.kernels = repl.session().options().engine;
  if (!words_to_sides(repl, words, own, a, b)) return false;
  if (!document.empty()) {
    b.module = read_beside(repl, document);
    b.label = "the given module";
  }
  const bool both = !flags.other_passes.empty();  // the second program has a pipeline of its own
  if (both && !flags.passes.empty() && !apply_passes(repl, flags.passes, a)) return false;
  const std::string& second_passes = both ? flags.other_passes : flags.passes;
  if (b.module && !second_passes.empty() && !apply_passes(repl, second_passes, b)) return false;
  if (flags.other_engine) {
    b.kernels = *flags.other_engine;
    b.label += fmt::format(" with kernels by {}", session::to_string(b.kernels));
  }
  return b.module != nullptr;
}

// If both are stages of one folder, and nothing else is requested, follows the changes between them. None: they are
// not; or `failed`: diagnosed.
std::optional<repro::Comparison> compare_two_stages(Repl& repl, const ReproFlags& flags,
                                                    const std::vector<std::string>& words, repro::Program& a,
                                                    repro::Program& b, bool& failed) {
  if (words.size() != 2 || !flags.passes.empty() || !flags.other_passes.empty() || flags.other_engine)
    return std::nullopt;
  const auto first = repro::parse_stage_name(words[0]), second = repro::parse_stage_name(words[1]);
  if (!first || !second || first->folder != second->folder) return std::nullopt;
  session::Session& session = repl.session();
  source::Diagnostics diagnostics;
  const auto named = read_stage(session, *first, diagnostics);
  std::size_t other = 0;
  failed = !named || !find_stage(named->stages, *second, other, diagnostics);
  repl.report(diagnostics);
  if (failed) return std::nullopt;
  a.label = named->stage().file;
  b.label = named->stages[other].file;
  return repro::compare_stages(session, named->stages, named->index, other, {flags.function, {}}, flags.tolerances,
                               flags.shadow)
      .comparison;
}

// Runs both on the inputs of the first one. None: diagnosed.
std::optional<repro::Comparison> compare_sides(Repl& repl, const ReproFlags& flags, repro::Program& a,
                                               repro::Program& b) {
  session::Session& session = repl.session();
  source::Diagnostics diagnostics;
  auto before = session.snapshot();
  session.history().start(a.module);
  auto inputs = repro::compared_inputs(session, a.function, {}, diagnostics);
  session.restore(std::move(before));
  repl.report(diagnostics);
  if (!inputs) return std::nullopt;
  return repro::compare(session, a, b, *inputs, flags.tolerances, flags.shadow);
}

}  // namespace

Status command_Compare(Repl& repl, std::string_view rest) {
  const auto document = here_document(rest);
  std::vector<std::string> words = split_words(document ? document->first : rest);
  const auto flags = take_repro_flags(repl, words);
  if (!flags) return Status::Failed;
  repro::Program a, b;
  bool usage = false, failed = false;
  const std::string_view body = document ? document->body : std::string_view();
  auto compared = document ? std::nullopt : compare_two_stages(repl, *flags, words, a, b, failed);
  if (failed) return Status::Failed;
  if (!compared && !sides_of(repl, *flags, words, body, a, b, usage)) return usage ? Status::Usage : Status::Failed;
  if (!compared) compared = compare_sides(repl, *flags, a, b);
  if (!compared) return Status::Failed;
  const repro::Comparison& c = *compared;
  using Verdict = repro::Comparison::Verdict;
  if (repl.wants_json()) repl.give(Json::parse(repro::to_json(c)));
  if (c.verdict == Verdict::CannotTell) return repl.fail(source::message(diag::CannotTell, c.why));
  if (!repl.wants_json()) repl.print("{}\n", repro::to_string(c, a.label, b.label));
  const bool rounding = c.shadow && c.shadow->verdict == repro::Shadow::Verdict::Rounding;
  return c.verdict == Verdict::Equal || rounding ? Status::Good : Status::Failed;
}

}  // namespace rldb::ui
