#include "ui/batch/batch.h"

#include <fmt/format.h>

#include "rldb/relay/run/relay_machine.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/support/file.h"
#include "ui/batch/relay.h"
#include "ui/term/window_size.h"

namespace rldb::ui {

std::unique_ptr<session::Session> open_session(const CommandLine& line, Console& console) {
  auto session = std::make_unique<session::Session>(line.options, &console);
  if (!session::relay_machine()) session::set_relay_machine(relay_run::make_relay_machine());
  session::relay_machine()->wanted = session::Machine::Relax;  // what comes here works on Relax modules
  for (const std::string& plugin : line.plugins) {
    source::Diagnostics diagnostics;
    const bool ok = session->load_plugin(plugin, diagnostics);
    report(diagnostics, session->sources(), line, console);
    if (!ok) return nullptr;
  }
  return session;
}

void report(const source::Diagnostics& diagnostics, const source::SourceManager& sources, const CommandLine& line,
            Console& console) {
  if (line.format == Format::Json)
    console.print("{}\n", source::render_json(diagnostics, sources));
  else
    console.diagnose(diagnostics, sources);
}

int fail(const source::Diagnostics& diagnostics, const source::SourceManager& sources, const CommandLine& line,
         Console& console, int code) {
  report(diagnostics, sources, line, console);
  return code;
}

bool load(session::Session& session, const std::string& path, const CommandLine& line, Console& console) {
  source::Diagnostics diagnostics;
  // These commands work on Relax modules: Relay text is translated for them.
  if (!line.to_relax && is_relay_file(path)) console.print_error("note: {} is translated to Relax\n", path);
  const bool ok = session.load_file(path, diagnostics);
  if (!ok || !diagnostics.all().empty()) report(diagnostics, session.sources(), line, console);
  return ok;
}

DiffOptions diff_options(const CommandLine& line, const Console& console, int fd) {
  return diff_options(line.diff_layout, terminal_columns(fd), console.color());
}

bool write_output(const std::string& path, std::string_view text, Console& console) {
  if (path.empty() || path == "-") {
    console.write(text);
    return true;
  }
  auto written = support::write_file(path, text);
  if (written.ok()) return true;
  source::Diagnostics diagnostics;
  diagnostics.add({}, source::message(diag::FileNotWritten, path, written.error().reason));
  console.diagnose(diagnostics, {});
  return false;
}

std::string format_duration(std::uint64_t nanoseconds) {
  const auto ns = double(nanoseconds);
  if (ns < 1e3) return fmt::format("{} ns", nanoseconds);
  if (ns < 1e6) return fmt::format("{:.1f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.2f} ms", ns / 1e6);
  return fmt::format("{:.2f} s", ns / 1e9);
}

}  // namespace rldb::ui
