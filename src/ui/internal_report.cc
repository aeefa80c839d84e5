// The report of a bug in rldb: one script that reproduces it, with the values it needs in a file beside it.
#include <fmt/format.h>

#include "rldb/bytecode/serialise.h"
#include "rldb/ir/printer.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/session/session.h"
#include "rldb/support/file.h"
#include "rldb/support/memory.h"
#include "ui/batch/save_repro.h"
#include "ui/cache_folder.h"
#include "ui/guarded.h"

namespace rldb::ui {

namespace {

constexpr std::size_t kMostValueBytes = std::size_t(64) << 20;

// `:input` lines that restore the session's values; those without a literal form are mentioned in a comment.
std::string value_lines(const session::Session& session, const std::string& folder) {
  std::string text;
  std::size_t bytes = 0;
  for (const session::NamedValue& v : session.values()) {
    if (v.value.is(runtime::ValueKind::Tensor)) {
      const runtime::Tensor& tensor = v.value.as_tensor();
      bytes += tensor.byte_size();
      const std::string file = folder + "/" + v.name + ".npy";
      if (bytes <= kMostValueBytes && support::write_file(file, runtime::write_npy(tensor)).ok()) {
        text += fmt::format(":input {} @{}\n", v.name, file);
        continue;
      }
    } else if (v.value.is(runtime::ValueKind::Int)) {
      text += fmt::format(":input {} {}\n", v.name, v.value.as_int());
      continue;
    }
    text += fmt::format("# {} was {}\n", v.name, runtime::describe(v.value));
  }
  return text;
}

// The text with a `#` before each line.
std::string commented(std::string_view text) {
  std::string out = "# ";
  for (const char c : text) out += c == '\n' ? std::string("\n# ") : std::string(1, c);
  return out + "\n";
}

std::string session_script(session::Session& session, const std::string& folder, const std::string& entry) {
  std::string text = "# To see it again: rldb --batch -x THIS_FILE\n";
  if (session.module()) {
    ir::PrintOptions print;
    print.show_meta = true;
    text += ":load <<END_OF_MODULE\n" + ir::print(session.module(), print) + "\nEND_OF_MODULE\n";
  } else if (session.program()) {
    text += ":load " + session.program_path() + "\n";
  }
  text += fmt::format(":engine {}\n", session::to_string(session.options().engine));
  return text + value_lines(session, folder) + entry + "\n";
}

std::string file_lines(const std::vector<std::string>& files, const std::string& folder, const std::string& command) {
  std::string text = commented(command);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto bytes = support::read_file(files[i], kMostValueBytes);
    const std::string copy = fmt::format("{}/{}-{}", folder, i, files[i].substr(files[i].rfind('/') + 1));
    if (bytes.ok() && support::write_file(copy, *bytes).ok()) text += fmt::format("# {} is {}\n", files[i], copy);
  }
  return text;
}

// The prompt's equivalent of a batch command on one text; empty: there is none, or there is no such text.
std::string entries_of(const CommandLine& line, const std::string& what) {
  const std::string entry = prompt_entry(line);
  if (entry.empty() || line.files.size() != 1) return {};
  auto text = support::read_file(line.files[0], kMostValueBytes);
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

// Writes the head and the output of `more` for the report's folder. The bug that broke rldb may break `more` too: the
// head alone is worth having.
template <class More>
std::string write_report(const std::string& what, const std::string& last_resort, const More& more) {
  const support::MemoryLimitExempt exempt;
  try {
    const std::string folder = new_report_folder("internal-errors");
    if (folder.empty()) return {};
    std::string text = commented("this is a bug in rldb: " + what);
    try {
      text += more(folder);
    } catch (const std::exception&) {
      text += last_resort + "\n";
    }
    std::string path = folder + "/report.session";
    return support::write_file(path, text).ok() ? path : std::string();
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace

std::string write_internal_error(session::Session& session, const std::string& what, const std::string& entry) {
  return write_report(what, entry, [&](const std::string& folder) { return session_script(session, folder, entry); });
}

std::string write_internal_error(const CommandLine& line, const std::string& what, const std::string& command) {
  return write_report(what, commented(command), [&](const std::string& folder) {
    const std::string entries = entries_of(line, what);
    return entries.empty() ? file_lines(line.files, folder, command) : commented(command) + entries;
  });
}

}  // namespace rldb::ui
