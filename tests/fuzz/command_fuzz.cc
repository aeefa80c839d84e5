// Fuzz target: sequences of entries at the prompt over a module. An input is the module's text, a line `#### entries`,
// and an entry per line; a seed without entries gets some. Whatever is entered, the session survives, and an entry of
// TVMScript that fails changes nothing.
#include <fmt/format.h>

#include <cctype>

#include "fuzz/mutate.h"
#include "rldb/expression/language.h"
#include "rldb/ops/op_info.h"
#include "rldb/passes/pass.h"
#include "rldb/support/memory.h"
#include "rldb/ui/prompt/command.h"
#include "rldb/ui/prompt/option.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/terminal/exit_code.h"

namespace rldb::fuzz {

const std::vector<std::string> kSeedEndings{".py", ".entries"};

namespace {

constexpr std::string_view kMark = "\n#### entries\n";
constexpr std::size_t kMostEntries = 30;

// ---- making entries ----

const std::vector<const ui::Command*>& usable_commands() {
  static const std::vector<const ui::Command*> rows = [] {
    std::vector<const ui::Command*> out;
    // Arguments that name files would leave the sandbox of this process.
    for (const ui::Command& c : ui::commands())
      if (c.completion != ui::Completion::File && c.name != "quit" && c.name != "time") out.push_back(&c);
    return out;
  }();
  return rows;
}

std::string identifier(const std::string& module, Rng& rng) {
  for (int tries = 0; tries < 20; ++tries) {
    std::size_t at = below(rng, module.size());
    while (at < module.size() && !std::isalpha(static_cast<unsigned char>(module[at]))) ++at;
    std::size_t end = at;
    while (end < module.size() && (std::isalnum(static_cast<unsigned char>(module[end])) || module[end] == '_')) ++end;
    if (end > at) return module.substr(at, end - at);
  }
  return "main";
}

std::string argument(const std::string& module, Rng& rng) {
  static constexpr const char* kOdd[] = {"0",
                                         "1",
                                         "2",
                                         "7",
                                         "100000",
                                         "-1",
                                         "99999999999999999999",
                                         "main",
                                         "*0",
                                         "*5",
                                         "*999999",
                                         "main:lv",
                                         "main:lv1",
                                         "if n > 1",
                                         "2x3xf32=ones",
                                         "4xi64=arange",
                                         "x=1",
                                         "f32=1.5",
                                         "on",
                                         "off",
                                         "vm",
                                         "jit",
                                         "eval",
                                         "R.const(1)",
                                         "x + 1",
                                         "x[0]",
                                         "_",
                                         "locals",
                                         "registers",
                                         "heap",
                                         "program",
                                         "values",
                                         "(",
                                         "\"",
                                         "minimum",
                                         "R.add(_, _)",
                                         "shape(2, 3)",
                                         "(1; 2)",
                                         "lv.shape",
                                         "error \"x\""};
  switch (below(rng, 6)) {
    case 0:
    case 1:
      return identifier(module, rng);
    case 2:
      return fmt::format("{}:{}", identifier(module, rng), identifier(module, rng));
    case 3:
      return std::string(passes::all_passes()[below(rng, passes::all_passes().size())].name);
    case 4:
      return std::string(ui::options()[below(rng, ui::options().size())].name);
    default:
      return kOdd[below(rng, std::size(kOdd))];
  }
}

// One line of the module, without its indent.
std::string line_of(const std::string& module, Rng& rng) {
  const std::size_t at = below(rng, module.size());
  std::size_t begin = module.rfind('\n', at);
  begin = begin == std::string::npos ? 0 : begin + 1;
  while (begin < module.size() && module[begin] == ' ') ++begin;
  return module.substr(begin, module.find('\n', begin) - begin);
}

// An expression of the debugger's language: its tables give the functions, attributes and operators.
std::string expression(const std::string& module, Rng& rng, int depth) {
  static constexpr const char* kLeaves[] = {
      "x",   "t",      "_",    "0", "1",     "-1",   "2.5",           "True", "None", "nan",
      "'f'", "[1, 2]", "(x,)", "n", "1e300", "0x1F", "[[1, 2], [3]]", "lv",   "inf",  "()"};
  static constexpr const char* kIndices[] = {
      "0", ":", "::-1", "...", "None", "1:", "-1", ":9223372036854775807", "x > 0", "[0, 1]"};
  const auto inner = [&] { return expression(module, rng, depth - 1); };
  const auto pick = [&](const std::vector<expression::LanguageRow>& rows) { return rows[below(rng, rows.size())]; };
  if (depth <= 0) return below(rng, 3) == 0 ? identifier(module, rng) : kLeaves[below(rng, std::size(kLeaves))];
  switch (below(rng, 7)) {
    case 0:
      return fmt::format("{}({})", pick(expression::language_functions()).name, inner());
    case 1:
      return fmt::format("{}({}, {})", pick(expression::language_functions()).name, inner(), inner());
    case 2:
      return fmt::format("({}).{}", inner(), pick(expression::language_attributes()).name);
    case 3:
      return fmt::format("{}.{}({})", inner(), pick(expression::language_functions()).name, inner());
    case 4:
      return fmt::format("({})[{}, {}]", inner(), kIndices[below(rng, std::size(kIndices))], inner());
    case 5:
      return fmt::format("({} {} {})", inner(), pick(expression::language_operators()).name, inner());
    default:
      return fmt::format("R.add({}, {})", inner(), inner());
  }
}

std::string entry_with_expression(const std::string& module, Rng& rng) {
  static constexpr const char* kVerbs[] = {
      "",          ":print ", ":print /x ", ":stats ",         ":plot ",
      ":display ", "y = ",    ":output ",   ":break main if ", ":compare-value 1, "};
  return kVerbs[below(rng, std::size(kVerbs))] + expression(module, rng, 1 + int(below(rng, 4)));
}

std::string entry(const std::string& module, Rng& rng) {
  static constexpr const char* kExpressions[] = {"R.const(7)",
                                                 "keep = R.const(42)",
                                                 "R.add(_, _)",
                                                 "x = R.ones((2, 3), \"float32\")",
                                                 "R.sum(x)",
                                                 "t = (x, x)",
                                                 "R.matmul(x, R.permute_dims(x))",
                                                 "lv = R.shape([2, 3])",
                                                 "n = T.int64()",
                                                 "t = (t, t)"};
  switch (below(rng, 10)) {
    case 8:
    case 9:
      return entry_with_expression(module, rng);
    case 0:
      return kExpressions[below(rng, std::size(kExpressions))];
    case 1:
      return line_of(module, rng);
    case 2:
      return fmt::format(":run {}", identifier(module, rng));
    case 3:
      return below(rng, 2) ? ":start" : fmt::format(":break {}", argument(module, rng));
    default: {
      const ui::Command& c = *usable_commands()[below(rng, usable_commands().size())];
      std::string text = fmt::format(":{}", c.name);
      for (std::size_t i = below(rng, c.arguments.empty() ? 2 : 4); i > 0; --i) text += " " + argument(module, rng);
      return text;
    }
  }
}

// ---- trying them ----

struct State {
  const ir::Module* module;
  std::size_t values;
};
State state_of(ui::Repl& repl) { return {repl.session().module(), repl.session().values().size()}; }

std::string try_entry(ui::Repl& repl, std::string_view text) {
  const State before = state_of(repl);
  const ui::Status status = repl.execute(text);
  if (repl.last().exit_code == ui::kInternal)
    return fmt::format("`{}`: {}", text, repl.last().errors.empty() ? "" : repl.last().errors.back());
  if (status != ui::Status::Failed || text.starts_with(':')) return {};
  const State after = state_of(repl);
  if (after.module != before.module || after.values != before.values)
    return fmt::format("`{}` failed and changed the session", text);
  return {};
}

bool harmless(std::string_view text) { return text.find('!') == std::string_view::npos && text.find(":so") != 0; }

}  // namespace

std::string run_one(const std::string& input) {
  const auto mark = input.find(kMark);
  const std::string module = input.substr(0, mark);
  std::string_view entries = input;
  entries.remove_prefix(mark == std::string::npos ? input.size() : mark + kMark.size());
  ui::CapturedConsole console;
  ui::CommandLine line;
  line.timeout = 3;
  ui::Repl repl(line, console);
  if (module.find("####") == std::string::npos) repl.execute(":load <<####\n" + module + "\n####");
  for (std::size_t i = 0; !entries.empty() && i < kMostEntries; ++i) {
    const auto end = entries.find('\n');
    const std::string_view text = ui::trim(entries.substr(0, end));
    entries.remove_prefix(end == std::string_view::npos ? entries.size() : end + 1);
    if (!harmless(text)) continue;
    if (std::string wrong = try_entry(repl, text); !wrong.empty()) return wrong;
    console.take();
  }
  // The session still answers.
  if (repl.execute("R.const(41)") != ui::Status::Good)
    return "the session no longer answers: " + (repl.last().errors.empty() ? "" : repl.last().errors.back());
  return {};
}

std::string mutate_one(const std::string& input, const Pool& pool, Rng& rng) {
  const auto mark = input.find(kMark);
  std::string module = input.substr(0, mark);
  std::string entries = mark == std::string::npos ? "" : input.substr(mark + kMark.size());
  if (below(rng, 4) == 0) module = mutate_text(std::move(module), pool, rng);
  if (!entries.empty() && below(rng, 3) == 0) entries = mutate_text(std::move(entries), {}, rng);
  for (std::size_t i = 2 + below(rng, 10); i > 0; --i) entries += entry(module, rng) + "\n";
  return module + std::string(kMark) + entries;
}

}  // namespace rldb::fuzz
