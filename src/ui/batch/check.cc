// rldb check FILE... [--roundtrip]: one line a file on standard output; diagnostics go to standard error.
#include <nlohmann/json.hpp>

#include "rldb/repro/roundtrip.h"
#include "ui/batch/batch.h"

namespace rldb::ui {

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
      what = repro::roundtrip(*session, line.options.print, diagnostics);
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
