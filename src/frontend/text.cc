// Checks before parsing: binary data, limits, an open string, block headers without a block.
#include "frontend/text.h"

#include <algorithm>
#include <cstring>

#include "frontend/cst/indentation.h"
#include "frontend/cst/parser.h"
#include "frontend/cst/scan.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/source/diagnostic_syntax.h"

namespace rldb::frontend {

namespace {

// The first byte that is not text, or npos: a NUL, or bytes that are not UTF-8.
std::size_t find_binary(std::string_view text, std::string_view& what) {
  const auto* s = reinterpret_cast<const unsigned char*>(text.data());
  const std::size_t n = text.size();
  for (std::size_t i = 0; i < n;) {
    // Eight bytes at a time: none is zero, none has the top bit.
    if (std::uint64_t word = 0; n - i >= sizeof word) {
      std::memcpy(&word, s + i, sizeof word);
      if (((word | (word - 0x0101010101010101)) & 0x8080808080808080) == 0) {
        i += sizeof word;
        continue;
      }
    }
    const unsigned char c = s[i];
    if (c == 0) {
      what = "a zero byte";
      return i;
    }
    if (c < 0x80) {
      ++i;
      continue;
    }
    const std::size_t more = c >= 0xF0 && c < 0xF5 ? 3 : c >= 0xE0 && c < 0xF0 ? 2 : c >= 0xC2 && c < 0xE0 ? 1 : 0;
    bool good = more > 0 && i + more < n + 0 && i + more <= n - 1;
    for (std::size_t k = 1; good && k <= more; ++k) good = (s[i + k] & 0xC0) == 0x80;
    if (!good) {
      what = "not UTF-8";
      return i;
    }
    i += more + 1;
  }
  return std::string_view::npos;
}

// A program of 64 MiB has some 800,000 bindings and takes half a minute to read: anything larger is not a program.
constexpr std::size_t kMaxProgramBytes = std::size_t(64) << 20;

// Usually it is one bracket that swallows the rest.
void report_limit(std::string_view text, source::FileId file, std::size_t at, source::Diagnostics& out) {
  const cst::Scan scan = cst::scan_brackets(text, 0, text.size());
  if (scan.stray == cst::Scan::kNone && scan.open.size() == 1) {
    const auto open = static_cast<std::uint32_t>(scan.open.front());
    out.add({file, open, open + 1}, source::message(diag::NeverClosed, text.substr(open, 1)));
    return;
  }
  const auto begin = static_cast<std::uint32_t>(std::min(at, text.size() - 1));
  out.add({file, begin, begin + 1}, source::message(diag::NestedTooDeepText));
}

// The `"""` or ''' that nothing closes; npos: there is none. The rest of the text is in the string: that
// is the one error of the text.
std::size_t find_open_string(std::string_view text) {
  if (text.find("\"\"\"") == std::string_view::npos && text.find("'''") == std::string_view::npos)
    return std::string_view::npos;
  for (std::size_t i = text.find_first_of("#\"'"); i < text.size(); i = text.find_first_of("#\"'", i)) {
    if (text[i] == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    bool open = false;
    const std::size_t end = cst::skip_string(text, i, text.size(), open);
    if (open) return i;
    i = end;
  }
  return std::string_view::npos;
}

}  // namespace

namespace {

// Diagnostics about texts of any language.
bool check_bytes(const source::Buffer& buffer, source::FileId file, source::Diagnostics& out) {
  const std::string_view text = buffer.text();
  if (text.size() > kMaxProgramBytes) {
    out.add({file, 0, 0}, source::message(diag::FileTooLarge, buffer.name(), text.size(), kMaxProgramBytes));
    return false;
  }
  std::string_view what;
  if (const std::size_t at = find_binary(text, what); at != std::string_view::npos) {
    const auto begin = static_cast<std::uint32_t>(at);
    out.add({file, begin, begin + 1}, source::message(diag::FileBinary, buffer.name(), at, what));
    return false;
  }
  return true;
}

bool check_not_empty(const source::Buffer& buffer, source::FileId file, source::Diagnostics& out) {
  if (buffer.text().find_first_not_of(" \t\r\n\f") != std::string_view::npos) return true;
  out.add({file, 0, 0}, source::message(diag::EmptyText, buffer.name()));
  return false;
}

}  // namespace

bool check_text(const source::Buffer& buffer, source::FileId file, source::Diagnostics& out, bool within_limits) {
  const std::string_view text = buffer.text();
  if (!check_bytes(buffer, file, out)) return false;
  if (std::size_t at = 0; !within_limits && !cst::within_limits(text, &at)) {
    report_limit(text, file, at, out);
    return false;
  }
  if (const std::size_t at = within_limits ? std::string_view::npos : find_open_string(text);
      at != std::string_view::npos) {
    const auto begin = static_cast<std::uint32_t>(at);
    out.add({file, begin, begin + 1}, source::message(diag::UnterminatedString));
    return false;
  }
  if (const auto header = within_limits ? std::nullopt : cst::find_many_without_block(text)) {
    const std::uint32_t end = header->end;
    const source::Span span{file, header->has_colon ? end - 1 : end, end};
    out.add(span, header->has_colon ? source::message(diag::MissingBody) : source::message(diag::MissingColon));
    return false;
  }
  return check_not_empty(buffer, file, out);
}

bool check_relay_text(const source::Buffer& buffer, source::FileId file, source::Diagnostics& out) {
  if (!check_bytes(buffer, file, out) || !check_not_empty(buffer, file, out)) return false;
  std::size_t at = 0;
  if (cst::within_limits(buffer.text(), &at, cst::Grammar::Relay)) return true;
  const auto begin = static_cast<std::uint32_t>(at);
  out.add({file, begin, begin + 1}, source::message(diag::NestedTooDeepText));
  return false;
}

}  // namespace rldb::frontend
