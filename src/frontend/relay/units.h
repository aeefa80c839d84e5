// Units: the statements at the top of functions' bodies, found in Relay text below the level of its grammar; the errors
// of a text, unit by unit.
//
// tree-sitter's recovery from an error may take in the lines around, and depends on what it could reuse of the tree
// before. So the errors of a damaged text are those of its units, each parsed by itself, and those of what is left when
// the units are taken out; a bracket, string or comment that is open hides all others. They depend on the text alone,
// and after an edit only the units that it touched are parsed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/frontend/document.h"
#include "rldb/source/diagnostic.h"

namespace rldb::frontend::relay_text {

// From behind `{` or `;` to the next `;` or the `}`.
struct Unit {
  std::uint32_t begin = 0, end = 0;
  std::vector<source::Diagnostic> errors;  // spans from its begin
};

// The header of a function that lacks a body.
struct Bodiless {
  std::uint32_t begin = 0;  // of `def`
  std::uint32_t name_begin = 0, name_end = 0;
  std::uint32_t parameters_end = 0;
  std::uint32_t end = 0;  // where the next definition begins, or the text ends
};

struct UnitsFound {
  std::optional<source::Diagnostic> open;  // the first bracket, string or comment that is not closed, or closes nothing
  std::vector<Unit> units;
  std::vector<Bodiless> bodiless;
  std::size_t metadata = std::string_view::npos;  // where `#[metadata]` begins
};
UnitsFound find_units(std::string_view text);

// Of the comment whose `/*` is at `begin`: they nest. npos: it is not closed.
std::size_t end_of_comment(std::string_view text, std::size_t begin);

class TextDamage {
 public:
  // Of a text; after an edit of the last one, which may be several as one.
  void find(std::string_view text, const TextEdit* edit = nullptr);
  // Of a text that is known to have none: nothing is parsed.
  void find_none(std::string_view text);
  // False: none was found. At most one a line.
  bool report(source::FileId file, source::Diagnostics& out) const;
  bool any() const { return open_ || damaged_units_ > 0 || !rest_errors_.empty() || !bodiless_.empty(); }

 private:
  void divide_rest();
  void report_rest(source::FileId file, std::vector<source::Diagnostic>& all) const;
  std::uint32_t in_text(std::uint32_t offset) const;

  std::string_view text_;  // during `find` and the reports about it
  std::optional<source::Diagnostic> open_;
  std::vector<Unit> units_;
  std::vector<Bodiless> bodiless_;
  std::size_t metadata_ = std::string_view::npos;
  bool has_units_ = false;
  std::optional<TextEdit> since_;  // from the text of the units to the present one, if that has something open
  std::size_t damaged_units_ = 0;
  std::string rest_;  // the text without its units
  struct Piece {
    std::uint32_t at, from;  // in `rest_`, in the text
  };
  std::vector<Piece> pieces_;
  std::vector<source::Diagnostic> rest_errors_;
};

}  // namespace rldb::frontend::relay_text
