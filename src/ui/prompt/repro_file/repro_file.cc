// Repro files: the text of the script, and the values beside it.
#include "rldb/ui/prompt/repro_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/printer.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/support/file.h"
#include "rldb/support/hash.h"
#include "rldb/support/text.h"
#include "rldb/ui/command_line/cache_folder.h"
#include "rldb/ui/render/version.h"
#include "ui/prompt/repro_file/value_text.h"
#include "ui/prompt/repro_file/verdict_lines.h"

namespace rldb::ui {

namespace {

constexpr std::string_view kAnyReply = "#| ...\n";
// A script's placeholder for the folder that it is in.
constexpr std::string_view kHere = "${script}";

std::string comments(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    out += fmt::format("# {}\n", text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

bool has_line(std::string_view text, std::string_view line) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (support::trim(text.substr(0, end)) == line) return true;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return false;
}

// File and folder of a path: the folder is everything up to and including the last slash.
std::pair<std::string, std::string> split_path(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::size_t at = slash == std::string::npos ? 0 : slash + 1;
  return {path.substr(0, at), path.substr(at)};
}

// Entries that name the values, and the bytes of the file beside the script; empty: none is needed.
struct Values {
  std::string entries;
  std::string file, bytes;
};

Values values_of(const std::vector<session::Argument>& values, const std::string& script) {
  ValueTexts texts;
  for (const session::Argument& a : values) texts.collect(a.value, a.parameter);
  Values out;
  if (!texts.big().empty()) {
    out.bytes = runtime::write_npz(texts.big());
    const std::string stem = script.substr(0, script.find('.'));
    out.file = fmt::format("{}-{:016x}.npz", stem, support::fnv1a(out.bytes));
  }
  for (const session::Argument& a : values) {
    const auto text = ValueTexts::text(a.value, a.parameter, fmt::format("{}/{}", kHere, out.file));
    if (text)
      out.entries += fmt::format(":input {} {}\n{}", a.parameter, *text, kAnyReply);
    else
      out.entries += comments(fmt::format("{} was {}: it has no text", a.parameter, runtime::describe(a.value)));
  }
  return out;
}

std::string text_of(const ReproFile& repro, const std::string& values) {
  std::string text = fmt::format("# rldb {}, seed {}: `rldb test` of this file fails as long as the fault is there:\n",
                                 kVersion, repro.seed);
  for (const std::string& line : verdict_lines(repro.seen)) text += comments(line);
  const auto add = [&](const std::string& entry) { text += entry + "\n" + std::string(kAnyReply); };
  for (const std::string& entry : repro.settings) add(entry);
  if (!repro.module.empty())
    add(with_document(":load " + (repro.module_name.empty() ? std::string() : repro.module_name + " "), repro.module));
  for (const std::string& entry : repro.before) add(entry);
  text += values;
  add(repro.entry);
  for (const std::string& expectation : repro.expectations) text += expectation + "\n";
  return text;
}

bool write(const std::string& path, const ReproFile& repro, source::Diagnostics& out) {
  const auto [folder, name] = split_path(path);
  const Values values = values_of(repro.values, name);
  const auto put = [&](const std::string& file, const std::string& bytes) {
    const auto written = support::write_file(file, bytes);
    if (!written.ok()) out.add({}, source::message(diag::FileNotWritten, file, written.error().reason));
    return written.ok();
  };
  if (!values.file.empty() && !put(folder + values.file, values.bytes)) return false;
  return put(path, text_of(repro, values.entries));
}

}  // namespace

std::string module_text(const ir::Module* module, ir::PrintOptions print) {
  print.show_meta = true;
  return ir::print(module, print);
}

std::string with_document(const std::string& entry, std::string_view text) {
  std::string mark = "END";
  for (int i = 1; has_line(text, mark); ++i) mark = fmt::format("END{}", i);
  return fmt::format("{}<<{}\n{}{}{}", entry, mark, text, text.ends_with('\n') ? "" : "\n", mark);
}

std::vector<std::string> settings_of(const session::Options& options) {
  const session::Options usual;
  std::vector<std::string> out{fmt::format(":engine {}", session::to_string(options.engine))};
  const auto set = [&](std::string_view name, const auto& value) {
    out.push_back(fmt::format(":set {} {}", name, value));
  };
  if (options.seed != usual.seed) set("seed", options.seed);
  if (options.default_dim != usual.default_dim) set("default-dim", options.default_dim);
  for (const auto& [name, value] : options.dims) set("dim", fmt::format("{}={}", name, value));
  if (options.tolerance.atol != usual.tolerance.atol) set("atol", options.tolerance.atol);
  if (options.tolerance.rtol != usual.tolerance.rtol) set("rtol", options.tolerance.rtol);
  if (options.fast_math) set("fp", "fast");
  if (!options.check_bounds) set("check-bounds", "off");
  if (options.check_accesses) set("check-accesses", "on");
  if (!options.schedule) set("schedule", "off");
  if (!options.verify_each) set("verify-each", "off");
  return out;
}

std::string tolerance_flags(const repro::Tolerances& t) {
  std::string text;
  if (t.atol) text += fmt::format(" --atol={}", *t.atol);
  if (t.rtol) text += fmt::format(" --rtol={}", *t.rtol);
  if (t.ulp) text += fmt::format(" --ulp={}", *t.ulp);
  if (t.exact) text += " --exact";
  return text;
}

std::string not_error(std::string_view message) {
  return fmt::format(":expect not error \"{}\"", message.substr(0, message.find('\n')));
}

std::string script_of(const ReproFile& repro) { return text_of(repro, {}); }

bool write_repro(const std::string& path, const ReproFile& repro, Console& console) {
  source::Diagnostics diagnostics;
  if (write(path, repro, diagnostics)) return true;
  console.diagnose(diagnostics, {});
  return false;
}

void keep_repro(std::string_view kind, const ReproFile& repro, Console& console) {
  const std::string folder = new_report_folder(kind);
  if (folder.empty()) return;
  const std::string path = folder + "/repro.session";
  if (write_repro(path, repro, console)) console.print_error("note: `rldb test {}` shows it again\n", path);
}

}  // namespace rldb::ui
