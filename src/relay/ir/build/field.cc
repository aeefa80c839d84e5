// The fields that attributes.def lists have rows in field.def.
#include "rldb/relay/ir/field.h"

namespace rldb::relay {
namespace {

consteval bool has_row(std::string_view field) {
  if (field == "*") return true;  // any other
#define RLDB_RELAY_FIELD(Id, name) \
  if (field == name) return true;
#include "rldb/relay/ir/field.def"
  return false;
}

// `fields` as in attributes.def: name:kind=default, separated by blanks outside of brackets and quotes.
consteval bool have_rows(std::string_view fields) {
  int depth = 0;
  bool quoted = false, at_start = true;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const char c = fields[i];
    if (c == '"') quoted = !quoted;
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ' ' && depth == 0 && !quoted) {
      at_start = true;
    } else if (at_start) {
      const std::string_view rest = fields.substr(i);
      if (!has_row(rest.substr(0, rest.find(':')))) return false;
      at_start = false;
    }
  }
  return true;
}

#define RLDB_RELAY_ATTRIBUTES(Id, key, fields) \
  static_assert(have_rows(fields), "a field of " key " is not in field.def");
#include "rldb/relay/ir/attributes.def"

}  // namespace
}  // namespace rldb::relay
