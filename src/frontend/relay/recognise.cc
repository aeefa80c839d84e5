// Whether a text is Relay. Judged by how it begins, before any grammar is used.
#include <algorithm>

#include "frontend/relay/reader.h"
#include "frontend/relay/units.h"
#include "rldb/frontend/relay.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/support/text.h"

namespace rldb::frontend {

namespace {

std::string_view first_line(std::string_view text) { return text.substr(0, std::min(text.find('\n'), text.size())); }

// Past blanks and comments.
std::string_view without_comments(std::string_view text) {
  for (;;) {
    text = support::trim(text);
    if (text.starts_with("//")) {
      text.remove_prefix(first_line(text).size());
    } else if (text.starts_with("/*")) {
      text.remove_prefix(std::min(relay_text::end_of_comment(text, 0), text.size()));
    } else {
      return text;
    }
  }
}

// A decorator precedes a `def` or a `class`; a global is on its own.
bool is_decorator(std::string_view text) {
  return text.find("\ndef ") != std::string_view::npos || text.find("\nclass ") != std::string_view::npos ||
         text.find("\nasync ") != std::string_view::npos || text.find('.') < text.find('(');
}

}  // namespace

bool looks_like_relay(std::string_view text) {
  text = without_comments(text);
  for (const std::string_view begin : {"#[version", "#[metadata]", "v0.0.", "%", "free_var ", "extern type ", "fn ",
                                       "fn(", "let ", "match?", "def @", "meta[relay."})
    if (text.starts_with(begin)) return true;
  const std::string_view line = first_line(text);
  if (text.starts_with("@")) return !is_decorator(text);
  // Python's `match x:` ends in a colon, and its `type X = ...` has a value.
  if (text.starts_with("match ") || text.starts_with("match("))
    return line.find('{') != std::string_view::npos && !support::trim(line).ends_with(':');
  return text.starts_with("type ") && line.find('=') == std::string_view::npos;
}

std::string_view old_relay_version(std::string_view text) {
  constexpr std::string_view kBefore = "v0.0.";
  const std::string_view from = without_comments(text);
  if (!from.starts_with(kBefore)) return {};
  std::size_t end = kBefore.size();
  while (end < from.size() && from[end] >= '0' && from[end] <= '9') ++end;
  return end == kBefore.size() ? std::string_view() : from.substr(0, end);
}

bool report_old_relay(std::string_view text, source::FileId file, source::Diagnostics& out) {
  const std::string_view version = old_relay_version(text);
  if (version.empty()) return false;
  const auto begin = static_cast<std::uint32_t>(version.data() - text.data());
  out.add({file, begin, begin + static_cast<std::uint32_t>(version.size())},
          source::message(diag::RelayOldVersion, version.substr(1)));
  return true;
}

bool is_relay(std::string_view name, std::string_view text) {
  return name.ends_with(".relay") || name.ends_with(".rly") || looks_like_relay(text);
}

}  // namespace rldb::frontend
