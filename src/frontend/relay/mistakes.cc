// Looks for common mistakes: a missing `;`, `:`, `,` or type, names without their sign, a dtype in quotes.
#include "frontend/relay/mistakes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "frontend/relay/units.h"
#include "rldb/source/diagnostic_relay.h"

namespace rldb::frontend::relay_text {

namespace {

enum class Sort : std::uint8_t { Word, Local, Graph, Global, Number, String, Sign };

struct Token {
  Sort sort;
  std::uint32_t begin, end;
  std::string_view text;
  bool first_in_line;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word_byte(char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '/'; }

class Tokens {
 public:
  static std::vector<Token> of(std::string_view text, std::uint32_t begin, std::uint32_t end) {
    Tokens reader(text, begin, end);
    while (reader.at_ < reader.end_) reader.step();
    return std::move(reader.all_);
  }

 private:
  Tokens(std::string_view text, std::uint32_t begin, std::uint32_t end) : text_(text), at_(begin), end_(end) {}

  void step() {
    const char c = text_[at_];
    if (c == '\n') fresh_line_ = true;
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at_;
    } else if (text_.substr(at_).starts_with("//")) {
      at_ = std::min(text_.find('\n', at_), end_);
    } else if (text_.substr(at_).starts_with("/*")) {
      at_ = std::min(end_of_comment(text_, at_), end_);
    } else if (c == '"') {
      const auto close = text_.find('"', at_ + 1);
      take(Sort::String, close == std::string_view::npos ? end_ : close + 1);
    } else if (c == '%' && at_ + 1 < end_ && is_word_byte(text_[at_ + 1])) {
      take(is_digit(text_[at_ + 1]) ? Sort::Graph : Sort::Local, end_of_name(at_ + 1));
    } else if (c == '@') {
      take(Sort::Global, end_of_name(at_ + 1));
    } else if (is_digit(c)) {
      take(Sort::Number, end_of_name(at_));
    } else if (is_letter(c)) {
      take(Sort::Word, end_of_name(at_));
    } else {
      const std::string_view two = text_.substr(at_, 2);
      const bool pair = two == "->" || two == "=>" || two == "==" || two == "!=" || two == "<=" || two == ">=";
      take(Sort::Sign, at_ + (pair ? 2 : 1));
    }
  }
  std::size_t end_of_name(std::size_t at) const {
    while (at < end_ && is_word_byte(text_[at])) ++at;
    return at;
  }
  void take(Sort sort, std::size_t end) {
    end = std::min(end, end_);
    all_.push_back({sort, std::uint32_t(at_), std::uint32_t(end), text_.substr(at_, end - at_), fresh_line_});
    fresh_line_ = false;
    at_ = end;
  }

  std::string_view text_;
  std::size_t at_, end_;
  bool fresh_line_ = true;
  std::vector<Token> all_;
};

// The rules look at a token, those before it, and the brackets around it.
class Search {
 public:
  explicit Search(std::vector<Token> tokens) : t_(std::move(tokens)) {}

  std::optional<Mistake> run() {
    for (i_ = 0; i_ < t_.size(); ++i_) {
      auto found = header();
      if (!found) found = type();
      if (!found) found = statement();
      if (found) return found;
      follow_brackets();
    }
    return std::nullopt;
  }

 private:
  const Token* before(std::size_t n) const { return i_ >= n ? &t_[i_ - n] : nullptr; }
  const Token* after(std::size_t n) const { return i_ + n < t_.size() ? &t_[i_ + n] : nullptr; }
  static bool is(const Token* t, std::string_view text) { return t && t->text == text; }
  static bool is(const Token* t, Sort sort) { return t && t->sort == sort; }

  static std::optional<Mistake> missing_behind(const Token& t, std::string_view what) {
    return Mistake{t.end, t.end, source::message(diag::RelayMissing, what)};
  }
  static std::optional<Mistake> at(const Token& t, source::Message m) { return Mistake{t.begin, t.end, std::move(m)}; }

  // `def f(...)`, `%x Tensor[...]`, `-> {`
  std::optional<Mistake> header() const {
    const Token& t = t_[i_];
    if (is(before(1), "def") && t.sort == Sort::Word) return at(t, source::message(diag::RelayFunctionName, t.text));
    const bool parameter = !open_.empty() && open_.back().is_parameters && is(before(1), Sort::Local);
    if (parameter && (t.sort == Sort::Word || t.text == "(")) return missing_behind(*before(1), "`:`");
    if (is(before(1), "->") && t.text == "{") return missing_behind(*before(1), "a type");
    const bool definition = open_.empty() && t.first_in_line && is(after(1), Sort::Global) && is(after(2), "(");
    if (definition && t.sort == Sort::Word && t.text != "def")
      return at(t, source::message(diag::RelaySyntax, fmt::format("`{}`", t.text))
                       .with_hint("a function begins with `def @name(...)`"));
    return std::nullopt;
  }

  // `Tensor[(2, 3) float32]`, `Tensor[(2, 3), "float32"]`
  std::optional<Mistake> type() const {
    if (open_.empty() || !open_.back().is_tensor) return std::nullopt;
    const Token& t = t_[i_];
    if (is(before(1), ")") && t.sort == Sort::Word) return missing_behind(*before(1), "`,`");
    if (t.sort == Sort::String) return at(t, source::message(diag::RelayQuotedDType, t.text));
    return std::nullopt;
  }

