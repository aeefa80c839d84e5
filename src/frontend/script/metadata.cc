// The metadata block: JSON, base64, DLPack tensors, and the references to its constants.
#include "frontend/script/metadata.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "frontend/cst/literal.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/expr.h"
#include "frontend/tensor_blob.h"
#include "rldb/ir/meta_string.h"
#include "rldb/runtime/value.h"
#include "rldb/source/diagnostic_script_metadata.h"
#include "rldb/source/diagnostic_syntax.h"
#include "rldb/support/json_document.h"

namespace rldb::frontend::script {

// The graph of nodes in TVM's JSON: values refer to each other by index.
struct Metadata {
  Node text;  // the string in the file
  bool decoded = false;
  bool bad = false;
  std::optional<support::JsonDocument> document;
  const nlohmann::json* nodes = nullptr;
  const nlohmann::json* tensors = nullptr;  // of the old form: base64 texts beside the nodes; else null
  std::unordered_map<std::string, std::vector<std::int64_t>> by_key;  // "relax.expr.Constant" -> node indices
  std::unordered_map<std::int64_t, const ir::Constant*> constants;
};

namespace {

using nlohmann::json;

// ---- the node graph ----

class Decoder {
 public:
  Decoder(Reader& r, Metadata& m) : r_(r), m_(m) {}

  // Fills `by_key` from the root map.
  bool index(std::string_view text, Node at) {
    auto made = support::read_json(text);
    if (!made.ok() && made.error() != support::JsonProblem::NotJson) {
      r_.error(at, diag::BadMetadata, support::to_string(made.error()));
      return false;
    }
    if (!made.ok() || !(*made)->is_object() || !(*made)->contains("nodes") || !(**made)["nodes"].is_array()) {
      r_.error(at, diag::BadMetadata, "it is not the JSON that TVM writes");
      return false;
    }
    const json& doc = *m_.document.emplace(std::move(*made));
    m_.nodes = &doc["nodes"];
    if (doc.contains("b64ndarrays")) m_.tensors = &doc["b64ndarrays"];
    const std::int64_t root = int_of(doc.contains("root_index") ? doc["root_index"] : doc.value("root", json(0)));
    const json* map = node(root);
    if (!map) return bad(at, "its root is missing");
    // New form: {"type": "ffi.Map", "data": [key, value, ...]}; old form: {"type_key": "Map", "keys": [...], "data":
    // [...]}.
    if (map->contains("keys")) {
      const json& keys = (*map)["keys"];
      const json& data = map->value("data", json::array());
      for (std::size_t i = 0; keys.is_array() && i < keys.size() && i < data.size(); ++i)
        if (keys[i].is_string()) add(keys[i].get<std::string>(), int_of(data[i]));
      return true;
    }
    const json data = map->value("data", json::array());
    if (!data.is_array()) return bad(at, "its root is not a map");
    for (std::size_t i = 0; i + 1 < data.size(); i += 2) {
      const json* key = node(int_of(data[i]));
      if (key && key->contains("data") && (*key)["data"].is_string())
        add((*key)["data"].get<std::string>(), int_of(data[i + 1]));
    }
    return true;
  }

  // The text of a StringImm node: {"type": .., "data": {"value": node}} today; before, {"type_key": .., "attrs":
  // {"value": "text"}}.
  std::optional<std::string> string(std::int64_t at) const {
    const json* n = node(at);
    if (!n) return std::nullopt;
    for (const char* fields : {"data", "attrs"}) {
      if (!n->contains(fields) || !(*n)[fields].is_object() || !(*n)[fields].contains("value")) continue;
      const json& value = (*n)[fields]["value"];
      if (value.is_string()) return value.get<std::string>();
      const json* text = node(int_of(value));
      if (text && text->contains("data") && (*text)["data"].is_string()) return (*text)["data"].get<std::string>();
    }
    return std::nullopt;
  }

  const ir::Constant* constant(std::int64_t at, std::string& why) {
    const json* n = node(at);
    if (!n) {
      why = "the node is missing";
      return nullptr;
    }
    const json* blob = tensor_node(*n, why);
    if (!blob) return nullptr;
    auto value = tensor_of_base64(blob->get<std::string>(), why);
    return value ? r_.ctx.constant(std::move(*value)) : nullptr;
  }

