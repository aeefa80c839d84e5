// Relay text that is entered at a prompt: what is one, whether more of it must follow, and a text to which definitions
// are added. Users: ui.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::frontend {

// Whether an entry is Relay: it begins, behind comments, with a version line, a definition, a lone function or a chain
// of lets. The beginnings of TVMScript (`@f`, `type = ...`, `fn(x)`) do not count, nor does `%x`.
bool begins_relay(std::string_view entry);
bool begins_relay_definition(std::string_view entry);
// Whether more lines must follow: a bracket, string or comment is open, or something lacks its body.
bool is_open_relay(std::string_view entry);
// Columns before the line that follows: two for each open bracket.
int relay_indent(std::string_view entry);
bool has_relay_version(std::string_view text);
// Of a line that begins a definition, as it is written (`@f`, `List`); empty: it begins none.
std::string_view relay_definition_name(std::string_view line);

// Whether lines that are added one by one leave a bracket, string or comment open.
class RelayBrackets {
 public:
  void add(std::string_view line);
  bool open() const { return !is_wrong_ && (!open_.empty() || comments_ > 0 || in_string_); }

 private:
  std::string open_;       // the brackets
  bool is_wrong_ = false;  // one is closed by another: more lines do not mend that
  int comments_ = 0;
  bool in_string_ = false;
  bool has_escapes_ = false;  // in the JSON behind `#[metadata]`
};

struct RelayAddition {
  std::string text;
  std::vector<std::string> names;  // of the definitions that were added, as they are written: `@f`, `List`
  // Where the parts of `text` are from, in its order: offsets into the entry, or into the text before.
  struct Piece {
    std::uint32_t begin, size;
    bool of_entry;
    std::uint32_t from;
  };
  std::vector<Piece> pieces;

  void add(std::string_view piece, bool of_entry, std::uint32_t from);
};
// `text` with the definitions of `entry`: one of the same name is replaced, others follow the last definition (an
// extern type must be the last). If `entry` has anything else, with all of it at the end.
RelayAddition with_relay_definitions(std::string_view text, std::string_view entry);

}  // namespace rldb::frontend
