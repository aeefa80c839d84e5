// Renames. The text with the new name is read before it is given out: a rename that would change what the program
// means, because the name is taken somewhere on the way, is refused.
#include <fmt/format.h>

#include <algorithm>

#include "protocol/lsp/methods.h"
#include "rldb/ir/equal.h"
#include "rldb/support/python_keyword.h"

namespace rldb::protocol::lsp {

using frontend::kNoName;
using frontend::NameDefinition;
using frontend::NameKind;
using frontend::NameMark;
using frontend::TextIndex;

namespace {

bool is_python_name(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80) != 0;
  });
}

// Why the thing there cannot be renamed; empty: it can.
std::string refusal(const TextFile& file, const TextIndex& index, std::uint32_t name) {
  if (name == kNoName) return "there is no name of this text here";
  const NameDefinition& d = index.definitions()[name];
  if (file.is_relay() && d.kind == NameKind::Variable && d.name.size() > 1 && d.name[1] >= '0' && d.name[1] <= '9')
    return "graph variables are numbered by the text";
  if (d.kind == NameKind::PythonFunction) return "a Python function is used by code that is not read";
  if (d.kind == NameKind::Parameter && d.owner != kNoName && index.definitions()[d.owner].kind == NameKind::Macro)
    return "calls may name the parameters of a macro";
  if (!index.is_script(d.at.begin)) return "it is defined outside of TVMScript";
  return {};
}

// `attributes`: also where a function's attributes name it.
std::string with_new_name(std::string_view text, const std::vector<NameMark>& uses, std::string_view name,
                          bool attributes) {
  std::string out;
  std::size_t at = 0;
  for (const NameMark& m : uses) {
    if (m.in_attribute && !attributes) continue;
    out.append(text.substr(at, m.at.begin - at)).append(name);
    at = m.at.end;
  }
  return out.append(text.substr(at));
}

std::size_t error_count(const std::vector<source::Diagnostic>& all) {
  return std::size_t(std::count_if(all.begin(), all.end(),
                                   [](const source::Diagnostic& d) { return d.severity == source::Severity::Error; }));
}

// Whether the names resolve as before: each mark of the old text is one of the same name in the new one.
bool same_names(const TextIndex& before, const TextIndex& after) {
  return std::equal(before.marks().begin(), before.marks().end(), after.marks().begin(), after.marks().end(),
                    [](const NameMark& a, const NameMark& b) { return a.name == b.name && a.kind == b.kind; });
}

// The fault with the new text; empty: nothing.
std::string problem_with(TextFile& file, const NameDefinition& renamed, const std::vector<NameMark>& uses,
                         std::string_view new_name) {
  const std::string text = with_new_name(file.text(), uses, new_name, true);
  TextFile after("", file.is_relay() ? "relay" : "tvmscript", 0, text);
  const std::string taken = fmt::format("`{}` cannot be used here: it has another meaning there", new_name);
  if (!same_names(file.index(), after.index())) return taken;
  const std::size_t errors = error_count(file.diagnostics());
  const std::vector<source::Diagnostic> found = after.diagnostics();
  if (error_count(found) > errors) {
    for (const source::Diagnostic& d : found)
      if (d.severity == source::Severity::Error) return "the text would have an error: " + d.message;
  }
  if (file.is_relay() || errors > 0 || frontend::is_function(renamed.kind) || renamed.kind == NameKind::Module ||
      renamed.kind == NameKind::Block)
    return {};
  const ir::Module* a = file.document()->result().module;
  // Attributes are equal as texts, which those that name the symbol are not: they are left as they were.
  TextFile beside("", "tvmscript", 0, with_new_name(file.text(), uses, new_name, false));
  const ir::Module* b = beside.document()->result().module;
  const ir::EqualOptions options{.map_free_vars = true};  // of texts that are accepted unchecked
  if (a && b && !ir::structural_equal(a, b, options)) return taken;
  return {};
}

struct RenameTarget {
  TextFile* file = nullptr;
  const NameMark* mark = nullptr;
};

RpcResult<RenameTarget> rename_target(Server& server, const Json& params) {
  auto file = server.file_of(params);
  if (!file.ok()) return support::Failure(file.error());
  auto offset = server.offset_of(**file, params);
  if (!offset.ok()) return support::Failure(offset.error());
  const TextIndex& index = (*file)->index();
  const NameMark* mark = (*file)->is_script(*offset) ? index.mark_at(*offset) : nullptr;
  if (std::string why = refusal(**file, index, mark ? mark->name : kNoName); !why.empty())
    return rpc_failure(RpcCode::RequestFailed, std::move(why));
  return RenameTarget{*file, mark};
}

}  // namespace

RpcResult<Json> prepare_rename(Server& server, const Json& params) {
  auto target = rename_target(server, params);
  if (!target.ok()) {
    if (target.error().code == RpcCode::RequestFailed) return Json(nullptr);
    return support::Failure(target.error());
  }
  const auto& [file, mark] = *target;
  return Json{{"range", server.range(*file, mark->at)},
              {"placeholder", file->text().substr(mark->at.begin, mark->at.end - mark->at.begin)}};
}

RpcResult<Json> rename(Server& server, const Json& params) {
  auto target = rename_target(server, params);
  if (!target.ok()) return support::Failure(target.error());
  const auto& [file, mark] = *target;
  const TextIndex& index = file->index();
  const NameDefinition& d = index.definitions()[mark->name];
  std::string name = text_at(params, {"newName"});
  if (file->is_relay()) {
    // `%x` and `@f` keep their sign, given or not.
    const char sign = d.name[0];
    if ((sign == '%' || sign == '@') && !name.starts_with(sign)) name.insert(name.begin(), sign);
    if (!is_python_name(sign == '%' || sign == '@' ? std::string_view(name).substr(1) : std::string_view(name)))
      return rpc_failure(RpcCode::RequestFailed, fmt::format("`{}` is not a name", name));
  } else if (!is_python_name(name) || support::is_python_keyword(name)) {
    return rpc_failure(RpcCode::RequestFailed, fmt::format("`{}` is not a name", name));
  }
  const std::vector<NameMark> uses = index.uses_of(mark->name);
  if (name != d.name)
    if (std::string why = problem_with(*file, d, uses, name); !why.empty())
      return rpc_failure(RpcCode::RequestFailed, std::move(why));
  Json edits = Json::array();
  for (const NameMark& m : uses) edits.push_back({{"range", server.range(*file, m.at)}, {"newText", name}});
  if (server.client().document_changes) {
    Json one{{"textDocument", {{"uri", file->uri()}, {"version", file->version}}}, {"edits", std::move(edits)}};
    return Json{{"documentChanges", Json::array({std::move(one)})}};
  }
  return Json{{"changes", {{file->uri(), std::move(edits)}}}};
}

}  // namespace rldb::protocol::lsp
