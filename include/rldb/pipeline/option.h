// Options of passes: their types, their descriptions, and their values.
//
// The options of a pass are a struct with a default for each, made from the rows of a table (passes/pass_option.def,
// relay/passes/pass_option.def) together with `each_option(options, f)`, which calls f(name, field, doc) for each field
// in the order in which TVM takes them. Descriptions, checks and values of a pipeline's text follow from that.
// `None` in a text is the default, and for an optional field no value.
// Users: the rooms of passes, programs that register passes of their own, help.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rldb/source/written_value.h"

namespace rldb::pipeline {

using source::WrittenValue;

// The types that a field may have, by the names of the tables.
namespace option {
using Int = std::int64_t;
using Bool = bool;
using Text = std::string;
using Names = std::vector<std::string>;
using Dict = std::vector<std::pair<std::string, WrittenValue>>;
using Value = WrittenValue;  // None: not given
using MaybeInt = std::optional<Int>;
using MaybeText = std::optional<Text>;
using MaybeDict = std::optional<Dict>;
}  // namespace option

enum class OptionType : std::uint8_t { Int, Bool, Text, Names, Dict, Value };
std::string_view to_string(OptionType type);  // as help shows it: `int`, `[names]`

struct OptionInfo {
  std::string_view name;
  OptionType type{};
  std::string fallback;  // as it would be written
  std::string_view doc;
};
// `max_depth: int = 256`
std::string to_string(const OptionInfo& option);

// Whether a value can be one of the type, and how to say what would be.
bool fits(OptionType type, const WrittenValue& value);
std::string_view expectation(OptionType type);

// One argument of a pass in a pipeline.
struct Argument {
  std::size_t option = 0;  // in the pass's options
  bool named = false;      // written as `name=value`
  WrittenValue value;      // fits the option
};
using Arguments = std::vector<Argument>;

OptionType type_of(const option::Int&);
OptionType type_of(const option::Bool&);
OptionType type_of(const option::Text&);
OptionType type_of(const option::Names&);
OptionType type_of(const option::Dict&);
OptionType type_of(const option::Value&);
template <class T>
OptionType type_of(const std::optional<T>&) {
  return type_of(T());
}

std::string written(const option::Int& value);
std::string written(const option::Bool& value);
std::string written(const option::Text& value);
std::string written(const option::Names& value);
std::string written(const option::Dict& value);
std::string written(const option::Value& value);
template <class T>
std::string written(const std::optional<T>& value) {
  return value ? written(*value) : "None";
}

// `from` fits the type of `to`, and is not None.
void assign(const WrittenValue& from, option::Int& to);
void assign(const WrittenValue& from, option::Bool& to);
void assign(const WrittenValue& from, option::Text& to);
void assign(const WrittenValue& from, option::Names& to);
void assign(const WrittenValue& from, option::Dict& to);
void assign(const WrittenValue& from, option::Value& to);

template <class T>
void set(const WrittenValue& from, T& to) {
  if (!from.is(WrittenValue::Kind::None)) assign(from, to);
}
template <class T>
void set(const WrittenValue& from, std::optional<T>& to) {
  to.reset();
  if (!from.is(WrittenValue::Kind::None)) assign(from, to.emplace());
}

// Of a pass without options.
struct NoOptions {};
template <class F>
void each_option(NoOptions&, const F&) {}

template <class Options>
std::span<const OptionInfo> options_of() {
  static const std::vector<OptionInfo> infos = [] {
    std::vector<OptionInfo> made;
    Options defaults;
    each_option(defaults, [&](std::string_view name, const auto& value, std::string_view doc) {
      made.push_back({name, type_of(value), written(value), doc});
    });
    return made;
  }();
  return infos;
}

// The options that these arguments give, the others at their defaults.
template <class Options>
Options read_options(const Arguments& given) {
  Options options;
  std::size_t at = 0;
  each_option(options, [&](std::string_view, auto& value, std::string_view) {
    for (const Argument& a : given)
      if (a.option == at) set(a.value, value);
    ++at;
  });
  return options;
}

}  // namespace rldb::pipeline
