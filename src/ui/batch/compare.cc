// rldb compare A [B]: two programs on the same inputs.
#include "rldb/repro/compare.h"

#include <fmt/format.h>

#include "rldb/repro/bisect.h"
#include "rldb/session/program_kind.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/source/diagnostic_result.h"
#include "ui/batch/batch.h"
#include "ui/batch/compare_recorded.h"
#include "ui/batch/save_repro.h"
#include "ui/named_stage.h"

namespace rldb::ui {

namespace {

int exit_code(const repro::Comparison& c) {
  using Verdict = repro::Comparison::Verdict;
  const Verdict verdict = c.verdict;
  if (c.shadow && c.shadow->verdict == repro::Shadow::Verdict::Rounding) return kGood;
  return verdict == Verdict::Equal ? kGood : verdict == Verdict::Differs ? kFailed : kCannotTell;
}

// False: diagnosed.
bool read_one_stage(session::Session& session, const repro::StageName& name, const CommandLine& line,
                    repro::Program& out, Console& console) {
  source::Diagnostics diagnostics;
  const auto stage = read_runnable_stage(session, name, diagnostics);
  report(diagnostics, session.sources(), line, console);
  if (!stage) return false;
  out.label = stage->file;
  out.module = stage->module;
  session.history().start(stage->module);
  return true;
}

// Reads the module or executable of a file, or a stage. False: diagnosed.
bool read(session::Session& session, const std::string& path, const CommandLine& line, repro::Program& out,
          Console& console) {
  out.executable.clear();
  if (const auto stage = repro::parse_stage_name(path)) return read_one_stage(session, *stage, line, out, console);
  if (!load(session, path, line, console)) return false;
  out.label = path;
  out.module = session.module();
  out.executable = session.module() ? std::string() : path;
  return true;
}

// Both sides and their arguments.
struct Sides {
  repro::Program a, b;
  repro::ComparedInputs inputs;
  const ir::Module* module = nullptr;  // of the first file, before the passes
  const ir::Module* other = nullptr;   // of the second file, before the passes
};

// Applies passes to a program; there may be none. False: diagnosed.
bool apply_passes(session::Session& session, const std::string& passes, repro::Program& program,
                  source::Diagnostics& diagnostics) {
  if (passes.empty()) return true;
  if (!program.module) {
    if (auto refusal = session::missing_ability("`--passes`", session::kModule, session))
      diagnostics.add({}, *std::move(refusal));
    return false;
  }
  session.history().start(program.module);
  if (!session.run_passes(passes, diagnostics)) return false;
  program.module = session.module();
  program.label = fmt::format("{} after {}", program.label, passes);
  return true;
}

// kGood, or the exit code.
int read_sides(session::Session& session, const CommandLine& line, Sides& sides, Console& console) {
  auto& [a, b, inputs, module, other] = sides;
  source::Diagnostics diagnostics;
  if (!read(session, line.files[0], line, a, console)) return kBadText;
  a.function = function_of(line);
  a.kernels = line.options.engine;
  b = a;
  b.kernels = line.other_engine.value_or(a.kernels);
  // A module describes its parameters better than an executable: values are generated for it, if there is one.
  auto made = a.module ? repro::compared_inputs(session, a.function, line.inputs, diagnostics) : std::nullopt;
  if (line.files.size() == 2 && !read(session, line.files[1], line, b, console)) return kBadText;
  if (!a.module) made = repro::compared_inputs(session, a.function, line.inputs, diagnostics);
  if (!made) {
    report(diagnostics, session.sources(), line, console);
    return kUsage;
  }
  inputs = std::move(*made);
  module = a.module;
  if (line.files.size() == 2) other = b.module;
  if (line.other_engine) b.label += fmt::format(" with kernels by {}", session::to_string(b.kernels));
  const bool both = !line.other_passes.empty();  // the second program has a pipeline of its own
  if ((!both || apply_passes(session, line.passes, a, diagnostics)) &&
      apply_passes(session, both ? line.other_passes : line.passes, b, diagnostics))
    return kGood;
  report(diagnostics, session.sources(), line, console);
  return kFailed;
}

// If both are stages of one folder, follows the changes between them. The exit code; nullopt: they are not.
std::optional<int> compare_two_stages(session::Session& session, const CommandLine& line, Console& console) {
  if (line.files.size() != 2 || line.other_engine || !line.passes.empty() || !line.other_passes.empty())
    return std::nullopt;
  const auto a = repro::parse_stage_name(line.files[0]), b = repro::parse_stage_name(line.files[1]);
  if (!a || !b || a->folder != b->folder) return std::nullopt;
  source::Diagnostics diagnostics;
  const auto first = read_stage(session, *a, diagnostics);
  std::size_t second = 0;
  const bool found_both = first && find_stage(first->stages, *b, second, diagnostics);
  report(diagnostics, session.sources(), line, console);
  if (!found_both) return kBadText;
  const auto found = repro::compare_stages(session, first->stages, first->index, second, {line.function, line.inputs},
                                           line.tolerances, line.shadow);
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
  if (!line.other_engine && line.other_passes.empty())
    return save_tvm_script(line, first, sides.other, line.passes, sides.inputs.arguments, seen, session, console);
  source::Diagnostics found;
  found.add({}, source::message(diag::NoTvmScript, line.other_engine ? "the sides are two engines of rldb"
                                                                     : "`--other-passes` compares two pipelines"));
  report(found, session.sources(), line, console);
  return false;
}

// False: diagnosed.
bool save(const Sides& sides, const std::string& seen, session::Session& session, const CommandLine& line,
          Console& console) {
  if (sides.a.module && sides.b.module) {
    repro::Program first = sides.a;
    first.module = sides.module;  // the script runs the passes again
    if (!line.tvm_script.empty() && !save_for_tvm(first, sides, seen, session, line, console)) return false;
    if (line.save_repro.empty()) return true;
    return write_repro(line.save_repro,
                       repro_of_comparison(line, session, first, sides.other, sides.inputs.arguments, seen), console);
  }
  source::Diagnostics diagnostics;
  const std::string& file = sides.a.module ? sides.b.executable : sides.a.executable;
  if (auto refusal =
          session::missing_ability("`--save-repro`", session::kModule, session::ProgramKind::RelaxExecutable, file))
    diagnostics.add({}, *std::move(refusal));
  report(diagnostics, session.sources(), line, console);
  return false;
}

}  // namespace

int batch_compare(const CommandLine& line, Console& console) {
  auto session = open_session(line, console);
  if (!session) return kUsage;
  if (!line.recorded.empty()) return compare_recorded(*session, line, console);
  if (line.files.size() == 1 && line.passes.empty() && line.other_passes.empty() && !line.other_engine) {
    source::Diagnostics diagnostics;
    diagnostics.add({}, source::message(diag::NothingToCompare));
    report(diagnostics, session->sources(), line, console);
    return kUsage;
  }
  if (const auto code = compare_two_stages(*session, line, console)) return *code;
  Sides sides;
  if (const int code = read_sides(*session, line, sides, console); code != kGood) return code;
  const repro::Comparison result =
      repro::compare(*session, sides.a, sides.b, sides.inputs, line.tolerances, line.shadow);
  const std::string text = repro::to_string(result, sides.a.label, sides.b.label);
  console.print("{}\n", line.format == Format::Json ? repro::to_json(result) : text);
  const int code = exit_code(result);
  if (code == kFailed && !(line.save_repro.empty() && line.tvm_script.empty()) &&
      !save(sides, text, *session, line, console))
    return kUsage;
  return code;
}

}  // namespace rldb::ui
