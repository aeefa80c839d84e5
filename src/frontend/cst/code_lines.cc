// Scans lines of code by their brackets and strings.
#include "frontend/cst/code_lines.h"

#include <algorithm>
#include <array>

#include "frontend/cst/scan.h"

namespace rldb::frontend::cst {

namespace {

// A line that begins does not depend on those before it: that is what an edit relies on.
class LineScan {
 public:
  LineScan(std::string_view text, std::size_t from, std::vector<CodeLine> lines)
      : text_(text), at_(from), lines_(std::move(lines)) {}

  // Until a line begins for which `is_known` is true, or the text ends.
  template <class IsKnown>
  void run(IsKnown&& is_known) {
    while (at_ < text_.size() && begin_line()) {
      if (is_known(lines_.back())) return lines_.pop_back();
      scan_line();
    }
  }
  bool has_tabs() const { return tabs_; }
  std::vector<CodeLine> take() { return std::move(lines_); }

 private:
  // To the first character of code; false: there is none.
  bool begin_line() {
    std::size_t line = at_;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        line = at_ + 1;
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      } else if (c == '\t') {
        tabs_ = true;
        return false;
      } else if (c != ' ' && c != '\r' && c != '\f') {
        lines_.push_back({static_cast<std::uint32_t>(at_), static_cast<std::uint32_t>(at_ - line)});
        return true;
      }
    }
    return false;
  }

  // To behind its end.
  void scan_line() {
    int depth = 0;
    std::size_t last = at_;  // character of code
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (!is_special(c)) {
        last = c == ' ' || c == '\r' ? last : at_;
        ++at_;
      } else if (c == '\n') {
        ++at_;
        if (depth <= 0) break;
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '\\') {
        at_ += text_.substr(at_ + 1).starts_with("\r\n") ? 3 : 2;
      } else if (c == '"' || c == '\'') {
        bool open = false;
        at_ = skip_string(text_, at_, text_.size(), open);
        last = at_ - 1;
      } else {
        depth += c == '(' || c == '[' || c == '{' ? 1 : -1;
        last = at_++;
      }
    }
    at_ = std::min(at_, text_.size());
    CodeLine& line = lines_.back();
    line.opens = last < text_.size() && text_[last] == ':';
    if (last < text_.size() && depth <= 0)
      line.unfinished = ends_in_operator(text_.substr(line.begin, last + 1 - line.begin));
    line.is_header = begins_block(text_.substr(line.begin, at_ - line.begin));
  }
  static bool is_special(char c) {
    static constexpr auto kSpecial = [] {
      std::array<bool, 256> special{};
      for (const char s : std::string_view("\n#\\\"'()[]{}")) special[static_cast<unsigned char>(s)] = true;
      return special;
    }();
    return kSpecial[static_cast<unsigned char>(c)];
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool tabs_ = false;
  std::vector<CodeLine> lines_;
};

CodeLines lines_of(LineScan scan) { return {scan.has_tabs() ? std::vector<CodeLine>() : scan.take(), scan.has_tabs()}; }

}  // namespace

CodeLines code_lines(std::string_view text) {
  LineScan scan(text, 0, {});
  scan.run([](const CodeLine&) { return false; });
  return lines_of(std::move(scan));
}

CodeLines code_lines(std::string_view text, const CodeLines& before, std::uint32_t begin, std::uint32_t old_end,
                     std::uint32_t new_end) {
  if (before.has_tabs) return code_lines(text);
  const std::vector<CodeLine>& old = before.all;
  // From the line above: the edit may change where the line begins that it touches first.
  auto from = std::lower_bound(old.begin(), old.end(), begin,
                               [](const CodeLine& line, std::uint32_t offset) { return line.begin < offset; });
  if (from != old.begin()) --from;
  const std::size_t start = from == old.begin() ? 0 : from->begin - from->column;
  std::vector<CodeLine> kept;
  kept.reserve(old.size() + 1);
  kept.assign(old.begin(), from);
  // Where a line begins behind the edit as one did before, the rest is as it was.
  const std::uint32_t delta = new_end - old_end;
  auto rest = std::upper_bound(old.begin(), old.end(), old_end,
                               [](std::uint32_t offset, const CodeLine& line) { return offset < line.begin; });
  bool meets = false;
  LineScan scan(text, start, std::move(kept));
  scan.run([&](const CodeLine& line) {
    if (line.begin - line.column <= new_end) return false;
    while (rest != old.end() && rest->begin + delta < line.begin) ++rest;
    meets = rest != old.end() && rest->begin + delta == line.begin;
    return meets;
  });
  CodeLines now = lines_of(std::move(scan));
  if (!meets) return now;
  for (; rest != old.end(); ++rest) now.all.emplace_back(*rest).begin += delta;
  return now;
}

}  // namespace rldb::frontend::cst
