// The events that catchpoints detect in the results of calls: NaN, infinity, denormal numbers. And small parsers for
// the texts of points. Users: Observer, the table of points.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "debug/impl.h"

namespace rldb::debug {

inline constexpr std::string_view kCatchError = "error";  // a fault; it stops the run in any case

using runtime::NumericEvent;

std::optional<NumericEvent> numeric_event(std::string_view spec);

struct NumericHit {
  std::string text;
  std::string element;  // `lv2[0, 3]`; empty: what holds it has no name
};

// Whether the outputs of the call at `pc` (its result, its written arguments) contain such an element: which, where,
// and whether an input of the call already had one. The call has been made; `frame` is the frame that made it.
std::optional<NumericHit> numeric_hit(const Run& run, const CodeMap& map, const vm::Machine& m, std::size_t frame,
                                      Pc pc, NumericEvent event);

// Is `name` a word of `text`?
bool mentions(std::string_view text, std::string_view name);
// `storage(NAME)`: NAME.
std::optional<std::string_view> storage_operand(std::string_view expression);

}  // namespace rldb::debug
