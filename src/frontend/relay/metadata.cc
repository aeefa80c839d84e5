// `#[metadata]`: a graph of JSON nodes, whose root maps type keys to arrays of entries.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "frontend/relay/reader.h"
#include "frontend/tensor_blob.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/support/cancel.h"
#include "rldb/support/json_document.h"

namespace rldb::frontend::relay_text {

namespace {

using nlohmann::json;

// Fields that are text although they may look like a node index.
bool is_plain(std::string_view type_key, std::string_view field) {
  return field == "dtype" || field == "device_type_int" || field == "virtual_device_id" ||
         (field == "value" && (type_key == "IntImm" || type_key == "FloatImm"));
}

class Decoder {
 public:
  Decoder(relay::Context& ctx, Node at, source::Diagnostics& out) : ctx_(ctx), at_(at), out_(out) {}

  bool read(MetaSections& sections) {
    const auto made = support::read_json(at_.text().substr(std::string_view("#[metadata]").size()));
    if (!made.ok() && made.error() != support::JsonProblem::NotJson) return bad(support::to_string(made.error()));
    if (!made.ok() || !(*made)->is_object() || !(*made)->contains("nodes") || !(**made)["nodes"].is_array())
      return bad("it is not the JSON that TVM writes");
    const json& doc = **made;
    nodes_ = &doc["nodes"];
    tensors_ = doc.contains("b64ndarrays") ? &doc["b64ndarrays"] : nullptr;
    const json* root = node(doc.value("root", json(0)));
    if (!root || !root->contains("keys") || !root->contains("data") || !(*root)["keys"].is_array() ||
        !(*root)["data"].is_array() || (*root)["keys"].size() != (*root)["data"].size())
      return bad("its root is not a map");
    for (std::size_t i = 0; i < (*root)["keys"].size(); ++i)
      if (!(*root)["keys"][i].is_string() || !read_section((*root)["keys"][i], (*root)["data"][i], sections))
        return failed_ ? false : bad("a section is not an array");
    return true;
  }

 private:
  static constexpr int kMaxDepth = 100;

  bool bad(std::string_view why) {
    if (!failed_) {
      source::Span span = at_.span();
      span.end = span.begin + 11;
      out_.add(span, source::message(diag::RelayBadMetadata, why));
    }
    failed_ = true;
    return false;
  }

  // An index is a number, or its digits as a string.
  static std::int64_t index_of(const json& value) {
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (!value.is_string()) return -1;
    const auto& text = value.get_ref<const std::string&>();
    if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) return -1;
    return std::stoll(text);
  }
  const json* node(const json& index) const {
    const std::int64_t i = index_of(index);
    if (i < 0 || i >= std::int64_t(nodes_->size()) || !(*nodes_)[std::size_t(i)].is_object()) return nullptr;
    return &(*nodes_)[std::size_t(i)];
  }
  static std::string key_of(const json& n) {
    return n.contains("type_key") && n["type_key"].is_string() ? n["type_key"] : "";
  }

  bool read_section(const std::string& key, const json& index, MetaSections& sections) {
    const json* list = node(index);
    if (!list || key_of(*list) != "Array") return false;
    if (!list->contains("data")) return true;
    for (const json& item : (*list)["data"]) {
      support::poll();
      const json* n = node(item);
      if (!n) return bad("an entry refers to a node that it does not have");
      relay::MetaEntry entry;
      if (key_of(*n) == "relay.Constant") {
        entry.expr = constant(*n);
        if (!entry.expr) return false;
      } else {
        entry.object = object(index_of(item), 0);
      }
      if (failed_) return false;
      sections[key].push_back(entry);
    }
    return true;
  }

  const relay::Expr* constant(const json& n) {
    const std::int64_t i = n.contains("attrs") && n["attrs"].contains("data") ? index_of(n["attrs"]["data"]) : -1;
    if (!tensors_ || i < 0 || i >= std::int64_t(tensors_->size()) || !(*tensors_)[std::size_t(i)].is_string())
      return bad("a constant has no data"), nullptr;
    std::string why;
    const auto tensor = tensor_of_base64((*tensors_)[std::size_t(i)].get_ref<const std::string&>(), why);
    if (!tensor) return bad(why), nullptr;
    const relay::Constant* c = ctx_.constant(tensor->tensor_ref());
    ctx_.set_span(c, at_.span());
    return c;
  }

  const relay::MetaObject* object(std::int64_t index, int depth) {
    if (index == 0) return nullptr;
    if (const auto found = objects_.find(index); found != objects_.end()) return found->second;
    if (depth > kMaxDepth) return bad("its objects refer to each other without end"), nullptr;
    const json& n = (*nodes_)[std::size_t(index)];
    relay::MetaObject* made = ctx_.object(key_of(n));
    std::vector<relay::MetaField> fields;
    if (n.contains("repr_str") && n["repr_str"].is_string()) made->text = ctx_.str(n["repr_str"].get<std::string>());
    if (n.contains("data") && n["data"].is_array()) {
      made->is_sequence = true;
      for (const json& item : n["data"])
        fields.push_back({"", "", node(item) ? object(index_of(item), depth + 1) : nullptr});
    } else if (n.contains("attrs") && n["attrs"].is_object()) {
      for (const auto& [name, value] : n["attrs"].items()) {
        const bool refers = !is_plain(key_of(n), name) && node(value) && index_of(value) != 0;
        const std::string text = refers ? "" : value.is_string() ? value.get<std::string>() : value.dump();
        fields.push_back({ctx_.str(name), ctx_.str(text), refers ? object(index_of(value), depth + 1) : nullptr});
      }
    }
    made->fields = ctx_.fields(fields);
    return objects_[index] = made;
  }

  relay::Context& ctx_;
  Node at_;
  source::Diagnostics& out_;
  const json* nodes_ = nullptr;
  const json* tensors_ = nullptr;
  std::unordered_map<std::int64_t, const relay::MetaObject*> objects_;
  bool failed_ = false;
};

}  // namespace

bool read_metadata(relay::Context& ctx, Node section, MetaSections& sections, source::Diagnostics& out) {
  return Decoder(ctx, section, out).read(sections);
}

}  // namespace rldb::frontend::relay_text