  // A statement that begins although the one before it has not ended.
  std::optional<Mistake> statement() const {
    const Token& t = t_[i_];
    const bool in_brackets = !open_.empty() && !open_.back().is_body && !open_.back().is_arms;
    if (t.text == "#" && !is(after(1), "[") && !in_brackets)
      return at(t, source::message(diag::RelaySyntax, "`#`").with_hint("a comment begins with `//`"));
    if (is(before(1), "let") && t.sort == Sort::Graph)
      return at(t, source::message(diag::RelayLetName, t.text)
                       .with_hint(fmt::format("a numbered value has no `let`: `{} = ...`", t.text)));
    // `Cons(%a, %b) => { %a } Nil => 0`
    const bool arm = !open_.empty() && open_.back().is_arms && !open_.back().has_comma && t.sort == Sort::Word;
    if (arm && is(before(1), "}")) return missing_behind(*before(1), "`,`");
    if (!ends_expression(before(1)) || begins_definition(t)) return std::nullopt;
    if (!open_.empty() && !open_.back().is_body) return operand();
    const bool binds = (t.sort == Sort::Graph && is(after(1), "=")) || t.text == "let" || t.text == "free_var";
    const bool in_new_line =
        t.first_in_line && t.text != "else" &&
        (t.sort == Sort::Word || t.sort == Sort::Local || t.sort == Sort::Graph || t.sort == Sort::Global);
    if (binds || in_new_line) return missing_behind(*before(1), "`;`");
    return std::nullopt;
  }
  // `add(%x %y)`: only the first comma of a list must be there.
  std::optional<Mistake> operand() const {
    const Token& t = t_[i_];
    const bool value = t.sort == Sort::Local || t.sort == Sort::Graph || t.sort == Sort::Global;
    const bool first = !open_.back().has_comma && !open_.back().is_arms;
    return value && first ? missing_behind(*before(1), "`,`") : std::nullopt;
  }
  static bool begins_definition(const Token& t) { return t.text == "def" || t.text == "type" || t.text == "extern"; }
  static bool ends_expression(const Token* t) {
    if (!t) return false;
    if (t->sort == Sort::Word) return !is_keyword(t->text);
    return t->sort != Sort::Sign || t->text == ")" || t->text == "]";
  }
  static bool is_keyword(std::string_view word) {
    static constexpr std::string_view kWords[] = {"def", "let",   "free_var", "if",    "else",
                                                  "fn",  "match", "type",     "extern"};
    return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
  }

  struct Open {
    bool is_tensor = false;      // `Tensor[`
    bool is_body = false;        // `{`
    bool is_arms = false;        // `{` of a `match`
    bool is_parameters = false;  // of a function
    bool has_comma = false;
    std::size_t at = 0;
  };
  static std::size_t nothing_closed() { return std::size_t(-1); }
  void follow_brackets() {
    const Token& t = t_[i_];
    if (t.sort != Sort::Sign) return;
    if (t.text == "," && !open_.empty()) open_.back().has_comma = true;
    if (t.text == "(" || t.text == "[" || t.text == "{") open_.push_back(opened(t));
    if (t.text != ")" && t.text != "]" && t.text != "}") return;
    if (t.text == ")") closed_ = open_.empty() ? nothing_closed() : open_.back().at;
    if (!open_.empty()) open_.pop_back();
  }
  Open opened(const Token& t) const {
    Open o;
    o.at = i_;
    o.is_tensor = t.text == "[" && is(before(1), "Tensor");
    o.is_arms = t.text == "{" && follows_match();
    o.is_body = t.text == "{" && !o.is_arms;
    o.is_parameters = t.text == "(" && (is(before(1), "fn") || (is(before(1), Sort::Global) && is(before(2), "def")));
    return o;
  }
  // `match (%x) {`, `match %x {`
  bool follows_match() const {
    if (i_ == 0) return false;
    const std::size_t value = t_[i_ - 1].text == ")" ? closed_ : i_ - 1;
    if (value == nothing_closed() || value == 0) return false;
    const Token& t = t_[value - 1];
    return t.text == "match" || (t.text == "?" && value > 1 && t_[value - 2].text == "match");
  }

  std::vector<Token> t_;
  std::size_t i_ = 0;
  std::vector<Open> open_;
  std::size_t closed_ = nothing_closed();  // where the bracket that the last `)` has closed was opened
};

}  // namespace

std::optional<Mistake> find_mistake(std::string_view text, std::uint32_t at) {
  constexpr std::uint32_t kMost = 1 << 16;
  const auto def = text.substr(0, at).rfind("\ndef ");
  std::uint32_t begin = def == std::string_view::npos ? 0 : std::uint32_t(def) + 1;
  if (at - begin > kMost) return std::nullopt;
  // To the end of the line after the one with the damage.
  std::size_t end = text.find('\n', at);
  if (end != std::string_view::npos) end = text.find('\n', end + 1);
  end = std::min({end, text.size(), std::size_t(at) + kMost});
  return Search(Tokens::of(text, begin, std::uint32_t(end))).run();
}

}  // namespace rldb::frontend::relay_text
