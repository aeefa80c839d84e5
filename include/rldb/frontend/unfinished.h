// An entry that is still being typed: its brackets closed here, and the call that is open.
//
// Users: the prompt's hints, which infer the type of the part typed so far; signature help of the language server.
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

struct OpenCall {
  std::string_view name;      // `R.add`; empty: none is open
  std::size_t arguments = 0;  // where they begin
  std::size_t argument = 0;   // the number of the one at the cursor
};
// The innermost call that is open at `cursor`, by the text alone: it may begin anywhere in a file.
OpenCall find_open_call(std::string_view text, std::size_t cursor);
std::string_view open_call(std::string_view text, std::size_t cursor);

}  // namespace rldb::frontend
