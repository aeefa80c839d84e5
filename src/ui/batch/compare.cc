// rldb compare A [B]: two programs on the same inputs.
#include "rldb/repro/compare.h"

#include <fmt/format.h>

#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_run.h"
#include "ui/batch/batch.h"
#include "ui/batch/save_repro.h"

namespace rldb::ui {

namespace {

int exit_code(const repro::Comparison& c) {
  using Verdict = repro::Comparison::Verdict;
  const Verdict verdict = c.verdict;
  if (c.shadow && c.shadow->verdict == repro::Shadow::Verdict::Rounding) return kGood;
  return verdict == Verdict::Equal ? kGood : verdict == Verdict::Differs ? kFailed : kCannotTell;
}

// A file's module, or its executable. False: diagnosed.
bool read(session::Session& session, const std::string& path, const CommandLine& line, repro::Program& out,
          Console& console) {
  if (!load(session, path, line, console)) return false;
  out.label = path;
  out.module = session.module();
  out.executable = session.module() ? std::string() : path;
  return true;
}

// Both sides and their arguments.
struct Sides {
  repro::Program a, b;
  std::vector<session::Argument> arguments;
  const ir::Module* other = nullptr;  // of the second file, before the passes
};

// The second program after the passes. False: diagnosed.
bool apply_passes(session::Session& session, const CommandLine& line, repro::Program& b,
                  source::Diagnostics& diagnostics) {
  if (!b.module) diagnostics.add({}, source::message(diag::NoModuleInExecutable, line.files.back(), "run passes on"));
  if (!b.module || !session.run_passes(line.passes, diagnostics)) return false;
  b.module = session.module();
  b.label = fmt::format("{} after {}", b.label, line.passes);
  return true;
}

// kGood, or how to leave.
int read_sides(session::Session& session, const CommandLine& line, Sides& sides, Console& console) {
  auto& [a, b, arguments, other] = sides;
  source::Diagnostics diagnostics;
  if (!read(session, line.files[0], line, a, console)) return kBadText;
  a.function = function_of(line);
  a.kernels = line.options.engine;
  b = a;
  b.kernels = line.other_engine.value_or(a.kernels);
  // An executable does not know the types of its parameters: values are made up for the module, if there is one.
  auto made = a.module ? session.arguments(a.function, line.inputs, diagnostics) : std::nullopt;
  if (line.files.size() == 2 && !read(session, line.files[1], line, b, console)) return kBadText;
  if (!a.module) made = session.arguments(a.function, line.inputs, diagnostics);
  if (!made) {
    report(diagnostics, session, line, console);
    return kUsage;
  }
  arguments = std::move(*made);
  for (const session::Argument& argument : arguments) a.args.push_back(argument.value);
  b.args = a.args;
  if (line.files.size() == 2) other = b.module;
  if (line.other_engine) b.label += fmt::format(" with kernels by {}", session::to_string(b.kernels));
  if (line.passes.empty() || apply_passes(session, line, b, diagnostics)) return kGood;
  report(diagnostics, session, line, console);
  return kFailed;
}

// False: diagnosed.
bool save(const Sides& sides, const std::string& seen, session::Session& session, const CommandLine& line,
          Console& console) {
  if (sides.a.module && sides.b.module)
    return write_repro(line.save_repro, repro_of_comparison(line, session, sides.a, sides.other, sides.arguments, seen),
                       console);
  source::Diagnostics diagnostics;
  const std::string& file = sides.a.module ? sides.b.executable : sides.a.executable;
  diagnostics.add({}, source::message(diag::NoModuleInExecutable, file, "carry in a script"));
  report(diagnostics, session, line, console);
  return false;
}

}  // namespace

int batch_compare(const CommandLine& line, Console& console) {
  auto session = open_session(line, console);
  if (!session) return kUsage;
  if (line.files.size() == 1 && line.passes.empty() && !line.other_engine) {
    source::Diagnostics diagnostics;
    diagnostics.add({}, source::message(diag::NothingToCompare));
    report(diagnostics, *session, line, console);
    return kUsage;
  }
  Sides sides;
  if (const int code = read_sides(*session, line, sides, console); code != kGood) return code;
  const repro::Comparison result = repro::compare(*session, sides.a, sides.b, line.tolerances, line.shadow);
  const std::string text = repro::to_string(result, sides.a.label, sides.b.label);
  console.print("{}\n", line.format == Format::Json ? repro::to_json(result) : text);
  const int code = exit_code(result);
  if (code == kFailed && !line.save_repro.empty() && !save(sides, text, *session, line, console)) return kUsage;
  return code;
}

}  // namespace rldb::ui
