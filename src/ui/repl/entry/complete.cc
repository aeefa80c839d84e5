// Completion and colouring of an entry: words of the language, commands, names of the session, files.
#include "ui/repl/entry/complete.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>

#include "rldb/frontend/parse.h"
#include "rldb/ops/op_info.h"
#include "rldb/passes/pass.h"
#include "ui/repl/commands/option.h"

namespace rldb::ui {

namespace {

// ANSI colours of the grammar's highlight captures, by prefix.
struct Paint {
  std::string_view capture;
  std::string_view code;
};
constexpr Paint kPaints[] = {
    {"comment", "90"}, {"string", "32"}, {"number", "36"},   {"constant", "36"},
    {"keyword", "35"}, {"type", "33"},   {"function", "34"}, {"attribute", "1;34"},
};

std::string_view paint_of(std::string_view capture) {
  for (const Paint& p : kPaints)
    if (capture.starts_with(p.capture)) return p.code;
  return {};
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

std::vector<std::string> files(std::string_view prefix) {
  const auto slash = prefix.rfind('/');
  const std::string folder = slash == std::string_view::npos ? "" : std::string(prefix.substr(0, slash + 1));
  const std::string_view name = slash == std::string_view::npos ? prefix : prefix.substr(slash + 1);
  std::vector<std::string> found;
  DIR* dir = ::opendir(folder.empty() ? "." : folder.c_str());
  if (!dir) return found;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view candidate = entry->d_name;
    if (!candidate.starts_with(name) || (candidate.front() == '.' && name.empty())) continue;
    struct stat info {};
    const std::string path = folder + std::string(candidate);
    const bool is_folder = ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
    found.push_back(path + (is_folder ? "/" : ""));
  }
  ::closedir(dir);
  return found;
}

void add_names(Repl& repl, std::vector<std::string>& out) {
  for (const session::NamedValue& v : repl.session().values()) out.push_back(v.name);
  for (const std::string& f : repl.session().function_names()) out.push_back(f);
  if (repl.debugger().active())
    for (const debug::LocalInfo& local : repl.debugger().locals(repl.frame())) out.push_back(local.name);
}

void add_functions(Repl& repl, std::vector<std::string>& out) {
  const ir::Module* module = repl.session().module();
  for (const std::string& f : repl.session().function_names()) {
    out.push_back(f);
    const auto* relax = module ? ir::as<ir::Function>(module->find(f)) : nullptr;
    if (!relax) continue;
    for (const ir::BindingBlock* block : relax->body->blocks)
      for (const ir::Binding* b : block->bindings) out.push_back(f + ":" + std::string(b->var->name));
  }
}

void add_arguments(Repl& repl, Completion kind, std::string_view prefix, std::vector<std::string>& out) {
  switch (kind) {
    case Completion::None:
      return;
    case Completion::File:
      out = files(prefix);
      return;
    case Completion::Function:
      add_functions(repl, out);
      add_names(repl, out);
      return;
    case Completion::Name:
      add_names(repl, out);
      return;
    case Completion::Pass:
      for (const passes::PassInfo& p : passes::all_passes()) out.emplace_back(p.name);
      for (const passes::PipelineInfo& p : passes::named_pipelines()) out.emplace_back(p.name);
      return;
    case Completion::Engine:
      out = {"jit", "eval", "vm"};
      return;
    case Completion::Command:
      for (const Command& c : commands()) out.emplace_back(c.name);
      return;
    case Completion::Option:
      for (const Option& o : options()) out.emplace_back(o.name);
      return;
  }
}

void add_operators(std::vector<std::string>& out) {
  for (const ops::OpInfo& op : ops::all()) out.push_back("R." + std::string(op.short_name()));
  for (const char* name : {"R.Tensor", "R.Shape", "R.Tuple", "R.Prim", "R.Any", "R.Callable", "R.dataflow", "R.output",
                           "R.function", "R.const", "R.shape", "R.match_cast", "R.str", "R.dtype"})
    out.emplace_back(name);
}

}  // namespace

std::vector<std::string> complete_entry(Repl& repl, std::string_view text, std::size_t cursor, std::size_t& start) {
  const std::string_view before = text.substr(0, std::min(cursor, text.size()));
  std::vector<std::string> candidates;
  const std::string_view head = trim(before).empty() ? std::string_view() : trim(before);
  const bool colon = head.starts_with(':');
  const auto word_end = head.find_first_of(" \t");
  std::string_view verb =
      colon ? head.substr(1, word_end == std::string_view::npos ? word_end : word_end - 1) : head.substr(0, word_end);
  const Command* command = nullptr;
  if (word_end != std::string_view::npos || before.ends_with(' '))
    command = colon ? find_command(verb).command : repl.debugger().active() ? find_bare_verb(verb) : nullptr;

  if (command) {
    const bool wide = command->completion == Completion::File || command->completion == Completion::Function;
    start = before.size();
    while (start > 0 && !std::isspace(static_cast<unsigned char>(before[start - 1])) &&
           (wide || is_word(before[start - 1]) || before[start - 1] == '-'))
      --start;
    add_arguments(repl, command->completion, before.substr(start), candidates);
  } else if (colon) {
    start = before.find(':') + 1;
    for (const Command& c : commands()) candidates.emplace_back(c.name);
  } else {
    start = before.size();
    while (start > 0 && is_word(before[start - 1])) --start;
    if (before.substr(start).starts_with("R."))
      add_operators(candidates);
    else
      add_names(repl, candidates);
    if (repl.debugger().active() && start == 0)
      for (const Command& c : commands())
        if (c.flags & kBare) candidates.emplace_back(c.name);
  }
  const std::string_view prefix = before.substr(start);
  std::erase_if(candidates, [&](const std::string& c) { return !c.starts_with(prefix); });
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  return candidates;
}

namespace {

std::vector<TextStyle> styles_of(const std::vector<frontend::Highlight>& highlights) {
  std::vector<TextStyle> styles;
  for (const frontend::Highlight& h : highlights)
    if (const std::string_view code = paint_of(h.capture); !code.empty()) styles.push_back({h.begin, h.end, code});
  return styles;
}

}  // namespace

std::string paint_script(std::string_view text) {
  std::string painted;
  std::size_t at = 0;
  for (const TextStyle& style : styles_of(frontend::highlight(text))) {
    painted += text.substr(at, style.begin - at);
    painted += fmt::format("\033[{}m{}\033[0m", style.code, text.substr(style.begin, style.end - style.begin));
    at = style.end;
  }
  painted += text.substr(at);
  return painted;
}

std::vector<TextStyle> entry_styles(frontend::Highlighter& highlighter, std::string_view text, std::size_t begin,
                                    std::size_t end) {
  if (!text.starts_with(':')) return styles_of(highlighter.highlight(text, begin, end));
  const std::size_t word = std::min(text.find_first_of(" \t\n"), text.size());
  const bool known = find_command(text.substr(1, word - 1)).command != nullptr;
  return {{0, word, known ? "1;36" : "31"}};
}

}  // namespace rldb::ui