 private:
  bool bad(Node at, std::string_view why) {
    r_.error(at, diag::BadMetadata, why);
    return false;
  }
  static std::int64_t int_of(const json& j) {
    if (j.is_number_integer()) return j.get<std::int64_t>();
    if (j.is_string()) return std::strtoll(j.get<std::string>().c_str(), nullptr, 10);
    return -1;
  }
  const json* node(std::int64_t at) const {
    return at >= 0 && std::size_t(at) < m_.nodes->size() && (*m_.nodes)[std::size_t(at)].is_object()
               ? &(*m_.nodes)[std::size_t(at)]
               : nullptr;
  }
  void add(std::string key, std::int64_t list) {
    const json* n = node(list);
    if (!n) return;
    const json data = n->value("data", json::array());
    if (!data.is_array()) return;
    std::vector<std::int64_t>& out = m_.by_key[std::move(key)];
    for (const json& item : data) out.push_back(int_of(item));
  }
  // The base64 text of a relax.expr.Constant node: {"type": .., "data": {"data": node}} today; before,
  // {"type_key": .., "attrs": {"data": "k"}} with k an index of `b64ndarrays`, or of a node where there are none.
  const json* tensor_node(const json& n, std::string& why) const {
    why = "it is not a tensor constant";
    if (n.value("type", "") == "ffi.Tensor" && n.contains("data") && n["data"].is_string()) return &n["data"];
    for (const char* fields : {"data", "attrs"}) {
      if (!n.contains(fields) || !n[fields].is_object() || !n[fields].contains("data")) continue;
      const std::int64_t at = int_of(n[fields]["data"]);
      if (m_.tensors && m_.tensors->is_array() && at >= 0 && std::size_t(at) < m_.tensors->size() &&
          n.contains("type_key"))
        return (*m_.tensors)[std::size_t(at)].is_string() ? &(*m_.tensors)[std::size_t(at)] : nullptr;
      const json* t = node(at);
      if (t && t->contains("data") && (*t)["data"].is_string()) return &(*t)["data"];
      if (t && t->contains("repr_b64") && (*t)["repr_b64"].is_string()) return &(*t)["repr_b64"];
    }
    return nullptr;
  }

  Reader& r_;
  Metadata& m_;
};

bool decode(Reader& r) {
  Metadata& m = *r.metadata;
  if (m.decoded) return !m.bad;
  m.decoded = true;
  m.bad = true;
  const cst::StringLiteral literal = cst::split_string(m.text.text());
  const auto text = cst::unescape(literal);
  if (!text) {
    r.error(m.text, diag::BadEscape);
    return false;
  }
  m.bad = !Decoder(r, m).index(*text, m.text);
  return !m.bad;
}

const ir::Type* expected_type(Reader& r, Node at) {
  const ir::Type* type = r.expected.at(at);
  return type ? type : r.ctx.any();
}

}  // namespace

void note_metadata(Reader& r, Node value) {
  if (!value.is(Kind::Call)) return;
  for (Node a : value.child(Field::Arguments).children())
    if (a.is(Kind::String)) {
      r.metadata = std::make_shared<Metadata>();
      r.metadata->text = a;
    }
}

Val metadata_constant(Reader& r, Node key, Node index, Node at) {
  const Val k = eval(r, key), i = eval(r, index);
  const auto name = to_str(r, k, key);
  const auto number = to_int(r, i, index);
  if (!name || !number) return {};
  const bool is_string = ir::is_meta_string_key(*name);
  if (!r.metadata && is_string) return Val::of_str(r.keep(ir::meta_string_reference(*name, *number)));
  if (!r.metadata)
    return Val::of(static_cast<const ir::Expr*>(r.at(r.ctx.meta_constant(*name, *number, expected_type(r, at)), at)));
  if (!decode(r)) return {};
  Metadata& m = *r.metadata;
  const auto it = m.by_key.find(std::string(*name));
  if (it == m.by_key.end() || *number < 0 || std::size_t(*number) >= it->second.size())
    return r.error(at, diag::NotInMetadata, *name, *number);
  const std::int64_t node = it->second[std::size_t(*number)];
  if (is_string) {
    const auto text = Decoder(r, m).string(node);
    if (!text) return r.error(at, diag::BadMetadataConstant, *name, *number, "it is not a string");
    return Val::of_str(r.keep(*text));
  }
  auto [known, fresh] = m.constants.try_emplace(node, nullptr);
  if (fresh) {
    std::string why;
    known->second = Decoder(r, m).constant(node, why);
    if (!known->second) return r.error(at, diag::BadMetadataConstant, *name, *number, why);
    r.at(known->second, at);
  }
  return Val::of(static_cast<const ir::Expr*>(known->second));
}

}  // namespace rldb::frontend::script
