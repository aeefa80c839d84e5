// rldb compare A [B]: two programs on the same inputs.
#include "rldb/repro/compare.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "rldb/passes/option_error.h"
#include "rldb/repro/bisect.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/support/cancel.h"
#include "rldb/ui/batch/batch.h"
#include "rldb/ui/prompt/compared_side.h"
#include "rldb/ui/prompt/named_stage.h"
#include "ui/batch/compare_expected.h"
#include "ui/batch/compare_recorded.h"
#include "ui/batch/save_repro.h"

namespace rldb::ui {

namespace {

int exit_code(const repro::Comparison& c) {
  using Verdict = repro::Comparison::Verdict;
  const Verdict verdict = c.verdict;
  if (verdict != Verdict::Differs && support::cancel_cause() == support::CancelCause::Interrupt) return 128 + SIGINT;
  if (c.shadow && c.shadow->verdict == repro::Shadow::Verdict::Rounding) return kGood;
  return verdict == Verdict::Equal ? kGood : verdict == Verdict::Differs ? kFailed : kCannotTell;
}

// Reads the program of a file, or a stage. The exit code.
int read(session::Session& session, const std::string& path, const CommandLine& line, repro::Program& out,
         Console& console) {
  if (const auto name = repro::parse_stage_name(path)) {
    source::Diagnostics diagnostics;
    const auto stage = read_runnable_stage(session, *name, diagnostics);
    if (!diagnostics.all().empty()) report(diagnostics, session.sources(), line, console);
    if (!stage) return kBadText;
    session.set_program(stage->module);
    out.label = stage->file;
  } else {
    if (const int code = load(session, path, line, console); code != kGood) return code;
    out.label = path;
  }
  const repro::Program side = side_at(session, 0);
  out.module = side.module;
  out.other = side.other;
  return kGood;
}

// Passes that were not applied: a pipeline that is wrong in itself, or one of which a pass fails, so that there is
// nothing to compare.
int code_of_passes(session::Session& session, const std::string& pipeline, const source::Diagnostics& found) {
  source::Diagnostics ignored;
  const bool wrong_option = std::any_of(found.all().begin(), found.all().end(),
                                        [](const source::Diagnostic& d) { return passes::is_option_error(d.id); });
  const bool is_wrong =
      wrong_option || !pipeline::parse(session.program()->passes(), pipeline, session.sources(), ignored);
  return is_wrong ? kUsage : kCannotTell;
}

// Both sides and their arguments.
struct Sides {
  repro::Program a, b;
  repro::ComparedInputs inputs;
  repro::Program read;                // of the first file, before the passes
  const ir::Module* other = nullptr;  // of the second file, before the passes
  bool kernels = false;               // there is no Relax function
};

// kGood, or the exit code.
int read_sides(session::Session& session, const CommandLine& line, Sides& sides, Console& console) {
  auto& [a, b, inputs, first, other, kernels] = sides;
  source::Diagnostics diagnostics;
  if (const int code = read(session, line.files[0], line, a, console); code != kGood) return code;
  a.function = function_of(line, session);
  a.kernels = line.options.engine;
  b = a;
  b.kernels = line.compare.other_engine.value_or(a.kernels);
  if (line.files.size() == 2)
    if (const int code = read(session, line.files[1], line, b, console); code != kGood) return code;
  const auto has_only_kernels = [](const repro::Program& p) { return p.module && repro::has_only_kernels(p.module); };
  kernels = line.function.empty() && has_only_kernels(a) && has_only_kernels(b);
  // A module describes its parameters best: values are generated for it, if there is one.
  auto made = kernels ? std::optional(repro::ComparedInputs())
                      : inputs_of(session, a.module || !b.module ? a : b, line.inputs, diagnostics);
  if (!made) {
    report(diagnostics, session.sources(), line, console);
    return kUsage;
  }
  inputs = std::move(*made);
  inputs.passes = line.passes;
  if (!line.compare.other_passes.empty()) inputs.passes += (line.passes.empty() ? "" : ",") + line.compare.other_passes;
  first = a;
  if (line.files.size() == 2) other = b.module;
  if (line.compare.other_engine) b.label += fmt::format(" with kernels by {}", session::to_string(b.kernels));
  const bool both = !line.compare.other_passes.empty();  // the second program has a pipeline of its own
  const auto apply = [&](const std::string& passes, repro::Program& side) {
    return passes.empty() || apply_passes(session, passes, side, diagnostics);
  };
  if ((!both || apply(line.passes, a)) && apply(both ? line.compare.other_passes : line.passes, b)) return kGood;
  report(diagnostics, session.sources(), line, console);
  return code_of_passes(session, inputs.passes, diagnostics);
}

// If both are stages of one folder, follows the changes between them. The exit code; nullopt: they are not.
std::optional<int> compare_two_stages(session::Session& session, const CommandLine& line, Console& console) {
  if (line.files.size() != 2 || line.compare.other_engine || !line.passes.empty() || !line.compare.other_passes.empty())
    return std::nullopt;
  const auto a = repro::parse_stage_name(line.files[0]), b = repro::parse_stage_name(line.files[1]);
  if (!a || !b || a->folder != b->folder) return std::nullopt;
  source::Diagnostics diagnostics;
  const auto first = read_stage(session, *a, diagnostics);
  std::size_t second = 0;
  const bool found_both = first && find_stage(first->stages, *b, second, diagnostics);
  if (!diagnostics.all().empty()) report(diagnostics, session.sources(), line, console);
  if (!found_both) return kBadText;
  const auto found = repro::compare_stages(session, first->stages, first->index, second, {line.function, line.inputs},
                                           line.tolerances, line.compare.shadow);
  const std::string text = repro::to_string(found.comparison, first->stage().file, first->stages[second].file);
  console.print("{}\n", line.format == Format::Json ? repro::to_json(found.comparison) : text);
  const int code = exit_code(found.comparison);
  const bool saved = code != kFailed || (line.save_repro.empty() && line.tvm_script.empty()) ||
                     save_stages(found.a, found.b, text, line, session, console);
  return saved ? code : kUsage;
}

// The sides of one module are it before and after passes. False: diagnosed.
bool save_for_tvm(const repro::Program& first, const Sides& sides, const std::string& seen, session::Session& session,
                  const CommandLine& line, Console& console) {
  if (!line.compare.other_engine && line.compare.other_passes.empty())
    return save_tvm_script(line, first, sides.other, line.passes, sides.inputs.arguments, seen, session, console);
  source::Diagnostics found;
  found.add({},
            source::message(diag::NoTvmScript, line.compare.other_engine ? "the sides are two engines of rldb"
                                                                         : "`--other-passes` compares two pipelines"));
  report(found, session.sources(), line, console);
  return false;
}

// False: diagnosed.
bool save(const Sides& sides, const std::string& seen, session::Session& session, const CommandLine& line,
          Console& console) {
  if (sides.a.module && sides.b.module) {
    const repro::Program& first = sides.read;  // the script runs the passes again
    if (!line.tvm_script.empty() && !save_for_tvm(first, sides, seen, session, line, console)) return false;
    if (line.save_repro.empty()) return true;
    return write_repro(line.save_repro,
                       repro_of_comparison(line, session, first, sides.other, sides.inputs.arguments, seen), console);
  }
  source::Diagnostics diagnostics;
  const session::Program& other = sides.a.module ? *sides.b.other : *sides.a.other;
  if (auto refusal = session::missing_ability("`--save-repro`", session::kModule, other.kind(), other.path()))
    diagnostics.add({}, *std::move(refusal));
  report(diagnostics, session.sources(), line, console);
  return false;
}

}  // namespace

int batch_compare(const CommandLine& line, Console& console) {
  auto session = open_session(line, console);
  if (!session) return kUsage;
  if (!line.compare.recorded.empty()) return compare_recorded(*session, line, console);
  if (!line.expected.empty()) return compare_expected(*session, line, console);
  if (line.files.size() == 1 && line.passes.empty() && line.compare.other_passes.empty() &&
      !line.compare.other_engine) {
    source::Diagnostics diagnostics;
    diagnostics.add({}, source::message(diag::NothingToCompare));
    report(diagnostics, session->sources(), line, console);
    return kUsage;
  }
  if (const auto code = compare_two_stages(*session, line, console)) return *code;
  Sides sides;
  if (const int code = read_sides(*session, line, sides, console); code != kGood) return code;
  const repro::Comparison result =
      sides.kernels ? repro::compare_kernels(*session, sides.a.module, sides.b.module, line.tolerances)
                    : repro::compare(*session, sides.a, sides.b, sides.inputs, line.tolerances, line.compare.shadow);
  const std::string text = repro::to_string(result, sides.a.label, sides.b.label);
  console.print("{}\n", line.format == Format::Json ? repro::to_json(result) : text);
  const int code = exit_code(result);
  if (code == kFailed && !(line.save_repro.empty() && line.tvm_script.empty()) &&
      !save(sides, text, *session, line, console))
    return kUsage;
  return code;
}

}  // namespace rldb::ui
