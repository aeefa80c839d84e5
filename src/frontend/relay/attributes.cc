// Attributes: values from the text, fitted to the operator's row.
#include <charconv>

#include "frontend/relay/reader.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/support/cancel.h"

namespace rldb::frontend::relay_text {

namespace {

using relay::AttrKind;
using relay::AttrValue;
using relay::FieldKind;

bool is_list_of(const AttrValue& v, bool (*fits)(const AttrValue&)) {
  if (v.kind != AttrKind::List) return false;
  for (const AttrValue* item : v.items)
    if (!fits(*item)) return false;
  return true;
}
// A truth value is an integer of one bit in TVM, in lists too (`is_input=[True, False]`).
bool is_dim(const AttrValue& v) {
  return v.kind == AttrKind::Int || v.kind == AttrKind::Bool || v.kind == AttrKind::Object;
}
bool is_dims(const AttrValue& v) { return is_list_of(v, is_dim); }

bool fits_kind(const AttrValue& v, FieldKind kind) {
  switch (kind) {
    case FieldKind::Int:
    case FieldKind::Bool:
      return v.kind == AttrKind::Int || v.kind == AttrKind::Bool;
    case FieldKind::Float:
      return v.kind == AttrKind::Int || v.kind == AttrKind::Float;
    case FieldKind::String:
      return v.kind == AttrKind::String;
    case FieldKind::DType:
      return v.kind == AttrKind::String && runtime::parse_dtype(v.text).has_value();
    case FieldKind::Dim:
      return is_dim(v) || v.kind == AttrKind::None;
    case FieldKind::Dims:
      return is_dims(v) || v.kind == AttrKind::None;
    case FieldKind::Nested:
      return is_list_of(v, is_dims);
    case FieldKind::Any:
      return true;
  }
  return false;
}

// The value of TVM's attribute after this was assigned: `axis=True` is 1, `a_min=0` is 0.0.
AttrValue converted(AttrValue v, FieldKind kind) {
  if (kind == FieldKind::Int) v.kind = AttrKind::Int, v.bits = 32;
  if (kind == FieldKind::Bool) v.kind = AttrKind::Bool;
  if (kind == FieldKind::Float) {
    if (v.kind == AttrKind::Int) v.real = double(v.integer);
    v.kind = AttrKind::Float;
    v.bits = 32;  // how it is printed: the attribute itself is a double
  }
  return v;
}

}  // namespace

std::string plain_name(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' && c != '\t' && c != '\n') out += c;
  return out;
}

const relay::MetaEntry* Reader::meta(Node n) {
  const std::string_view text = n.text();
  const std::size_t close = text.find(']');
  const std::string key(text.substr(5, close - 5));
  const std::string_view digits = text.substr(close + 2, text.size() - close - 3);
  std::size_t index = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const auto found = meta_.find(key);
  if (found != meta_.end() && parsed.ec == std::errc() && !digits.empty() && index < found->second.size())
    return &found->second[index];
  error(n, diag::RelayMetaMissing, text);
  return nullptr;
}

const relay::AttrValue* Reader::attr_value(Node n) {
  AttrValue v;
  if (n.is(Kind::Number)) {
    Number number;
    if (!read_number(n, number, out_)) return ctx_.attr(v);
    v.kind = number.is_float ? AttrKind::Float : AttrKind::Int;
    v.bits = number.bits;
    v.integer = number.integer;
    v.real = number.real;
  } else if (n.is(Kind::Boolean)) {
    v.kind = AttrKind::Bool;
    v.integer = n.text() == "True";
  } else if (n.is(Kind::String)) {
    v.kind = AttrKind::String;
    v.text = ctx_.str(n.text().substr(1, n.text().size() - 2));
  } else if (n.is(Kind::List)) {
    std::vector<const AttrValue*> items;
    for (const Node c : n.children()) items.push_back(attr_value(c));
    v.kind = AttrKind::List;
    v.items = ctx_.list(items);
  } else if (n.is(Kind::Parenthesized)) {
    return attr_value(n.child(Field::Value));
  } else if (n.is(Kind::Name) && (n.text() == "None" || n.text() == "nullptr")) {
    v.kind = AttrKind::None;
  } else if (n.is(Kind::Meta)) {
    const relay::MetaEntry* entry = meta(n);
    if (entry && entry->object) v.kind = AttrKind::Object, v.object = entry->object;
    if (entry && entry->expr) v.kind = AttrKind::Expression, v.expr = entry->expr;
  } else {
    v.kind = AttrKind::Expression;
    v.expr = expr(n, Place::Operand);
  }
  return ctx_.attr(v);
}

std::vector<relay::NamedAttr> Reader::attributes(const std::vector<Node>& nodes) {
  std::vector<relay::NamedAttr> attrs;
  for (const Node n : nodes) {
    const Node word = n.child(Field::Name);
    if (attrs.empty() && word.is(Kind::DottedName)) error(word, diag::RelayFirstAttribute);
    const std::string name = plain_name(word.text());
    for (const relay::NamedAttr& a : attrs)
      if (a.name == name) error(word, diag::RelayAttributeTwice, name);
    attrs.push_back({ctx_.str(name), attr_value(n.child(Field::Value))});
  }
  return attrs;
}

std::vector<relay::NamedAttr> Reader::fitted(const relay::OpInfo& op, Node call,
                                             const std::vector<relay::NamedAttr>& given,
                                             const std::vector<Node>& nodes) {
  const relay::AttributesInfo& row = relay::info(op.attributes);
  if (row.takes_any) return given;
  std::vector<relay::NamedAttr> made;
  std::vector<bool> known(given.size());
  for (const relay::AttrField& field : row.fields) {
    std::size_t i = 0;
    while (i < given.size() && given[i].name != field.name) ++i;
    if (i == given.size()) {
      if (!field.fallback) error(call.child(Field::Function), diag::RelayMissingAttribute, op.name, field.name);
      continue;
    }
    known[i] = true;
    if (!fits_kind(*given[i].value, field.kind)) {
      error(nodes[i].child(Field::Value), diag::RelayAttributeValue, field.name, relay::to_string(field.kind),
            nodes[i].child(Field::Value).text());
      continue;
    }
    const AttrValue* value = ctx_.attr(converted(*given[i].value, field.kind));
    if (!field.fallback || relay::print_attr(value) != *field.fallback) made.push_back({given[i].name, value});
  }
  for (std::size_t i = 0; i < given.size(); ++i)
    if (!known[i]) error(nodes[i].child(Field::Name), diag::RelayUnknownAttribute, op.name, given[i].name);
  return made;
}

}  // namespace rldb::frontend::relay_text
