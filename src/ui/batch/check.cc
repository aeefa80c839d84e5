// rldb check FILE... [--roundtrip]: one line per file on standard output; diagnostics go to standard error.
#include <nlohmann/json.hpp>

#include "rldb/bytecode/serialise.h"
#include "rldb/onnx/model.h"
#include "rldb/ops/op_info.h"
#include "rldb/repro/roundtrip.h"
#include "rldb/support/cancel.h"
#include "rldb/support/file.h"
#include "rldb/support/text.h"
#include "rldb/ui/batch/batch.h"
#include "rldb/ui/batch/command_report.h"
#include "rldb/ui/terminal/guarded.h"
#include "ui/batch/save_repro.h"

namespace rldb::ui {

namespace {

// Results of checking one file.
struct FileCheck {
  std::unique_ptr<session::Session> session;
  source::Diagnostics diagnostics;
  std::string what;                         // the fault; empty: none
  onnx::ModelRef model;                     // null: the file is no ONNX model
  std::vector<onnx::NodeRefusal> refusals;  // of its nodes
  int code = kGood;
};

// Null: it is none, or cannot be read, which loading it reports.
onnx::ModelRef model_of(const std::string& path) {
  const auto bytes = support::read_file(path, source::kMaxBytes);
  source::Diagnostics ignored;
  return bytes.ok() && onnx::is_model(path, *bytes) ? onnx::read_model(path, *bytes, ignored) : nullptr;
}

// The nodes that are not translated, of a model that has some.
std::vector<onnx::NodeRefusal> refusals_of(const onnx::ModelRef& model, const session::Options& given) {
  std::vector<onnx::NodeRefusal> refusals;
  onnx::Options options{!given.bind_params, given.bound_inputs};
  options.refusals = &refusals;
  ir::Context ctx;
  ops::install(ctx);
  source::Diagnostics known;  // from loading it
  (void)onnx::to_relax(ctx, model, {}, options, known);
  return refusals;
}

// The operators of an ONNX model, and why some are refused.
nlohmann::json operators_json(const onnx::Model& model, std::span<const onnx::NodeRefusal> refusals) {
  nlohmann::json rows = nlohmann::json::array();
  for (const onnx::OperatorUse& use : onnx::operators_of(model, refusals))
    rows.push_back({{"domain", use.domain},
                    {"name", use.name},
                    {"version", use.version},
                    {"nodes", use.nodes},
                    {"first_node", use.first_node},
                    {"refused_nodes", use.refused_nodes},
                    {"refused_node", use.refused_node},
                    {"refused", use.refused}});
  return rows;
}

void check_file(const std::string& path, const CommandLine& line, FileCheck& check) {
  session::Session& session = *check.session;
  const bool loaded = session.load_file(path, check.diagnostics);
  if (const onnx::Translation* model = loaded ? session.program()->onnx() : nullptr)
    check.model = model->model;
  else if (!loaded && (check.model = model_of(path)))
    check.refusals = refusals_of(check.model, session.options());
  if (!loaded) {
    check.code = kBadText;
    check.what = support::counted(check.diagnostics.error_count(), "error");
  } else if (line.check.roundtrip) {
    check.what = repro::roundtrip(session, line.options.print, check.diagnostics);
    if (!check.what.empty()) check.code = kFailed;
  }
}

// Those that the file defines.
std::size_t functions_of(const session::Session& session) {
  return session.module() ? session.module()->entries.size() : session.function_names().size();
}

// A file that cannot be checked, for whatever reason, does not keep the others from being checked.
void guarded_check(const std::string& path, const CommandLine& line, Console& console, FileCheck& check) {
  const auto abandoned = run_guarded([&] { check_file(path, line, check); }, line.timeout);
  if (!abandoned) return;
  check.code = abandoned->exit_code;
  check.what = abandoned->message.text;
  check.diagnostics.add({}, abandoned->message);
  if (!abandoned->internal) return;
  CommandLine alone = line;
  alone.files = {path};
  const std::string report = write_internal_error(alone, abandoned->message.text, "rldb check " + path);
  if (!report.empty()) console.error("wrote " + report + "\n");
}

// Saves the first failing file as a script, with its own text, since it may not even parse.
void keep_check(const std::string& path, const FileCheck& check, const CommandLine& line, Console& console) {
  auto text = support::read_file(path, source::kMaxBytes);
  if (!text.ok() || bytecode::is_executable_file(*text)) return;
  ReproFile repro;
  repro.seen = check.what;
  for (const source::Diagnostic& d : check.diagnostics.all())
    if (d.severity == source::Severity::Error && repro.expectations.empty()) {
      repro.seen += "\n" + d.message;
      repro.expectations.push_back(not_error(d.message));
    }
  const bool reads = check.code == kFailed;
  if (reads) {
    repro.module = std::move(*text);
    repro.entry = ":verify --roundtrip";
    repro.expectations = {":expect not error \"does not read back\""};
  } else {
    repro.entry = with_document(":load ", *text);
  }
  repro.expectations.emplace_back(":expect success");
  (void)write_repro(line.save_repro, repro, console);  // diagnosed; the exit code is about the files
}

// Prefers the exit code that tells most about the fault.
bool is_worse(int code, int than) {
  const auto rank = [](int c) {
    return c == kGood ? 0 : c == kFailed ? 1 : c == kBadText ? 2 : c == kInternal ? 4 : 3;
  };
  return rank(code) > rank(than);
}

}  // namespace

int batch_check(const CommandLine& line, Console& console) {
  int worst = kGood;
  nlohmann::json rows = nlohmann::json::array();
  for (const std::string& path : line.files) {
    FileCheck check;
    check.session = open_session(line, console);
    if (!check.session) return kUsage;
    guarded_check(path, line, console, check);
    const bool ok = check.code == kGood;
    const source::SourceManager& sources = check.session->sources();
    if (line.format == Format::Json) {
      rows.push_back({{"file", path},
                      {"ok", ok},
                      {"reason", check.what},
                      {"diagnostics", nlohmann::json::parse(source::render_json(check.diagnostics, sources))}});
      if (check.model) rows.back()["operators"] = operators_json(*check.model, check.refusals);
    } else {
      console.diagnose(check.diagnostics, sources);
      const std::size_t functions = functions_of(*check.session);
      if (ok)
        console.print("ok    {} ({})\n", path, support::counted(functions, "function"));
      else
        console.print("FAIL  {}: {}\n", path, check.what);
      if (check.model) console.print("{}", onnx::operator_table(*check.model, check.refusals));
    }
    if (!ok && worst == kGood && !line.save_repro.empty()) keep_check(path, check, line, console);
    if (is_worse(check.code, worst)) worst = check.code;
    if (support::cancel_cause() == support::CancelCause::Interrupt) break;
  }
  if (line.format == Format::Json) console.print("{}\n", rows.dump(2));
  return worst;
}

}  // namespace rldb::ui
