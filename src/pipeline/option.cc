// The types of options: how they are named, written and read.
#include "rldb/pipeline/option.h"

#include <algorithm>

#include "rldb/support/check.h"

namespace rldb::pipeline {

using Kind = WrittenValue::Kind;

std::string_view to_string(OptionType type) {
  switch (type) {
    case OptionType::Int:
      return "int";
    case OptionType::Bool:
      return "bool";
    case OptionType::Text:
      return "text";
    case OptionType::Names:
      return "[names]";
    case OptionType::Dict:
      return "{name: value}";
    case OptionType::Value:
      return "value";
  }
  return {};
}

std::string_view expectation(OptionType type) {
  switch (type) {
    case OptionType::Int:
      return "an integer";
    case OptionType::Bool:
      return "True or False";
    case OptionType::Names:
      return "a list of names `[a, b]`";
    case OptionType::Dict:
      return "a dictionary `{name: value}`";
    case OptionType::Text:
    case OptionType::Value:
      return "a value";
  }
  return {};
}

std::string to_string(const OptionInfo& o) {
  return std::string(o.name) + ": " + std::string(to_string(o.type)) + " = " + o.fallback;
}

namespace {

bool is_truth(const WrittenValue& v) {
  return v.is(Kind::Bool) || (v.is(Kind::Int) && (v.integer == 0 || v.integer == 1)) ||
         (v.is(Kind::Text) && (v.text == "true" || v.text == "false"));
}

}  // namespace

bool fits(OptionType type, const WrittenValue& v) {
  if (v.is(Kind::None)) return true;
  switch (type) {
    case OptionType::Int:
      return v.is(Kind::Int);
    case OptionType::Bool:
      return is_truth(v);
    case OptionType::Names:
      return v.is(Kind::List) || v.is(Kind::Text);
    case OptionType::Dict:
      return v.is(Kind::Dict);
    case OptionType::Text:
    case OptionType::Value:
      return !v.written.empty();
  }
  return false;
}

OptionType type_of(const option::Int&) { return OptionType::Int; }
OptionType type_of(const option::Bool&) { return OptionType::Bool; }
OptionType type_of(const option::Text&) { return OptionType::Text; }
OptionType type_of(const option::Names&) { return OptionType::Names; }
OptionType type_of(const option::Dict&) { return OptionType::Dict; }
OptionType type_of(const option::Value&) { return OptionType::Value; }

std::string written(const option::Int& value) { return std::to_string(value); }
std::string written(const option::Bool& value) { return value ? "True" : "False"; }
std::string written(const option::Text& value) { return '"' + value + '"'; }
std::string written(const option::Names& value) {
  std::string text;
  for (const std::string& name : value) text += (text.empty() ? "" : ", ") + written(name);
  return '[' + text + ']';
}
std::string written(const option::Dict& value) {
  std::string text;
  for (const auto& [name, v] : value) text += (text.empty() ? "" : ", ") + written(name) + ": " + written(v);
  return '{' + text + '}';
}
std::string written(const option::Value& value) { return value.is(Kind::None) ? "None" : value.written; }

void assign(const WrittenValue& from, option::Int& to) { to = from.integer; }
void assign(const WrittenValue& from, option::Bool& to) {
  to = from.is(Kind::Text) ? from.text == "true" : from.integer != 0;
}
void assign(const WrittenValue& from, option::Text& to) { to = from.name(); }
void assign(const WrittenValue& from, option::Names& to) {
  to.clear();
  if (!from.is(Kind::List)) return to.push_back(from.name());
  for (const WrittenValue& item : from.items) to.push_back(item.name());
}
void assign(const WrittenValue& from, option::Dict& to) {
  to.clear();
  for (std::size_t i = 0; i < from.items.size(); ++i) to.emplace_back(from.keys[i], from.items[i]);
}
void assign(const WrittenValue& from, option::Value& to) { to = from; }

}  // namespace rldb::pipeline
