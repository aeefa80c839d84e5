#include "rldb/ui/batch/command_report.h"

#include <fmt/format.h>

#include "rldb/bytecode/serialise.h"
#include "rldb/support/file.h"
#include "rldb/ui/prompt/internal_report.h"
#include "ui/batch/save_repro.h"

namespace rldb::ui {

namespace {

std::string file_lines(const std::vector<std::string>& files, const std::string& folder, const std::string& command) {
  std::string text = commented(command);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto bytes = support::read_file(files[i], kMostReportedBytes);
    const std::string copy = fmt::format("{}/{}-{}", folder, i, files[i].substr(files[i].rfind('/') + 1));
    if (bytes.ok() && support::write_file(copy, *bytes).ok()) text += fmt::format("# {} is {}\n", files[i], copy);
  }
  return text;
}

// The prompt's equivalent of a batch command on one text; empty: there is none, or there is no such text.
std::string entries_of(const CommandLine& line, const std::string& what) {
  const std::string entry = prompt_entry(line);
  if (entry.empty() || line.files.size() != 1) return {};
  auto text = support::read_file(line.files[0], kMostReportedBytes);
  if (!text.ok() || bytecode::is_executable_file(*text)) return {};
  ReproFile repro;
  repro.seen = what;
  repro.settings = settings_of(line.options);
  repro.module = std::move(*text);
  for (std::size_t i = 0; i < line.inputs.size(); ++i) repro.seen += "\ninput: " + line.inputs[i];
  repro.entry = entry;
  repro.expectations = {not_error(what), ":expect success"};
  return script_of(repro);
}

}  // namespace

std::string write_internal_error(const CommandLine& line, const std::string& what, const std::string& command) {
  return write_bug_report(what, commented(command), [&](const std::string& folder) {
    const std::string entries = entries_of(line, what);
    return entries.empty() ? file_lines(line.files, folder, command) : commented(command) + entries;
  });
}

}  // namespace rldb::ui
