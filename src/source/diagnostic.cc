#include "rldb/source/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rldb::source {

namespace {

constexpr DiagRow kNone;

}  // namespace

const DiagRow& DiagId::row() const { return row_ ? *row_ : kNone; }

std::string format_text(const DiagRow& row, fmt::format_args args) {
  // Text quoted in a message can be as long as the program; nobody reads beyond this.
  constexpr std::size_t kMaxText = 10'000;
  const std::string_view text = row.text;
  try {
    std::string made = fmt::vformat(fmt::string_view(text.data(), text.size()), args);
    if (made.size() <= kMaxText) return made;
    std::size_t end = kMaxText;
    while (end > 0 && (static_cast<unsigned char>(made[end]) & 0xC0) == 0x80) --end;  // not inside a character
    return made.substr(0, end) + "...";
  } catch (const fmt::format_error&) {
    // A value that cannot be formatted as the row specifies. The user still gets the row; reporting an error must not
    // become a second error.
    return std::string(text);
  }
}

Diagnostic at(Span span, Message message) {
  const DiagRow& row = message.id.row();
  Diagnostic d;
  d.id = message.id;
  d.severity = row.severity;
  d.span = span;
  d.message = std::move(message.text);
  d.hint = message.hint.empty() ? std::string(row.hint) : std::move(message.hint);
  d.notes = std::move(message.notes);
  return d;
}

void Diagnostics::add(Diagnostic d) {
  if (d.severity == Severity::Error) ++errors_;
  if (all_.size() < kMaxDiagnostics) all_.push_back(std::move(d));
}

std::string Diagnostics::first_error(std::string_view otherwise) const {
  for (const Diagnostic& d : all_)
    if (d.severity == Severity::Error) return d.message;
  return std::string(otherwise);
}

void Diagnostics::clear() {
  all_.clear();
  errors_ = 0;
}

}  // namespace rldb::source
