// `:compare`: two programs from the session, from folders of IR files, or given in the entry, tensor by tensor.
#include <fmt/format.h>

#include "rldb/repro/bisect.h"
#include "rldb/repro/compare.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/ui/prompt/compared_side.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/named_stage.h"
#include "rldb/ui/prompt/reader.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/commands/repro_flags.h"
#include "ui/prompt/commands/versions.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

// The program in the lines after `<<END`, as if it were a version. False: diagnosed.
bool read_beside(Repl& repl, std::string_view text, repro::Program& out) {
  session::Session& session = repl.session();
  source::Diagnostics diagnostics;
  auto before = session.snapshot();
  const bool ok = session.load_text("<here>", std::string(text), diagnostics);
  if (ok) {
    const repro::Program side = side_at(session, 0);
    out.module = side.module;
    out.other = side.other;
    out.label = "the given module";
  }
  session.restore(std::move(before));
  repl.report(diagnostics);
  return ok;
}

void set_side(Repl& repl, std::size_t version, repro::Program& out) {
  const repro::Program side = side_at(repl.session(), version);
  out.module = side.module;
  out.other = side.other;
  out.label = side.label;
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
  if (!needs(repl, "a version", session::kVersions)) return false;
  const auto version = version_of(repl, text);
  if (version) set_side(repl, *version, out);
  return version.has_value();
}

// The programs of both sides, before passes and engines are taken into account. False: diagnosed, or `usage`.
bool words_to_sides(Repl& repl, const std::vector<std::string>& words, bool own, repro::Program& a, repro::Program& b) {
  if (!words.empty() && !side_of(repl, words[0], a)) return false;
  if (words.size() > 1) return side_of(repl, words[1], b);
  if (!needs(repl, "`:compare`", own ? session::kVersions : session::kNothing)) return false;
  const std::size_t now = repl.session().program()->position();
  if (words.empty() && own) {
    const auto before = previous_version(repl);
    if (!before) return false;
    set_side(repl, *before, a);
  } else if (words.empty()) {
    set_side(repl, now, a);
  }
  if (own) {
    set_side(repl, now, b);
    return true;
  }
  b.module = a.module;
  b.other = a.other;
  b.label = a.label;
  return true;
}

// Passes on one side. False: diagnosed.
bool passes_on(Repl& repl, const std::string& passes, repro::Program& side) {
  source::Diagnostics diagnostics;
  const bool ok = apply_passes(repl.session(), passes, side, diagnostics);
  repl.report(diagnostics);
  return ok;
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
  if (!document.empty() && !read_beside(repl, document, b)) return false;
  const bool both = !flags.other_passes.empty();  // the second program has a pipeline of its own
  if (both && !flags.passes.empty() && !passes_on(repl, flags.passes, a)) return false;
  const std::string& second_passes = both ? flags.other_passes : flags.passes;
  if (!second_passes.empty() && !passes_on(repl, second_passes, b)) return false;
  if (flags.other_engine) {
    b.kernels = *flags.other_engine;
    b.label += fmt::format(" with kernels by {}", session::to_string(b.kernels));
  }
  return true;
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
  auto inputs = inputs_of(session, a.module || !b.module ? a : b, {}, diagnostics);
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
