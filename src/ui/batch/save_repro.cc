#include "ui/batch/save_repro.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/printer.h"
#include "ui/batch/batch.h"
#include "ui/repl/entry/state.h"

namespace rldb::ui {

namespace {

// What a reader of the file wants to know first, as comments.
std::string comments(const std::string& seen) {
  std::string out;
  for (std::size_t at = 0; at < seen.size();) {
    const auto end = std::min(seen.find('\n', at), seen.size());
    out += "# " + seen.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

// An entry with what it replies now.
std::string with_reply(Repl& repl, CapturedConsole& console, const std::string& entry) {
  repl.execute(entry);
  std::string out = entry + "\n";
  const std::string reply = console.take();
  for (std::size_t at = 0; at < reply.size();) {
    const auto end = std::min(reply.find('\n', at), reply.size());
    out += end == at ? "#|\n" : "#| " + reply.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

// What the run depends on besides the module.
std::vector<std::string> settings(const session::Options& options) {
  std::vector<std::string> out{fmt::format(":engine {}", session::to_string(options.engine))};
  if (options.seed != 0) out.push_back(fmt::format(":set seed {}", options.seed));
  for (const auto& [name, value] : options.dims) out.push_back(fmt::format(":set dim {}={}", name, value));
  return out;
}

}  // namespace

bool save_repro(const CommandLine& line, const ir::Module* module, const std::string& passes, const std::string& seen,
                Console& console) {
  ir::PrintOptions print = line.options.print;
  print.show_meta = true;
  CapturedConsole captured;
  CommandLine plain = line;
  plain.files.clear();
  Repl repl(plain, captured);
  std::string text =
      "# `rldb test` of this file fails as long as the fault is there. What was seen:\n" + comments(seen);
  for (const std::string& entry : settings(line.options)) text += with_reply(repl, captured, entry);
  text += with_reply(repl, captured, ":load <<END\n" + ir::print(module, print) + "\nEND");
  text += ":bisect " + passes;
  const std::string function = line.function.empty() ? "main" : line.function;
  if (function != "main" || !line.inputs.empty()) text += " " + function;
  for (const std::string& input : line.inputs) text += " " + input;
  auto pipeline = passes::parse_pipeline(passes);
  text += fmt::format("\n#| none of {} passes brings the symptom\n", pipeline.ok() ? pipeline->size() : 0);
  return write_output(line.save_repro, text, console);
}

}  // namespace rldb::ui
