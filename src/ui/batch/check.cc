// rldb check FILE... [--roundtrip]: one line a file on standard output; diagnostics go to standard error.
#include <nlohmann/json.hpp>

#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "ui/batch/batch.h"

namespace rldb::ui {

namespace {

// Prints the module, reads that text again and compares. Empty: equal.
std::string roundtrip(session::Session& session, const std::string& path, const ir::PrintOptions& options,
                      source::Diagnostics& diagnostics) {
  ir::PrintOptions print = options;
  print.show_meta = true;
  const ir::Module* module = session.module();
  std::string text = ir::print(module, print);
  const source::FileId file = session.sources().add(path + " (printed)", text);
  const auto again = frontend::parse(session.context(), session.sources(), file, diagnostics);
  if (!again.ok || !again.module) return "the printed text does not parse";
  if (auto difference = ir::first_difference(module, again.module))
    return "reparsed module differs at " + difference->path + ": " + difference->left + " against " + difference->right;
  if (ir::print(again.module, print) != text) return "printing the reparsed module gives another text";
  return {};
}

}  // namespace

int batch_check(const CommandLine& line, Console& console) {
  int worst = kGood;
  nlohmann::json rows = nlohmann::json::array();
  for (const std::string& path : line.files) {
    auto session = open_session(line, console);
    if (!session) return kUsage;
    source::Diagnostics diagnostics;
    bool ok = session->load_file(path, diagnostics);
    int code = ok ? kGood : kBadText;
    std::string what = ok ? "" : fmt::format("{} error(s)", diagnostics.error_count());
    if (ok && line.roundtrip && session->module()) {
      what = roundtrip(*session, path, line.options.print, diagnostics);
      if (!what.empty()) ok = false, code = kFailed;
    }
    if (line.format == Format::Json) {
      rows.push_back({{"file", path},
                      {"ok", ok},
                      {"reason", what},
                      {"diagnostics", nlohmann::json::parse(source::render_json(diagnostics, session->sources()))}});
    } else {
      console.diagnose(diagnostics, session->sources());
      const std::size_t functions = session->module() ? session->module()->entries.size() : 0;
      if (ok)
        console.print("ok    {} ({} function{})\n", path, functions, functions == 1 ? "" : "s");
      else
        console.print("FAIL  {}: {}\n", path, what);
    }
    if (code != kGood && (worst == kGood || code == kBadText)) worst = code;
  }
  if (line.format == Format::Json) console.print("{}\n", rows.dump(2));
  return worst;
}

}  // namespace rldb::ui
