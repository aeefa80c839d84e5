#include "rldb/source/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "rldb/support/check.h"

namespace rldb::source {

namespace {

constexpr std::array kInfos = std::to_array<DiagInfo>({
#define RLDB_DIAG(id, severity, text, hint) {#id, Severity::severity, text, hint},
#include "rldb/source/diagnostic.def"
});

}  // namespace

const DiagInfo& info(DiagId id) {
  const auto index = static_cast<std::size_t>(id);
  RLDB_CHECK(index < kInfos.size(), "not a DiagId");
  return kInfos[index];
}

std::size_t diag_count() { return kInfos.size(); }

std::string format_text(DiagId id, fmt::format_args args) {
  // What a message quotes can be as long as the program; nobody reads on here.
  constexpr std::size_t kMaxText = 10'000;
  const std::string_view text = info(id).text;
  try {
    std::string made = fmt::vformat(fmt::string_view(text.data(), text.size()), args);
    if (made.size() <= kMaxText) return made;
    std::size_t end = kMaxText;
    while (end > 0 && (static_cast<unsigned char>(made[end]) & 0xC0) == 0x80) --end;  // not inside of a character
    return made.substr(0, end) + "...";
  } catch (const fmt::format_error&) {
    // The row and the call disagree about the places. The user still gets the row; a report of an
    // error must not become a second error.
    return std::string(text);
  }
}

Diagnostic at(Span span, Message message) {
  const DiagInfo& row = info(message.id);
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

void Diagnostics::clear() {
  all_.clear();
  errors_ = 0;
}

}  // namespace rldb::source
