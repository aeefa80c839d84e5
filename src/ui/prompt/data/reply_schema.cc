// Types in the notation of reply.def, as JSON schemas.
#include "rldb/ui/prompt/reply_schema.h"

#include <cctype>
#include <set>
#include <string>

#include "rldb/support/check.h"

namespace rldb::ui {

using Json = nlohmann::ordered_json;

namespace {

constexpr ReplyKey kKeys[] = {
#define RLDB_REPLY_KEY(shape, key, type) {#shape, key, type},
#include "rldb/ui/prompt/reply.def"
};

struct ReplyRow {
  std::string_view command, type;
};
constexpr ReplyRow kReplies[] = {
#define RLDB_REPLY(command, type) {command, type},
#include "rldb/ui/prompt/reply.def"
};

constexpr std::string_view kDefinitions = "#/$defs/";

bool is_shape(std::string_view name) { return std::isupper(static_cast<unsigned char>(name[0])) != 0; }

// Reads a type from left to right: alternatives of lists, objects and names.
class TypeReader {
 public:
  explicit TypeReader(std::string_view text) : text_(text) {}

  Json whole() {
    Json schema = alternatives();
    RLDB_CHECK(at_ == text_.size(), "a type of reply.def");
    return schema;
  }

 private:
  bool takes(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Json alternatives() {
    Json all = Json::array({one()});
    while (takes('|')) all.push_back(one());
    return all.size() == 1 ? all[0] : Json{{"anyOf", std::move(all)}};
  }

  Json one() {
    if (takes('[')) {
      Json list{{"type", "array"}, {"items", alternatives()}};
      RLDB_CHECK(takes(']'), "a type of reply.def");
      return list;
    }
    if (takes('{')) {
      Json object{{"type", "object"}, {"additionalProperties", alternatives()}};
      RLDB_CHECK(takes('}'), "a type of reply.def");
      return object;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    RLDB_CHECK(at_ > begin, "a type of reply.def");
    return named(text_.substr(begin, at_ - begin));
  }

  static Json named(std::string_view name) {
    if (name == "any") return Json::object();
    if (name == "real") return {{"type", {"number", "string"}}};
    if (is_shape(name)) return {{"$ref", std::string(kDefinitions) + std::string(name)}};
    return {{"type", name}};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// The shapes that a schema refers to.
void collect_shapes(const Json& schema, std::set<std::string>& out) {
  if (schema.is_object() && schema.contains("$ref"))
    out.insert(schema["$ref"].get<std::string>().substr(kDefinitions.size()));
  if (!schema.is_structured()) return;
  for (const Json& inner : schema) collect_shapes(inner, out);
}

Json schema_of_shape(std::string_view shape, std::span<const ReplyKey> keys) {
  Json properties = Json::object(), required = Json::array();
  for (const ReplyKey& k : keys) {
    if (k.shape != shape) continue;
    const bool optional = k.key.ends_with('?');
    const std::string key(k.key.substr(0, k.key.size() - (optional ? 1 : 0)));
    properties[key] = type_schema(k.type);
    if (!optional) required.push_back(key);
  }
  RLDB_CHECK(!properties.empty(), "a shape without rows");
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
}

}  // namespace

std::span<const ReplyKey> reply_keys() { return kKeys; }

std::string_view reply_type(std::string_view command) {
  for (const ReplyRow& row : kReplies)
    if (row.command == command) return row.type;
  return {};
}

Json type_schema(std::string_view type) { return TypeReader(type).whole(); }

Json shape_schemas(const std::vector<std::string_view>& types, std::span<const ReplyKey> keys) {
  std::set<std::string> waiting, done;
  for (const std::string_view type : types) collect_shapes(type_schema(type), waiting);
  Json all = Json::object();
  while (!waiting.empty()) {
    const std::string shape = *waiting.begin();
    waiting.erase(waiting.begin());
    if (!done.insert(shape).second) continue;
    all[shape] = schema_of_shape(shape, keys);
    collect_shapes(all[shape], waiting);
  }
  return all;
}

}  // namespace rldb::ui
