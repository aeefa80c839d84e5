// Passes by example: tests/passes/<folder>/*.txt. A file holds cases:
//
//   # CASE what the case is about
//   # RUN LegalizeOps, or a pipeline
//   <module>
//   # GIVES                     (or: # FAILS part of the message)
//   <module>
//   # VALUES same: main         (written by RLDB_BLESS=1)
//
// The result has to verify after each pass, to be the expected module up to names of variables, to print as a text that
// reads back to itself, and to give the original module's values, for functions whose inputs can be generated; VALUES
// records which ran. RLDB_BLESS=1 writes the results. Other lines that begin with `# ` before a module are comments.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "repro/loaded.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/repro/validate.h"
#include "rldb/session/session.h"
#include "rldb/support/file.h"
#include "rldb/support/text.h"

using namespace rldb;
using namespace rldb::repro_test;
using session::Session;

namespace {

constexpr std::string_view kHeader =
    "from tvm.script import ir as I\nfrom tvm.script import tirx as T\nfrom tvm.script import relax as R\n";

struct Case {
  std::string name;
  std::string comment;  // lines between the name and the pipeline
  std::string pipeline;
  std::string before;
  bool fails = false;
  std::string message;  // of a failure
  std::string after;
  std::string values;
};

bool take(std::string_view line, std::string_view mark, std::string& rest) {
  if (!line.starts_with(mark)) return false;
  rest = std::string(support::trim(line.substr(mark.size())));
  return true;
}

std::vector<Case> read_cases(const std::string& text) {
  std::vector<Case> cases;
  std::istringstream in(text);
  std::string* into = nullptr;
  std::string rest;
  for (std::string line; std::getline(in, line);) {
    if (take(line, "# CASE", rest)) {
      cases.emplace_back().name = rest;
      into = &cases.back().comment;
      continue;
    }
    REQUIRE_MESSAGE(!cases.empty(), "a file begins with # CASE");
    Case& c = cases.back();
    if (take(line, "# RUN", c.pipeline)) {
      into = &c.before;
    } else if (take(line, "# FAILS", c.message)) {
      c.fails = true;
      into = &c.after;
    } else if (line == "# GIVES") {
      into = &c.after;
    } else if (!take(line, "# VALUES", c.values)) {
      *into += line + "\n";
    }
  }
  for (Case& c : cases)
    for (std::string* part : {&c.comment, &c.before, &c.after}) *part = std::string(support::trim(*part));
  return cases;
}

std::string write_cases(const std::vector<Case>& cases) {
  std::string out;
  for (const Case& c : cases) {
    out += fmt::format("{}# CASE {}\n", out.empty() ? "" : "\n", c.name);
    if (!c.comment.empty()) out += c.comment + "\n";
    out += fmt::format("# RUN {}\n{}\n", c.pipeline, c.before);
    if (c.fails)
      out += fmt::format("# FAILS {}\n", c.message);
    else
      out += fmt::format("# GIVES\n{}\n# VALUES {}\n", c.after, c.values);
  }
  return out;
}

std::string errors_of(const source::Diagnostics& d) {
  std::string text;
  for (const source::Diagnostic& each : d.all()) text += each.message + "\n";
  return text;
}

const ir::Module* load(Session& s, std::string_view text, std::string& error) {
  source::Diagnostics d;
  const bool ok = s.load_text("case.py", std::string(kHeader) + std::string(text), d);
  if (!ok) error = errors_of(d);
  return ok ? s.module() : nullptr;
}

// Without the imports, which every text here has.
std::string printed(const ir::Module* module) {
  ir::PrintOptions options;
  options.show_meta = true;  // constants are part of the program
  std::string text = ir::print(module, options);
  while (text.starts_with("#")) text.erase(0, text.find('\n') + 1);
  return std::string(support::trim(text));
}

std::string values_text(const repro::Validation& v) {
  std::string text = v.compared.empty() ? "" : fmt::format("same: {}", fmt::join(v.compared, ", "));
  if (!v.not_run.empty()) text += fmt::format("{}not run: {}", text.empty() ? "" : "; ", fmt::join(v.not_run, ", "));
  if (!v.in_part.empty()) text += fmt::format("; in part: {}", fmt::join(v.in_part, ", "));
  return text.empty() ? "no function" : text;
}

// The problem with the case; empty if there is none. With `bless` the case is changed to the actual result.
std::string check_case(Case& c, bool bless) {
  Quiet quiet;
  session::Options options;
  options.engine = session::Engine::Vm;
  Session s(options, &quiet);
  std::string error;
  const ir::Module* before = load(s, c.before, error);
  if (!before) return "the module cannot be read: " + error;
  source::Diagnostics d;
  const bool ran = s.run_passes(c.pipeline, d);
  if (!ran && !c.fails) return "the pipeline fails: " + errors_of(d);
  if (c.fails)
    return !ran && errors_of(d).find(c.message) != std::string::npos ? "" : "no such failure, but: " + errors_of(d);

  const ir::Module* got = s.module();
  Session again(options, &quiet);
  const ir::Module* read_back = load(again, printed(got), error);
  if (!read_back) return "the result does not read back: " + error + printed(got);
  if (printed(read_back) != printed(got)) return "the result reads back as another program: " + printed(read_back);

  Session expected(options, &quiet);
  const ir::Module* wanted = c.after.empty() ? nullptr : load(expected, c.after, error);
  auto difference = wanted ? ir::first_difference(got, wanted) : std::optional<ir::Difference>();
  // Types of calls not shown in the text (a lowered call knows more than its annotation) cannot be expected.
  if (difference && printed(got) == printed(wanted)) difference.reset();
  if (!wanted || difference) {
    if (!bless)
      return (difference ? "differs at " + difference->path : "nothing is expected: " + error) + "\n" + printed(got);
    c.after = printed(got);
  }
  const repro::Validation v = repro::validate_versions(s, before, got);
  if (!v.difference.empty()) return "other values: " + v.difference;
  const std::string values = values_text(v);
  if (values != c.values && !bless) return "VALUES " + values;
  c.values = values;
  return {};
}

}  // namespace

TEST_CASE("passes by example (RLDB_BLESS=1 rewrites them)") {
  namespace fs = std::filesystem;
  const bool bless = std::getenv("RLDB_BLESS") != nullptr;
  std::vector<std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(RLDB_SOURCE_DIR "/tests/passes"))
    if (entry.path().extension() == ".txt") paths.push_back(entry.path().string());
  REQUIRE_FALSE(paths.empty());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    auto text = support::read_file(path);
    REQUIRE(text.ok());
    std::vector<Case> cases = read_cases(*text);
    for (Case& c : cases) {
      const std::string wrong = check_case(c, bless);
      CHECK_MESSAGE(wrong.empty(), path, ", case `", c.name, "`: ", wrong);
    }
    if (bless) REQUIRE(support::write_file(path, write_cases(cases)).ok());
  }
}
