// A strict parser of markup, for tests: every tag closed in order, attributes quoted, no stray `<` or bare `&`.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::ui::test {

// The problem with a document, or none. Style sheets are skipped.
class Markup {
 public:
  explicit Markup(std::string_view text) : text_(text) {}

  std::string problem() {
    if (!take("<!DOCTYPE html>")) return "no document type";
    while (at_ < text_.size()) {
      if (std::string wrong = text_[at_] == '<' ? tag() : character(); !wrong.empty())
        return wrong + " at " + std::string(text_.substr(at_ > 40 ? at_ - 40 : 0, 80));
    }
    return open_.empty() ? std::string() : "<" + open_.back() + "> is not closed";
  }

 private:
  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }

  std::string character() {
    const char c = text_[at_++];
    if (c == '>') return "a bare >";
    if (c != '&') return {};
    for (const std::string_view entity : {"amp;", "lt;", "gt;", "quot;", "#39;"})
      if (take(entity)) return {};
    return "a bare &";
  }

  std::string name() {
    std::string name;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-'))
      name += text_[at_++];
    return name;
  }

  std::string tag() {
    ++at_;
    if (take("/")) {
      const std::string closed = name();
      if (!take(">")) return "an end tag with more in it";
      if (open_.empty() || open_.back() != closed) return "</" + closed + "> closes nothing";
      open_.pop_back();
      return {};
    }
    const std::string opened = name();
    if (opened.empty()) return "a bare <";
    // The page's own scripts, and their data: neither can contain an end tag of a script.
    if (opened == "script") {
      const std::string_view own = text_.substr(at_);
      if (!own.starts_with(" nonce=\"") && !own.starts_with(" type=\"application/octet-stream\" id=\"data\""))
        return "a script";
      at_ = std::min(text_.find("</script>", at_), text_.size());
      return take("</script>") ? std::string() : "a script without an end";
    }
    for (;;) {
      while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
      if (take("/>")) return {};
      if (take(">")) break;
      if (const std::string attribute = name(); attribute.empty() || !take("=\"")) return "an attribute without quotes";
      while (at_ < text_.size() && text_[at_] != '"') {
        if (text_[at_] == '<') return "a < in an attribute";
        ++at_;
      }
      if (!take("\"")) return "an attribute without an end";
    }
    open_.push_back(opened);
    if (opened == "style") at_ = std::min(text_.find("</style>", at_), text_.size());
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> open_;
};

}  // namespace rldb::ui::test
