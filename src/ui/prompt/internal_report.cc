#include "rldb/ui/prompt/internal_report.h"

#include <fmt/format.h>

#include "rldb/ir/printer.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/session/session.h"
#include "rldb/support/file.h"
#include "rldb/support/memory.h"
#include "rldb/ui/command_line/cache_folder.h"

namespace rldb::ui {

namespace {

// `:input` lines that restore the session's values; those without a literal form are mentioned in a comment.
std::string value_lines(const session::Session& session, const std::string& folder) {
  std::string text;
  std::size_t bytes = 0;
  for (const session::NamedValue& v : session.values().in_order()) {
    if (v.value.is(runtime::ValueKind::Tensor)) {
      const runtime::Tensor& tensor = v.value.as_tensor();
      bytes += tensor.byte_size();
      const std::string file = folder + "/" + v.name + ".npy";
      if (bytes <= kMostReportedBytes && support::write_file(file, runtime::write_npy(tensor)).ok()) {
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

}  // namespace

std::string commented(std::string_view text) {
  std::string out = "# ";
  for (const char c : text) out += c == '\n' ? std::string("\n# ") : std::string(1, c);
  return out + "\n";
}

std::string write_bug_report(const std::string& what, const std::string& last_resort,
                             const std::function<std::string(const std::string&)>& more) {
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

std::string write_internal_error(session::Session& session, const std::string& what, const std::string& entry) {
  return write_bug_report(what, entry,
                          [&](const std::string& folder) { return session_script(session, folder, entry); });
}

}  // namespace rldb::ui
