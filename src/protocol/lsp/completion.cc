// Completion and signature help, as at the prompt: words of the language, names in scope, parameters of the open call,
// passes in a comment that names a pipeline.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "protocol/lsp/methods.h"
#include "rldb/frontend/unfinished.h"
#include "rldb/frontend/words.h"
#include "rldb/ir/expr.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/signature.h"
#include "rldb/ops/op_info.h"
#include "rldb/passes/pass.h"
#include "rldb/relay/ir/op.h"

namespace rldb::protocol::lsp {

using frontend::NameDefinition;
using frontend::NameKind;
using frontend::TextIndex;
using frontend::TextRange;

namespace {

constexpr std::size_t kMostItems = 200;
// How far before the cursor an open call is looked for.
constexpr std::size_t kMostCallText = std::size_t(16) << 10;

// CompletionItemKind of the protocol.
enum class ItemKind : int {
  Function = 3,
  Variable = 6,
  Class = 7,
  Module = 9,
  Property = 10,
  Value = 12,
  Keyword = 14,
  TypeParameter = 25
};

struct Item {
  std::string label;
  ItemKind kind;
  std::string detail;
  std::string doc;
};

ItemKind kind_of(NameKind kind) {
  if (frontend::is_function(kind)) return ItemKind::Function;
  if (kind == NameKind::Module) return ItemKind::Class;
  return kind == NameKind::Symbol ? ItemKind::TypeParameter : ItemKind::Variable;
}

ItemKind kind_of(frontend::WordKind kind) {
  switch (kind) {
    case frontend::WordKind::Operator:
    case frontend::WordKind::Intrinsic:
      return ItemKind::Function;
    case frontend::WordKind::Type:
      return ItemKind::Class;
    case frontend::WordKind::Value:
      return ItemKind::Value;
    case frontend::WordKind::Statement:
    case frontend::WordKind::Decorator:
      return ItemKind::Keyword;
  }
  return ItemKind::Value;
}

bool is_word_char(char c, bool relay) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || (c & 0x80) != 0 ||
         (relay && (c == '%' || c == '@' || c == '/'));
}

}  // namespace

frontend::OpenCall call_before(std::string_view text, std::uint32_t offset) {
  const std::size_t from = offset > kMostCallText ? offset - kMostCallText : 0;
  frontend::OpenCall call = frontend::find_open_call(text.substr(from, offset - from), offset - from);
  call.arguments += from;
  return call;
}

namespace {

struct Completer {
  TextFile& file;
  std::uint32_t offset;  // of the cursor
  std::string_view prefix;
  std::vector<Item> items;
  std::set<std::string, std::less<>> seen;
  bool complete = true;

  bool takes(std::string_view label) {
    if (!label.starts_with(prefix) || label.size() == prefix.size()) return false;
    if (items.size() < kMostItems) return true;
    complete = false;
    return false;
  }
  void add(Item item) {
    if (takes(item.label) && seen.insert(item.label).second) items.push_back(std::move(item));
  }

  void add_passes() {
    for (const passes::PassInfo& p : passes::all_passes())
      add({std::string(p.name), ItemKind::Function, "", std::string(p.doc)});
    for (const passes::PipelineInfo& p : passes::named_pipelines())
      add({std::string(p.name), ItemKind::Module, std::string(p.passes), std::string(p.doc)});
  }

  void add_words() {
    for (frontend::Word& w : frontend::words_beginning(prefix))
      add({std::move(w.name), kind_of(w.kind), std::move(w.signature), std::string(w.doc)});
  }

  void add_members(std::string_view root) {
    std::uint32_t there = offset;
    const TextIndex& index = file.recent_index(there);
    const std::uint32_t inside = index.owner_at(there);
    for (const NameDefinition& d : index.definitions()) {
      const bool member = d.owner != frontend::kNoName && index.definitions()[d.owner].kind == NameKind::Module;
      if (!member || !frontend::is_function(d.kind)) continue;
      const NameDefinition& module = index.definitions()[d.owner];
      if (root != "cls" && root != module.name) continue;
      if (inside != frontend::kNoName && !module.whole.touches(there)) continue;
      add({std::string(root) + "." + d.name, ItemKind::Function, member_detail(d.name),
           std::string(to_string(d.kind))});
    }
  }
  std::string member_detail(std::string_view name) {
    const ir::Expr* f = file.types().function_of(name);
    return f ? ir::signature_text(f) : std::string();
  }

  void add_names() {
    std::uint32_t there = offset - static_cast<std::uint32_t>(prefix.size());
    const TextIndex& index = file.recent_index(there);
    for (const std::uint32_t i : index.visible_at(there)) {
      const NameDefinition& d = index.definitions()[i];
      if (!takes(d.name)) continue;
      add({d.name, kind_of(d.kind), file.is_relay() ? std::string() : file.types().text_of(index, i),
           std::string(to_string(d.kind))});
    }
    if (file.is_relay()) return;
    for (const char* word : {"R.", "T.", "I.", "cls."}) add({word, ItemKind::Module, "", ""});
  }

  void add_parameters() {
    const frontend::OpenCall call = call_before(file.text(), offset - static_cast<std::uint32_t>(prefix.size()));
    const ops::OpInfo* op = call.name.starts_with("R.") ? ops::find(call.name.substr(2)) : nullptr;
    if (!op) return;
    for (const ops::ParamInfo& p : op->params)
      add({std::string(p.name) + "=", ItemKind::Property,
           p.is_attr ? std::string(op->attrs[std::size_t(p.index)].default_text) : std::string(),
           p.is_attr ? "attribute" : "argument"});
  }

