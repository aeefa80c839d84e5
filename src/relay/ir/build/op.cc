// The operator table: rows, attribute fields, look-up by name.
#include "rldb/relay/ir/op.h"

#include <unordered_map>

#include "rldb/relay/ir/op_id.h"
#include "rldb/support/check.h"

namespace rldb::relay {

namespace {

constexpr OpInfo kOps[] = {
#define RLDB_RELAY_OP(Id, name, operands, attributes, relation, pattern, role) \
  {OpId::Id, name, operands, AttributesId::attributes, FusePattern::pattern, OpRole::role},
#include "rldb/relay/ir/op.def"
};

struct AttributesRow {
  AttributesId id;
  std::string_view key;
  std::string_view fields;
};
constexpr AttributesRow kAttributes[] = {
#define RLDB_RELAY_ATTRIBUTES(Id, key, fields) {AttributesId::Id, "relay.attrs." key, fields},
#include "rldb/relay/ir/attributes.def"
};
constexpr std::string_view kKeyPrefix = "relay.attrs.";

FieldKind kind_of(std::string_view word) {
  static const std::unordered_map<std::string_view, FieldKind> kinds = {
      {"int", FieldKind::Int},       {"bool", FieldKind::Bool},     {"float", FieldKind::Float},
      {"string", FieldKind::String}, {"dtype", FieldKind::DType},   {"dim", FieldKind::Dim},
      {"dims", FieldKind::Dims},     {"nested", FieldKind::Nested}, {"any", FieldKind::Any}};
  const auto found = kinds.find(word);
  RLDB_CHECK(found != kinds.end(), "a field of attributes.def has an unknown kind");
  return found->second;
}

// Where a field's text ends: the next blank outside brackets.
std::size_t field_end(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']') --depth;
    if (text[i] == ' ' && depth == 0) return i;
  }
  return text.size();
}

AttrField read_field(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::size_t equals = text.find('=');
  AttrField field{
      text.substr(0, colon),
      kind_of(text.substr(colon + 1, equals == std::string_view::npos ? std::string_view::npos : equals - colon - 1)),
      std::nullopt};
  if (equals == std::string_view::npos) return field;
  field.always = text.ends_with('!');
  if (field.always) text.remove_suffix(1);
  field.fallback = text.substr(equals + 1);
  return field;
}

std::vector<AttributesInfo> read_attributes() {
  std::vector<AttributesInfo> rows;
  for (const AttributesRow& row : kAttributes) {
    AttributesInfo info{row.key == kKeyPrefix ? std::string_view() : row.key, row.id == AttributesId::Free, {}};
    std::string_view text = info.takes_any ? std::string_view() : row.fields;
    while (!text.empty()) {
      const std::size_t end = field_end(text);
      info.fields.push_back(read_field(text.substr(0, end)));
      text.remove_prefix(end == text.size() ? end : end + 1);
    }
    rows.push_back(std::move(info));
  }
  return rows;
}

}  // namespace

std::string_view to_string(FieldKind kind) {
  switch (kind) {
    case FieldKind::Int:
      return "an integer";
    case FieldKind::Bool:
      return "True or False";
    case FieldKind::Float:
      return "a number";
    case FieldKind::String:
      return "a string";
    case FieldKind::DType:
      return "a dtype in quotes";
    case FieldKind::Dim:
      return "an integer or None";
    case FieldKind::Dims:
      return "a list of integers or None";
    case FieldKind::Nested:
      return "a list of lists of integers";
    case FieldKind::Any:
      return "a value";
  }
  RLDB_UNREACHABLE("field kind");
}

const AttributesInfo& info(AttributesId id) {
  static const std::vector<AttributesInfo> rows = read_attributes();
  return rows[static_cast<std::size_t>(id)];
}

const OpInfo& info(OpId id) { return kOps[static_cast<std::size_t>(id)]; }

const OpInfo* find_op(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const OpInfo*> map;
    for (const OpInfo& row : kOps) map.emplace(row.name, &row);
    return map;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

std::vector<std::string_view> op_names() {
  std::vector<std::string_view> names;
  for (const OpInfo& row : kOps) names.push_back(row.name);
  return names;
}

}  // namespace rldb::relay
