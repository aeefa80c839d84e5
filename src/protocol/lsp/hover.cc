// Hovers: types and shapes of names, signatures of operators, binders of symbolic variables, values of the last run.
#include <fmt/format.h>

#include <algorithm>

#include "protocol/lsp/methods.h"
#include "protocol/lsp/relay_file.h"
#include "rldb/frontend/unfinished.h"
#include "rldb/frontend/words.h"
#include "rldb/ops/op_info.h"
#include "rldb/passes/pass.h"

namespace rldb::protocol::lsp {

using frontend::kNoName;
using frontend::MarkKind;
using frontend::NameDefinition;
using frontend::NameKind;
using frontend::NameMark;
using frontend::TextIndex;
using frontend::TextRange;

namespace {

struct HoverText {
  std::string code;
  std::vector<std::string> lines;
  TextRange at;
};

std::string_view text_in(const TextFile& file, TextRange at) { return file.text().substr(at.begin, at.end - at.begin); }

std::string line_around(const TextFile& file, std::uint32_t offset) {
  std::string_view line = file.buffer().line(file.buffer().line_column(offset).line);
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  constexpr std::size_t kMost = 160;
  return line.size() > kMost ? std::string(line.substr(0, kMost)) + "..." : std::string(line);
}

// Where a name is bound: there, if the mark is a definition; else by each of the definitions that count as one.
std::vector<TextRange> bound_at(const TextIndex& index, const NameMark& mark) {
  std::vector<TextRange> out;
  const std::vector<NameDefinition>& all = index.definitions();
  for (const NameDefinition& d : all)
    if (mark.kind == MarkKind::Definition ? d.at == mark.at : d.joined == all[mark.name].joined)
      out.push_back({std::min(d.at.begin, d.whole.begin), std::max(d.at.end, d.whole.end)});
  return out;
}

// Null: it was not bound. Of a binding that was made more than once, the last value.
const std::string* value_of(const LastRun& run, const TextIndex& index, const NameMark& mark) {
  const NameDefinition& d = index.definitions()[mark.name];
  if (d.kind == NameKind::Symbol) {
    const auto symbol = run.symbols.find(d.name);
    return symbol == run.symbols.end() ? nullptr : &symbol->second;
  }
  const std::vector<TextRange> places = bound_at(index, mark);
  const auto is_bound = [&](const LastRun::NamedValue& v) {
    return v.name == d.name &&
           std::any_of(places.begin(), places.end(), [&](TextRange at) { return v.at >= at.begin && v.at < at.end; });
  };
  const auto last = std::find_if(run.values.rbegin(), run.values.rend(), is_bound);
  return last == run.values.rend() ? nullptr : &last->value;
}

void add_last_run(const TextFile& file, const TextIndex& index, const NameMark& mark, std::vector<std::string>& lines) {
  if (!file.last_run) return;
  const LastRun& run = *file.last_run;
  const NameDefinition& d = index.definitions()[mark.name];
  const std::string_view run_of = run.was_edited ? "last run, before the text was edited: " : "last run: ";
  const bool inside = d.owner != kNoName && index.definitions()[d.owner].name == run.function;
  if (inside)
    if (const std::string* value = value_of(run, index, mark)) lines.push_back(fmt::format("{}{}", run_of, *value));
  if (frontend::is_function(d.kind) && d.name == run.function) lines.push_back(fmt::format("{}{}", run_of, run.result));
}

// Functions that call a kernel or a function.
std::string callers_of(const TextIndex& index, std::uint32_t name) {
  std::vector<std::string> callers;
  for (const NameMark& m : index.uses_of(name)) {
    if (m.kind == MarkKind::Definition) continue;
    const std::uint32_t owner = index.function_at(m.at.begin);
    if (owner == kNoName || owner == name) continue;
    const std::string& caller = index.definitions()[owner].name;
    if (std::find(callers.begin(), callers.end(), caller) == callers.end()) callers.push_back(caller);
  }
  if (callers.empty()) return {};
  std::string text;
  constexpr std::size_t kMost = 5;
  for (std::size_t i = 0; i < std::min(callers.size(), kMost); ++i)
    text += fmt::format("{}`{}`", i == 0 ? "" : ", ", callers[i]);
  return fmt::format("called by {}{}", text, callers.size() > kMost ? ", ..." : "");
}

// The annotation as it is written, of a name whose function cannot be read.
std::string written_type(const TextFile& file, const NameDefinition& d) {
  if (frontend::is_function(d.kind) || d.kind == NameKind::Module || !d.whole.contains(d.at)) return {};
  const std::string_view rest = text_in(file, {d.at.end, d.whole.end});
  const std::size_t colon = rest.find_first_not_of(' ');
  if (colon == std::string_view::npos || rest[colon] != ':') return {};
  const std::size_t begin = std::min(rest.find_first_not_of(' ', colon + 1), rest.size());
  int depth = 0;
  std::size_t end = begin;
  for (; end < rest.size() && !(depth == 0 && (rest[end] == '=' || rest[end] == '\n')); ++end) {
    if (rest[end] == '(' || rest[end] == '[') ++depth;
    if (rest[end] == ')' || rest[end] == ']') --depth;
  }
  while (end > begin && rest[end - 1] == ' ') --end;
  return std::string(rest.substr(begin, end - begin));
}

std::optional<HoverText> hover_name(TextFile& file, const TextIndex& index, const NameMark& mark) {
  const NameDefinition& d = index.definitions()[mark.name];
  HoverText out{declaration_text(file, index, mark.name), {}, mark.at};
  std::string line(to_string(d.kind));
  if (d.owner != kNoName && index.definitions()[d.owner].kind != NameKind::Module)
    line += fmt::format(" of `{}`", index.definitions()[d.owner].name);
  out.lines.push_back(std::move(line));
  if (d.kind == NameKind::Symbol && !(d.whole == d.at))
    out.lines.push_back(fmt::format("declared by `{}`", line_around(file, d.whole.begin)));
  if (d.kind == NameKind::Symbol && !d.whole.contains(d.at))
    out.lines.push_back(fmt::format("bound by `{}`", line_around(file, d.at.begin)));
  if (d.kind == NameKind::Symbol && d.whole == d.at)
    out.lines.push_back(fmt::format("bound by `{}`", line_around(file, d.at.begin)));
  if (frontend::is_function(d.kind))
    if (std::string callers = callers_of(index, mark.name); !callers.empty()) out.lines.push_back(std::move(callers));
  add_last_run(file, index, mark, out.lines);
  return out;
}

// `axis` of `R.sum(x, axis=...)`
std::optional<HoverText> hover_keyword(const TextFile& file, const NameMark& mark) {
  const std::string_view call = call_before(file.text(), mark.at.begin).name;
  const ops::OpInfo* op = call.starts_with("R.") ? ops::find(call.substr(2)) : nullptr;
  if (!op) return std::nullopt;
  const std::string_view name = text_in(file, mark.at);
  HoverText out{fmt::format("{}({})", call, op->signature), {}, mark.at};
  for (const ops::AttrInfo& a : op->attrs)
    if (a.name == name)
      out.lines.push_back(a.required ? fmt::format("attribute `{}`, required", name)
                                     : fmt::format("attribute `{}`, by default `{}`", name, a.default_text));
  for (const ops::ArgInfo& a : op->args)
    if (a.name == name) out.lines.push_back(fmt::format("argument `{}`", name));
  return out.lines.empty() ? std::nullopt : std::optional(std::move(out));
}

std::optional<HoverText> hover_builtin(const TextFile& file, const NameMark& mark) {
  std::string doc;
  HoverText out{builtin_text(dotted_name(file, mark), &doc), {}, mark.at};
  if (out.code.empty() && doc.empty()) return std::nullopt;
  if (out.code.empty()) out.code = dotted_name(file, mark);
  if (!doc.empty()) out.lines.push_back(doc);
  return out;
}

std::optional<HoverText> hover_relay(TextFile& file, std::uint32_t offset) {
  const TextIndex& index = file.index();
  const NameMark* mark = index.mark_at(offset);
  if (!mark) return std::nullopt;
  if (mark->name != kNoName) {
    HoverText out{declaration_text(file, index, mark->name), {}, mark->at};
    const NameDefinition& d = index.definitions()[mark->name];
    if (d.kind == NameKind::RelaxFunction)
      if (std::string callers = callers_of(index, mark->name); !callers.empty())
        out.lines.push_back(std::move(callers));
    return out;
  }
  const std::string_view text = text_in(file, mark->at);
  HoverText out{relay_operator_text(text), {}, mark->at};
  if (const std::string type = file.relay()->type_around(offset);
      !type.empty() && type != "_" && mark->kind != MarkKind::Keyword)
    out.lines.push_back(fmt::format("here of type `{}`", type));
  if (out.code.empty() && out.lines.empty()) return std::nullopt;
  if (out.code.empty()) out.code = std::string(text);
  return out;
}

std::optional<HoverText> hover_pass(const TextFile& file, std::uint32_t offset) {
  const std::string_view text = file.text();
  std::uint32_t begin = offset, end = offset;
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  while (end < text.size() && is_word(text[end])) ++end;
  if (begin == end || !pass_being_typed(text, end)) return std::nullopt;
  const passes::PassInfo* pass = passes::find_pass(text.substr(begin, end - begin));
  if (!pass) return std::nullopt;
  HoverText out{std::string(pass->name), {std::string(pass->doc)}, {begin, end}};
  for (const pipeline::OptionInfo& o : pass->options) out.lines.push_back(fmt::format("`{}`: {}", to_string(o), o.doc));
  return out;
}

std::optional<HoverText> hover_at(TextFile& file, std::uint32_t offset) {
  if (file.is_relay()) return hover_relay(file, offset);
  if (auto pass = hover_pass(file, offset)) return pass;
  if (!file.is_script(offset)) return std::nullopt;
  const TextIndex& index = file.index();
  const NameMark* mark = index.mark_at(offset);
  if (!mark) return std::nullopt;
  if (mark->name != kNoName) return hover_name(file, index, *mark);
  if (mark->kind == MarkKind::Keyword) return hover_keyword(file, *mark);
  if (mark->kind == MarkKind::Builtin || mark->kind == MarkKind::Type || mark->kind == MarkKind::Decorator)
    return hover_builtin(file, *mark);
  return std::nullopt;
}

}  // namespace

std::string declaration_text(TextFile& file, const TextIndex& index, std::uint32_t name) {
  const NameDefinition& d = index.definitions()[name];
  if (file.is_relay()) {
    if (d.kind == NameKind::RelaxFunction) {
      const std::string signature = file.relay()->signature_of(std::string_view(d.name).substr(1));
      return "def " + d.name + signature;
    }
    std::string type = file.relay()->type_at(d.at);
    if (type.empty()) type = file.relay()->type_at(d.whole);
    // The value of `%0 = value` ends with its statement.
    if (type.empty()) {
      const std::size_t equals = file.text().find('=', d.at.end);
      std::uint32_t begin = d.whole.end;
      if (equals < d.whole.end) begin = static_cast<std::uint32_t>(equals + 1);
      while (begin < d.whole.end && file.text()[begin] == ' ') ++begin;
      type = file.relay()->type_at({begin, d.whole.end});
    }
    return type.empty() ? d.name : d.name + ": " + type;
  }
  std::string type = file.types().text_of(index, name);
  if (type.empty()) type = written_type(file, d);
  if (frontend::is_function(d.kind)) return type.starts_with('(') ? "def " + d.name + type : d.name + type;
  if (d.kind == NameKind::Module) return "class " + d.name;
  return type.empty() ? d.name : d.name + ": " + type;
}

std::string dotted_name(const TextFile& file, const NameMark& mark) {
  std::string_view after = file.text().substr(mark.at.begin, mark.at.end - mark.at.begin);
  std::uint32_t begin = mark.at.begin > 0 ? mark.at.begin - 1 : 0;
  std::uint32_t from = begin;
  while (from > 0 && (std::isalnum(static_cast<unsigned char>(file.text()[from - 1])) || file.text()[from - 1] == '_'))
    --from;
  std::string space(file.text().substr(from, begin - from));
  if (space == "relax") space = "R";
  if (space == "tir" || space == "tirx" || space == "Tx" || space == "ty") space = "T";
  if (space == "ir") space = "I";
  // tvm.script.ir_module, tvm.relax.add
  if (space == "tvm" && after.find('.') != std::string_view::npos)
    after = after.substr(after.rfind('.') + 1), space = "I";
  return space + "." + std::string(after);
}

std::string builtin_text(std::string_view dotted, std::string* doc) {
  const frontend::Word* word = frontend::find_word(dotted);
  if (!word) return {};
  if (doc) *doc = word->doc;
  return word->signature;
}

RpcResult<Json> hover(Server& server, const Json& params) {
  auto file = server.file_of(params);
  if (!file.ok()) return support::Failure(file.error());
  auto offset = server.offset_of(**file, params);
  if (!offset.ok()) return support::Failure(offset.error());
  const auto found = hover_at(**file, *offset);
  if (!found) return Json(nullptr);
  std::string text;
  const bool markdown = server.client().markdown;
  if (!found->code.empty()) text = markdown ? "```python\n" + found->code + "\n```" : found->code;
  for (std::string line : found->lines) {
    if (!markdown) std::erase(line, '`');
    text += (text.empty() ? "" : markdown ? "\n\n" : "\n") + line;
  }
  return Json{{"contents", {{"kind", markdown ? "markdown" : "plaintext"}, {"value", text}}},
              {"range", server.range(**file, found->at)}};
}

}  // namespace rldb::protocol::lsp
