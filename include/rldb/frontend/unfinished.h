// An entry that is still being typed, as if its brackets were closed here. Nothing is parsed.
//
// User: the prompt's hints, which infer the type of the part typed so far.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rldb::frontend {

struct ClosedEntry {
  std::string text;           // with the brackets closed
  std::size_t innermost = 0;  // where the innermost open bracket is
};
// nullopt: no bracket is open, there is a closing one too many, or a long string is open.
std::optional<ClosedEntry> close_brackets(std::string_view text);

}  // namespace rldb::frontend
