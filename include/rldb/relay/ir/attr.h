// Attributes of calls and functions, and objects of the metadata section.
//
// A value is as in the text (`3`, `0.5f`, `[1, 1]`, `None`). An object of the metadata that has no text of its own
// (VirtualDevice, nested attributes) is kept as in TVM's JSON, so that it can be written again.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "rldb/relay/ir/type.h"

namespace rldb::relay {

struct Expr;

enum class AttrKind : std::uint8_t { None, Int, Bool, Float, String, List, Object, Expression };

struct AttrValue {
  AttrKind kind = AttrKind::None;
  std::int64_t integer = 0;  // Int, Bool
  double real = 0;           // Float
  int bits = 32;             // of an Int or a Float, by its suffix
  std::string_view text;     // String
  Span<const AttrValue*> items;
  const MetaObject* object = nullptr;
  const Expr* expr = nullptr;
};

struct NamedAttr {
  std::string_view name;
  const AttrValue* value;
};

// A node of the metadata's JSON. Objects refer to each other as they do there.
struct MetaField {
  std::string_view name;  // empty for elements of arrays
  std::string_view text;  // if it is not an object
  const MetaObject* object = nullptr;
};
struct MetaObject {
  std::uint32_t id;
  std::string_view type_key;
  std::string_view text;  // `repr_str` of a node that is one string
  Span<MetaField> fields;
  bool is_sequence = false;  // Array: its elements are the fields
};

// The entry `meta[key][i]`.
struct MetaEntry {
  const Expr* expr = nullptr;  // relay.Constant, and other expressions
  const MetaObject* object = nullptr;
};

bool attr_equal(const AttrValue* a, const AttrValue* b);
bool object_equal(const MetaObject* a, const MetaObject* b);

}  // namespace rldb::relay
