// Diagnostics: errors, warnings and notes, as data. Emitted where found, rendered elsewhere (terminal, JSON, tests).
//
// Every kind is a row of diagnostic_<topic>.def: id, severity, text with `{}` places, and a default hint. The rows are
// constants, diag::<Id> of diagnostic_<topic>.h, so that a new row rebuilds only users of its topic, and a message
// with too few or too many arguments does not compile. diagnostic.def has them all. Wording: lower case, no full stop,
// code in backticks; what was found, then the rule. `Message` is a diagnostic without a place: phases without
// spans (type inference, passes, the machine) return it as their error; whoever knows the place makes it a Diagnostic
// with `at`.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/source/buffer.h"
#include "rldb/source/span.h"

namespace rldb::source {

enum class Severity : std::uint8_t { Error, Warning, Note };

struct DiagRow {
  std::string_view name;
  Severity severity = Severity::Error;
  std::string_view text;
  std::string_view hint;
};
std::span<const DiagRow* const> all_diagnostics();

// A row whose text has this many places.
template <std::size_t Places>
struct Diag : DiagRow {};

consteval std::size_t count_places(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != '{') continue;
    if (text[i + 1] == '{') {
      ++i;
    } else {
      ++count;
    }
  }
  return count;
}
#define RLDB_DIAG_CONSTANT(id, severity, text, hint)                            \
  inline constexpr ::rldb::source::Diag<::rldb::source::count_places(text)> id{ \
      {#id, ::rldb::source::Severity::severity, text, hint}};

// The row: compared, stored, never made up. The default is no row, with an empty text.
class DiagId {
 public:
  DiagId() = default;
  constexpr DiagId(const DiagRow& row) : row_(&row) {}
  const DiagRow& row() const;
  friend bool operator==(DiagId a, DiagId b) { return a.row_ == b.row_; }
  friend bool operator<(DiagId a, DiagId b) { return std::less<>()(a.row_, b.row_); }

 private:
  const DiagRow* row_ = nullptr;
};

struct Note {
  Span span;  // may be no place
  std::string text;
};

struct Message {
  DiagId id{};
  std::string text;
  std::string hint;  // replaces the row's hint when not empty
  std::vector<Note> notes;
  int argument = -1;      // index of the offending call argument, when the place is known that precisely
  std::string attribute;  // or the offending attribute's name

  Message&& with_hint(std::string h) && {
    hint = std::move(h);
    return std::move(*this);
  }
  Message&& with_argument(int i) && {
    argument = i;
    return std::move(*this);
  }
  Message&& with_attribute(std::string_view a) && {
    attribute = a;
    return std::move(*this);
  }
  Message&& with_note(Span span, std::string t) && {
    notes.push_back({span, std::move(t)});
    return std::move(*this);
  }
};

std::string format_text(const DiagRow& row, fmt::format_args args);

// message(diag::UnknownOperator, name)
template <std::size_t Places, class... Args>
Message message(const Diag<Places>& row, const Args&... args) {
  static_assert(sizeof...(Args) == Places, "one argument per place of the row's text");
  Message m;
  m.id = row;
  m.text = format_text(row, fmt::make_format_args(args...));
  return m;
}

struct Diagnostic {
  DiagId id{};
  Severity severity = Severity::Error;
  Span span;
  std::string message;
  std::string hint;
  std::vector<Note> notes;
};
Diagnostic at(Span span, Message message);

// Collects; its owner decides what to do. Stops storing after kMaxDiagnostics (the rest is counted).
class Diagnostics {
 public:
  static constexpr std::size_t kMaxDiagnostics = 1000;
  void add(Diagnostic d);
  void add(Span span, Message m) { add(at(span, std::move(m))); }
  bool has_errors() const { return errors_ > 0; }
  std::size_t error_count() const { return errors_; }
  const std::vector<Diagnostic>& all() const { return all_; }
  // The text of the first error; `otherwise` when there is none.
  std::string first_error(std::string_view otherwise = {}) const;
  void clear();

 private:
  std::vector<Diagnostic> all_;
  std::size_t errors_ = 0;
};

struct RenderOptions {
  bool color = false;
  std::size_t max_line_width = 160;  // longer source lines are cut around the caret
};
// `file:line:column: error: message`, the line, a caret under the range, notes, `hint: ...`. Ends in a newline.
std::string render(const Diagnostic& d, const SourceManager& sources, const RenderOptions& options = {});
std::string render(const Diagnostics& d, const SourceManager& sources, const RenderOptions& options = {});
// LSP-shaped objects, one JSON array:
// {"uri","range":{"start":{"line","character"},"end"},"severity","code","message",...}
std::string render_json(const Diagnostics& d, const SourceManager& sources);

// The nearest of `candidates` to a misspelt word, or empty when none is near.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace rldb::source
