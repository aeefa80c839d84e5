// check, print and diff of Relay texts.
#include "ui/batch/relay.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "rldb/relay/ir/equal.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/source/diagnostic_general.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/support/file.h"
#include "ui/text_diff.h"

namespace rldb::ui {

namespace {

bool read_bytes(const std::string& path, std::string& text) {
  auto read = support::read_file(path, source::kMaxBytes);
  if (read.ok()) text = std::move(read).value();
  return read.ok();
}

std::vector<std::string> function_names(const relay::Module* m) {
  std::vector<std::string> names;
  for (const relay::Definition& d : m->functions) names.emplace_back(d.name->name);
  return names;
}

// The program of one side; null after its diagnostics.
std::unique_ptr<RelayProgram> side(const std::string& path, const CommandLine& line, Console& console) {
  source::Diagnostics found;
  auto program = read_relay(path, found);
  if (!program) {
    program = std::make_unique<RelayProgram>();
    found.add({}, source::message(diag::RelayAndOther, path));
  }
  if (!found.all().empty()) report(found, program->sources, line, console);
  return program->parsed.module ? std::move(program) : nullptr;
}

}  // namespace

namespace {

template <class Parse>
std::unique_ptr<RelayProgram> read_with(const std::string& path, source::Diagnostics& out, Parse parse) {
  std::string text;
  if (!read_bytes(path, text) || !frontend::is_relay(path, text)) return nullptr;
  auto program = std::make_unique<RelayProgram>();
  program->parsed = parse(*program, program->sources.add(path, std::move(text)));
  const relay::Module*& module = program->parsed.module;
  if (module && !module->functions.empty() && !relay::infer_types(program->ctx, module, program->typing, out))
    module = nullptr;
  return program;
}

}  // namespace

std::unique_ptr<RelayProgram> read_relay(const std::string& path, source::Diagnostics& out) {
  return read_with(path, out, [&](RelayProgram& p, source::FileId file) {
    return frontend::parse_relay(p.ctx, p.sources, file, out);
  });
}

std::unique_ptr<RelayProgram> read_relay_program(const std::string& path, source::Diagnostics& out) {
  return read_with(path, out, [&](RelayProgram& p, source::FileId file) {
    return frontend::parse_relay_program(p.ctx, p.sources, file, out);
  });
}

std::string relay_roundtrip(const RelayProgram& program) {
  const std::string text = relay::print(program.parsed.module);
  RelayProgram again;
  source::Diagnostics found;
  const source::FileId file = again.sources.add("printed.relay", text);
  again.parsed = frontend::parse_relay(again.ctx, again.sources, file, found);
  if (!again.parsed.module) return "the printed text does not read back: " + found.all().front().message;
  if (const auto difference = relay::first_difference(program.parsed.module, again.parsed.module))
    return "the printed text is another program at " + difference->path;
  return relay::print(again.parsed.module) == text ? "" : "the printed text prints differently";
}

int batch_print_relay(const RelayProgram& program, const source::Diagnostics& found, const CommandLine& line,
                      Console& console) {
  if (!found.all().empty()) report(found, program.sources, line, console);
  const relay::Module* module = program.parsed.module;
  if (!module) return kBadText;
  if (line.function.empty()) {
    const std::string text = relay::print(module);
    console.write(text.ends_with('\n') ? text : text + "\n");
    return kGood;
  }
  if (const relay::Function* f = module->find(line.function)) {
    console.write(relay::print_expr(f) + "\n");
    return kGood;
  }
  source::Diagnostics missing;
  missing.add({}, source::message(diag::NoFunctionToRun, line.function)
                      .with_hint(fmt::format("functions: {}", fmt::join(function_names(module), ", "))));
  report(missing, program.sources, line, console);
  return kUsage;
}

bool is_relay_file(const std::string& path) {
  std::string text;
  return read_bytes(path, text) && frontend::is_relay(path, text);
}

bool any_is_relay(const CommandLine& line) { return std::any_of(line.files.begin(), line.files.end(), is_relay_file); }

int batch_diff_relay(const CommandLine& line, Console& console) {
  const auto a = side(line.files[0], line, console);
  const auto b = a ? side(line.files[1], line, console) : nullptr;
  if (!a || !b) return kBadText;
  const auto difference = relay::first_difference(a->parsed.module, b->parsed.module);
  if (!difference) return kGood;
  console.print("first difference at {}\n  {}: {}\n  {}: {}\n", difference->path, line.files[0], difference->left,
                line.files[1], difference->right);
  const DiffOptions options = diff_options(line, console, STDOUT_FILENO);
  console.write(
      text_diff(relay::print(a->parsed.module), relay::print(b->parsed.module), line.files[0], line.files[1], options));
  return kFailed;
}

}  // namespace rldb::ui