  void run() {
    if (pass_being_typed(file.text(), offset)) return add_passes();
    if (!file.is_script(offset)) return;
    if (file.is_relay()) {
      add_names();
      for (const std::string_view name : relay::op_names())
        add({std::string(name), ItemKind::Function, "", "operator"});
      return;
    }
    const std::size_t dot = prefix.find('.');
    if (dot == std::string_view::npos) {
      add_parameters();
      return add_names();
    }
    const std::string_view root = prefix.substr(0, dot);
    if (root == "R" || root == "T" || root == "I") return add_words();
    add_members(root);
  }
};

}  // namespace

RpcResult<Json> complete(Server& server, const Json& params) {
  auto file = server.file_of(params);
  if (!file.ok()) return support::Failure(file.error());
  auto offset = server.offset_of(**file, params);
  if (!offset.ok()) return support::Failure(offset.error());
  const std::string_view text = (*file)->text();
  std::uint32_t begin = *offset;
  while (begin > 0 && is_word_char(text[begin - 1], (*file)->is_relay())) --begin;
  Completer completer{**file, *offset, text.substr(begin, *offset - begin), {}, {}};
  completer.run();
  Json items = Json::array();
  const Json range = server.range(**file, {begin, *offset});
  for (const Item& item : completer.items) {
    Json one{{"label", item.label},
             {"kind", int(item.kind)},
             {"sortText", fmt::format("{:04}", items.size())},
             {"filterText", item.label},
             {"textEdit", {{"range", range}, {"newText", item.label}}}};
    if (!item.detail.empty()) one["detail"] = item.detail;
    if (!item.doc.empty()) one["documentation"] = item.doc;
    items.push_back(std::move(one));
  }
  return Json{{"isIncomplete", !completer.complete}, {"items", std::move(items)}};
}

namespace {

struct Signature {
  std::string label;
  std::vector<std::string> parameters;  // parts of the label, in order
  std::string doc;
};

std::string param_text(const ops::OpInfo& op, const ops::ParamInfo& p) {
  const std::string_view fallback =
      p.is_attr ? op.attrs[std::size_t(p.index)].default_text : op.args[std::size_t(p.index)].default_text;
  const bool has = !fallback.empty() && !(p.is_attr && op.attrs[std::size_t(p.index)].required);
  return has ? fmt::format("{}={}", p.name, fallback) : std::string(p.name);
}

std::optional<Signature> signature_of(TextFile& file, std::string_view name) {
  Signature out;
  if (const ops::OpInfo* op = name.starts_with("R.") ? ops::find(name.substr(2)) : nullptr) {
    for (const ops::ParamInfo& p : op->params) out.parameters.push_back(param_text(*op, p));
    out.doc = op->doc;
  } else if (const frontend::Word* word = frontend::find_word(name)) {
    out.label = word->signature.empty() ? std::string(name) + "(...)" : word->signature;
    out.doc = word->doc;
    return out;
  } else {
    const ir::Expr* f = file.types().function_of(name.substr(name.rfind('.') + 1));
    if (!ir::isa<ir::Function>(f) && !ir::isa<ir::PrimFunc>(f)) return std::nullopt;
    out.parameters = ir::parameter_texts(f);
    if (const auto* relax = ir::as<ir::Function>(f)) out.doc = "gives " + ir::print_type(relax->ret_type);
  }
  out.label = fmt::format("{}(", name);
  for (std::size_t i = 0; i < out.parameters.size(); ++i) out.label += (i == 0 ? "" : ", ") + out.parameters[i];
  out.label += ")";
  return out;
}

// The parameter at the cursor: by the keyword that is being given, else by position.
std::optional<std::size_t> active_parameter(const TextFile& file, const frontend::OpenCall& call, std::uint32_t offset,
                                            const Signature& signature) {
  std::string_view written = file.text().substr(call.arguments, offset - call.arguments);
  written = written.substr(written.rfind(',') == std::string_view::npos ? 0 : written.rfind(',') + 1);
  while (!written.empty() && std::isspace(static_cast<unsigned char>(written.front()))) written.remove_prefix(1);
  const std::string_view keyword = written.substr(0, std::min(written.find('='), written.size()));
  for (std::size_t i = 0; i < signature.parameters.size() && keyword.size() < written.size(); ++i) {
    const std::string_view p = signature.parameters[i];
    if (p.substr(0, p.find_first_of("=:")) == keyword) return i;
  }
  if (call.argument < signature.parameters.size()) return call.argument;
  return std::nullopt;
}

}  // namespace

RpcResult<Json> signature_help(Server& server, const Json& params) {
  auto file = server.file_of(params);
  if (!file.ok()) return support::Failure(file.error());
  auto offset = server.offset_of(**file, params);
  if (!offset.ok()) return support::Failure(offset.error());
  if ((*file)->is_relay() || !(*file)->is_script(*offset)) return Json(nullptr);
  const frontend::OpenCall call = call_before((*file)->text(), *offset);
  const auto signature = call.name.empty() ? std::nullopt : signature_of(**file, call.name);
  if (!signature) return Json(nullptr);
  Json parameters = Json::array();
  for (const std::string& p : signature->parameters) parameters.push_back({{"label", p}});
  Json one{{"label", signature->label}, {"parameters", std::move(parameters)}};
  if (!signature->doc.empty()) one["documentation"] = signature->doc;
  Json out{{"signatures", Json::array({std::move(one)})}, {"activeSignature", 0}};
  if (const auto active = active_parameter(**file, call, *offset, *signature)) out["activeParameter"] = *active;
  return out;
}

}  // namespace rldb::protocol::lsp
