#include "ui/batch/relay_machine.h"

#include <fmt/format.h>

#include "rldb/relay/vm/machine.h"
#include "rldb/source/diagnostic_general.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/file.h"

namespace rldb::ui {

using runtime::Value;

namespace {

int fail(const source::Diagnostics& found, const CommandLine& line, Console& console, int code) {
  const source::SourceManager none;
  if (line.format == Format::Json)
    console.print("{}\n", source::render_json(found, none));
  else
    console.diagnose(found, none);
  return code;
}

}  // namespace

std::optional<std::string> relay_executable_bytes(const std::string& path) {
  auto read = support::read_file(path, source::kMaxBytes);
  if (!read.ok() || !relay_bytecode::is_executable_file(*read)) return std::nullopt;
  return std::move(read).value();
}

std::optional<relay_bytecode::Executable> load_relay_executable(const std::string& path, const std::string& bytes,
                                                                source::Diagnostics& out) {
  auto loaded = relay_bytecode::load(bytes);
  if (loaded.ok()) return std::move(loaded).value();
  out.add({}, source::message(diag::BadExecutable, path, loaded.error().message));
  return std::nullopt;
}

int batch_print_relay_executable(const std::string& bytes, const CommandLine& line, Console& console) {
  source::Diagnostics found;
  const auto exe = load_relay_executable(line.files[0], bytes, found);
  if (!exe) return fail(found, line, console, kBadText);
  console.write(relay_bytecode::as_text(*exe));
  return kGood;
}

}  // namespace rldb::ui
