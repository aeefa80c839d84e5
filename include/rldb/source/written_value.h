// A value as written in a text: literals are evaluated, lists, dictionaries and calls taken apart, everything else kept
// as text. Read by frontend/written_value.h; users: options of passes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rldb::source {

struct WrittenValue {
  enum class Kind : std::uint8_t {
    None,
    Bool,
    Int,
    Float,
    Text,  // a string, a name, or text that is no expression (`@w.npy`)
    List,  // also a tuple
    Dict,
    Call,
    Other,  // any other expression
  };
  Kind kind = Kind::None;
  std::int64_t integer = 0;         // Int, Bool
  double number = 0;                // Int, Float
  std::string text;                 // Text: without its quotes; Call: what is called
  std::string written;              // as in the text
  std::vector<std::string> keys;    // one for each item: Dict; Call: empty for a positional argument
  std::vector<WrittenValue> items;  // List, Dict, Call

  bool is(Kind k) const { return kind == k; }
  // For a place where a name or a string is expected.
  const std::string& name() const { return kind == Kind::Text ? text : written; }
};

}  // namespace rldb::source
