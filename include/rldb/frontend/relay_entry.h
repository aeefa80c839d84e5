// Relay text that is entered at a prompt: what is one, whether more of it must follow, and a text to which definitions
// are added. Users: ui.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rldb::frontend {

// Whether an entry is Relay: it begins with a version line, a definition, a lone function or a chain of lets. What may
// begin an entry of TVMScript (`@f`, `type = ...`) or is no module (`%x`) does not count.
bool begins_relay(std::string_view entry);
// Whether more lines must follow: a bracket, string or comment is open, or something lacks its body.
bool is_open_relay(std::string_view entry);
// Columns before the line that follows: two for each open bracket.
int relay_indent(std::string_view entry);
bool has_relay_version(std::string_view text);
bool has_relay_metadata(std::string_view text);

struct RelayAddition {
  std::string text;
  std::vector<std::string> names;  // of the definitions that were added, as they are written: `@f`, `List`
};
// `text` with the definitions of `entry`: one of the same name is replaced, others follow the last definition
// (an extern type must be the last).
RelayAddition with_relay_definitions(std::string_view text, std::string_view entry);

}  // namespace rldb::frontend
