// Text to tree: a parser with one function per level of the grammar, operators by precedence.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "rldb/expression/expression.h"
#include "rldb/expression/functions.h"
#include "rldb/expression/operator.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::expression {

using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Value;

namespace {

constexpr std::size_t kMaxText = 1 << 16;
constexpr int kMaxNesting = 200;           // of brackets and signs: limited by the parser's stack
constexpr std::uint32_t kMaxDepth = 1000;  // of the tree, `1 + 1 + ...` included: limited by the evaluator's stack

struct OperatorRow {
  Operator op;
  std::string_view text;
  int level;  // 0: a comparison
};

constexpr OperatorRow kInfix[] = {
#define RLDB_BINARY(id, text, level, doc) {Operator::id, text, level},
#define RLDB_COMPARISON(id, text, doc) {Operator::id, text, 0},
#include "rldb/expression/operator.def"
};
constexpr int kLowestLevel = 1;
constexpr int kPowerLevel = 7;
constexpr OperatorRow kPrefix[] = {
#define RLDB_UNARY(id, text, doc) {Operator::id, text, 0},
#include "rldb/expression/operator.def"
};

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool continues_name(char c) { return starts_name(c) || is_digit(c); }

using TermIndex = Result<int>;

class Reader {
 public:
  explicit Reader(std::string_view text) { out_.text = text; }

  Result<Expression> read() {
    RLDB_TRY_VOID(top());
    skip();
    if (at_ < text().size()) return syntax("here");
    return std::move(out_);
  }

 private:
  struct Nested {
    explicit Nested(int& depth) : depth(depth) { ++depth; }
    ~Nested() { --depth; }
    int& depth;
  };

  // ---- the text ----

  std::string_view text() const { return out_.text; }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text().size() ? text()[at_ + ahead] : '\0'; }
  support::Failure<runtime::Error> syntax_at(std::size_t at, std::string_view what) const {
    constexpr std::size_t kShown = 200;
    const std::string_view shown = text().substr(0, kShown);
    return fail(ErrorKind::Unsupported, fmt::format("cannot read `{}{}`: column {}, {}", shown,
                                                    shown.size() < text().size() ? "..." : "", at + 1, what));
  }
  support::Failure<runtime::Error> syntax(std::string_view what) const { return syntax_at(at_, what); }
  void skip() {
    while (support::is_blank(peek()) && at_ < text().size()) ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (!text().substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  bool take_word(std::string_view word) {
    skip();
    if (!text().substr(at_).starts_with(word) || continues_name(peek(word.size()))) return false;
    at_ += word.size();
    return true;
  }
  std::string_view word() {
    const std::size_t begin = at_;
    if (peek() == '$') {  // `$a`: a variable of the session; `$1`, `$`, `$$`: a value that was printed
      ++at_;
      if (peek() == '$') return ++at_, text().substr(begin, 2);
      while (continues_name(peek())) ++at_;
      return text().substr(begin, at_ - begin);
    }
    if (starts_name(peek()))
      while (continues_name(peek())) ++at_;
    return text().substr(begin, at_ - begin);
  }
  // The longest operator here: `//` is not `/`.
  const OperatorRow* infix() {
    skip();
    const OperatorRow* best = nullptr;
    for (const OperatorRow& row : kInfix)
      if (text().substr(at_).starts_with(row.text) && (!best || row.text.size() > best->text.size())) best = &row;
    return best;
  }

  // ---- the tree ----

  TermIndex add(Term t, std::size_t begin) {
    t.begin = std::uint32_t(begin);
    t.end = std::uint32_t(at_);
    for (const int child : t.children)
      if (child >= 0) t.depth = std::max(t.depth, out_.terms[std::size_t(child)].depth + 1);
    if (t.depth > kMaxDepth)
      return syntax(fmt::format("more than {} operations depend on each other in a row", kMaxDepth));
    out_.terms.push_back(std::move(t));
    return int(out_.terms.size()) - 1;
  }
  static Term term(TermKind kind, std::vector<int> children, std::vector<Operator> ops = {}) {
    Term t;
    t.kind = kind;
    t.children = std::move(children);
    t.ops = std::move(ops);
    return t;
  }
  TermIndex constant(Value v, std::size_t begin) {
    Term t;
    t.value = std::move(v);
    return add(std::move(t), begin);
  }

  // ---- the grammar ----

  // `a, b` without brackets is a tuple, as at Python's prompt.
  TermIndex top() {
    skip();
    const std::size_t begin = at_;
    RLDB_TRY(const int first, expression());
    if (!take(",")) return first;
    std::vector<int> fields{first};
    for (skip(); at_ < text().size();) {
      RLDB_TRY(const int field, expression());
      fields.push_back(field);
      if (!take(",")) break;
      skip();
    }
    return add(term(TermKind::Tuple, std::move(fields)), begin);
  }

  TermIndex expression() { return logic("or", TermKind::Or); }
  TermIndex logic(std::string_view word, TermKind kind) {
    skip();
    const std::size_t begin = at_;
    const auto operand = [&] { return kind == TermKind::Or ? logic("and", TermKind::And) : negation(); };
    RLDB_TRY(const int first, operand());
    std::vector<int> operands{first};
    while (take_word(word)) {
      RLDB_TRY(const int next, operand());
      operands.push_back(next);
    }
    if (operands.size() == 1) return first;
    return add(term(kind, std::move(operands)), begin);
  }
  TermIndex negation() {
    Nested nested(nesting_);
    if (nesting_ > kMaxNesting) return syntax("it nests too deep");
    skip();
    const std::size_t begin = at_;
    if (!take_word("not")) return comparison();
    RLDB_TRY(const int operand, negation());
    return add(term(TermKind::Not, {operand}), begin);
  }
  TermIndex comparison() {
    skip();
    const std::size_t begin = at_;
    RLDB_TRY(const int first, binary(kLowestLevel));
    Term chain = term(TermKind::Compare, {first});
    for (const OperatorRow* op = infix(); op && op->level == 0; op = infix()) {
      at_ += op->text.size();
      RLDB_TRY(const int next, binary(kLowestLevel));
      chain.ops.push_back(op->op);
      chain.children.push_back(next);
    }
    if (chain.ops.empty()) return first;
    return add(std::move(chain), begin);
  }
  TermIndex binary(int level) {
    skip();
    const std::size_t begin = at_;
    RLDB_TRY(int left, sign());
    for (const OperatorRow* op = infix(); op && op->level >= level; op = infix()) {
      support::poll();
      at_ += op->text.size();
      RLDB_TRY(const int right, binary(op->level + 1));
      RLDB_TRY(left, add(term(TermKind::Binary, {left, right}, {op->op}), begin));
    }
    return left;
  }
  // A power binds tighter than the sign before it and associates to the right.
  TermIndex sign() {
    Nested nested(nesting_);
    if (nesting_ > kMaxNesting) return syntax("it nests too deep");
    skip();
    const std::size_t begin = at_;
    for (const OperatorRow& row : kPrefix) {
      if (!take(row.text)) continue;
      RLDB_TRY(const int operand, sign());
      return add(term(TermKind::Unary, {operand}, {row.op}), begin);
    }
    RLDB_TRY(const int base, postfix());
    const OperatorRow* op = infix();
    if (!op || op->level != kPowerLevel) return base;
    at_ += op->text.size();
    RLDB_TRY(const int exponent, sign());
    return add(term(TermKind::Binary, {base, exponent}, {op->op}), begin);
  }
  TermIndex postfix() {
    skip();
    const std::size_t begin = at_;
    RLDB_TRY(int t, primary());
    for (;;) {
      if (take("[")) {
        RLDB_TRY(t, subscript(t, begin));
      } else if (take("(")) {
        RLDB_TRY(t, call(t, begin));
      } else if (peek() == '.' && starts_name(peek(1))) {
        ++at_;
        Term attribute = term(TermKind::Attribute, {t});
        attribute.text = word();
        RLDB_TRY(t, add(std::move(attribute), begin));
      } else if (peek() == '.') {
        ++at_;
        return syntax("a name should follow `.`");
      } else {
        return t;
      }
    }
  }

  TermIndex subscript(int base, std::size_t begin) {
    Term t = term(TermKind::Subscript, {base});
    do {
      if (t.children.size() > 1 && (skip(), peek() == ']')) break;
      RLDB_TRY(const int item, index());
      t.children.push_back(item);
    } while (take(","));
    if (!take("]")) return syntax("`]` is missing");
    return add(std::move(t), begin);
  }
  TermIndex index() {
    skip();
    const std::size_t begin = at_;
    if (take("...")) return add(term(TermKind::Ellipsis, {}), begin);
    Term slice = term(TermKind::Slice, {-1, -1, -1});
    std::size_t colons = 0;
    for (;;) {
      skip();
      if (peek() != ':' && peek() != ',' && peek() != ']') {
        RLDB_TRY(slice.children[colons], expression());
      }
      if (colons == 2 || !take(":")) break;
      ++colons;
    }
    if (colons > 0) return add(std::move(slice), begin);
    if (slice.children[0] < 0) return syntax("expected an index");
    return slice.children[0];
  }

  TermIndex call(int callee, std::size_t begin) {
    const Term& called = out_.terms[std::size_t(callee)];
    if (called.kind != TermKind::Name && called.kind != TermKind::Attribute) return syntax("only a name can be called");
    const bool method = called.kind == TermKind::Attribute;
    const FunctionRow* known = find_function(called.text);
    const bool script = dotted_name(out_, called).starts_with("R.");
    Term t = term(TermKind::Call, {callee});
    while (skip(), peek() != ')') {
      support::poll();
      RLDB_TRY_VOID(argument(t));
      if (!take(",")) break;
    }
    if (!take(")")) return syntax("`)` is missing");
    // How many arguments a method of an unknown object takes is not known before it is called.
    if (known && !script)
      if (const std::string wrong = known->misfit(t.children.size() - 1 + std::size_t(method), t.keywords, method);
          !wrong.empty())
        return syntax_at(begin, wrong);
    return add(std::move(t), begin);
  }
  Result<support::Unit> argument(Term& call) {
    const std::size_t begin = at_;
    std::string keyword(word());
    if (keyword.empty() || !take("=") || peek() == '=') {
      keyword.clear();
      at_ = begin;
    }
    if (keyword.empty() && !call.keywords.empty() && !call.keywords.back().empty())
      return syntax("an argument without a name follows one with a name");
    RLDB_TRY(const int value, expression());
    call.children.push_back(value);
    call.keywords.push_back(std::move(keyword));
    return support::Unit{};
  }

  TermIndex primary() {
    skip();
    const std::size_t begin = at_;
    const char c = peek();
    if (at_ >= text().size()) return syntax("the text ends");
    if (c == '(' || c == '[') return bracketed();
    if (c == '"' || c == '\'') return string(c);
    if (c == '@') return file();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (c == '%') return relay_name();
    const std::string_view name = word();
    if (name.empty()) return syntax("expected a value");
    if (name == "True" || name == "False") return constant(Value::of_bool(name == "True"), begin);
    if (name == "None") return constant(Value(), begin);
    if (name == "inf") return constant(Value::of_float(std::numeric_limits<double>::infinity()), begin);
    if (name == "nan") return constant(Value::of_float(std::numeric_limits<double>::quiet_NaN()), begin);
    for (const std::string_view reserved : {"and", "or", "not"})
      if (name == reserved) return syntax_at(begin, fmt::format("expected a value before `{}`", name));
    Term t = term(TermKind::Name, {});
    t.text = text().substr(begin, name.size() + of_rank());
    return add(std::move(t), begin);
  }
  // `x@3`, without blanks, is the x of rank 3: a product with a number would be an error. Returns the bytes of `@3`.
  std::size_t of_rank() {
    std::size_t size = 0;
    if (peek() == '@' && is_digit(peek(1)))
      for (size = 2; is_digit(peek(size));) ++size;
    if (continues_name(peek(size)) || peek(size) == '.') return 0;
    at_ += size;
    return size;
  }
  // `%x` in a Relay text is the variable x, `%0` the graph variable with that name.
  TermIndex relay_name() {
    const std::size_t begin = at_++;
    while (continues_name(peek())) ++at_;
    const std::string_view name = text().substr(begin, at_ - begin);
    if (name.size() == 1) return syntax("expected a name after `%`");
    Term t = term(TermKind::Name, {});
    t.text = is_digit(name[1]) ? name : name.substr(1);
    return add(std::move(t), begin);
  }
  // `(a)` is a itself, `(a,)` and `(a, b)` are tuples, `[...]` is a list.
  TermIndex bracketed() {
    const std::size_t begin = at_;
    const bool list = text()[at_++] == '[';
    const char closing = list ? ']' : ')';
    std::vector<int> fields;
    bool comma = false;
    while (skip(), peek() != closing) {
      support::poll();
      RLDB_TRY(const int field, expression());
      fields.push_back(field);
      comma = take(",");
      if (!comma) break;
    }
    if (!take(list ? "]" : ")")) return syntax(list ? "`]` is missing" : "`)` is missing");
    if (!list && fields.size() == 1 && !comma) return fields[0];
    return add(term(list ? TermKind::List : TermKind::Tuple, std::move(fields)), begin);
  }
  TermIndex string(char quote) {
    const std::size_t begin = at_;
    std::string value;
    for (++at_; peek() != quote; ++at_) {
      if (at_ >= text().size()) return syntax_at(begin, "the string is not terminated");
      if (peek() == '\\' && (peek(1) == quote || peek(1) == '\\')) ++at_;
      value += peek();
    }
    ++at_;
    return constant(Value::of_string(std::move(value)), begin);
  }
  // `@file.npy`, `@"a file.npz:member"`: up to a blank, comma or closing bracket.
  TermIndex file() {
    const std::size_t begin = at_++;
    Term t = term(TermKind::File, {});
    if (peek() == '"' || peek() == '\'') {
      RLDB_TRY(const int quoted, string(peek()));
      t.text = out_.terms[std::size_t(quoted)].value.as_string();
    } else {
      const std::size_t from = at_;
      while (at_ < text().size() && !support::is_blank(peek()) &&
             std::string_view(",)]").find(peek()) == std::string_view::npos)
        ++at_;
      t.text = text().substr(from, at_ - from);
    }
    if (t.text.empty()) return syntax("the name of a file should follow `@`");
    return add(std::move(t), begin);
  }
  TermIndex number() {
    const std::size_t at = at_;
    const char* begin = text().data() + at_;
    const char* end = text().data() + text().size();
    std::int64_t integer = 0;
    double real = 0;
    const char mark = char(std::tolower(static_cast<unsigned char>(peek(1))));
    const int base = peek() != '0' ? 10 : mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
    bool is_int = false;
    if (base != 10) {
      const auto parsed = std::from_chars(begin + 2, end, integer, base);
      if (parsed.ec == std::errc::result_out_of_range) return syntax("the number is too large");
      if (parsed.ec != std::errc()) return syntax("digits are missing");
      is_int = true;
      at_ += std::size_t(parsed.ptr - begin);
    } else {
      const auto i = std::from_chars(begin, end, integer);
      const auto f = std::from_chars(begin, end, real);
      if (f.ec != std::errc() && i.ec != std::errc()) return syntax("the number is too large");
      is_int = i.ec == std::errc() && i.ptr == f.ptr;
      at_ += std::size_t((is_int ? i.ptr : f.ptr) - begin);
    }
    if (continues_name(peek())) return syntax("a number is followed by a letter");
    return constant(is_int ? Value::of_int(integer) : Value::of_float(real), at);
  }

  Expression out_;
  std::size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace

std::string_view to_string(Operator op) {
  switch (op) {
#define RLDB_BINARY(id, text, level, doc) \
  case Operator::id:                      \
    return text;
#define RLDB_COMPARISON(id, text, doc) RLDB_BINARY(id, text, 0, doc)
#define RLDB_UNARY(id, text, doc) RLDB_BINARY(id, text, 0, doc)
#include "rldb/expression/operator.def"
  }
  return "?";
}

Result<Expression> parse(std::string_view text) {
  if (text.size() > kMaxText) return fail(ErrorKind::Unsupported, "the expression is too long");
  return Reader(text).read();
}

std::string dotted_name(const Expression& expression, const Term& callee) {
  std::string name;
  for (const Term* t = &callee;; t = &expression.child(*t, 0)) {
    if (t->kind != TermKind::Name && t->kind != TermKind::Attribute) return {};
    name = name.empty() ? t->text : t->text + "." + name;
    if (t->kind == TermKind::Name) return name;
  }
}

namespace {

// Names that are called, or begin the name of an operator: they have no values.
std::vector<bool> callees(const Expression& e) {
  std::vector<bool> marked(e.terms.size());
  for (const Term& t : e.terms) {
    if (t.kind != TermKind::Call) continue;
    int at = t.children[0];
    const bool script = dotted_name(e, e.terms[std::size_t(at)]).starts_with("R.");
    while (script && e.terms[std::size_t(at)].kind == TermKind::Attribute) at = e.terms[std::size_t(at)].children[0];
    if (e.terms[std::size_t(at)].kind == TermKind::Name) marked[std::size_t(at)] = true;
  }
  return marked;
}

}  // namespace

std::vector<std::string> names_of(const Expression& expression) {
  std::vector<std::string> names;
  const std::vector<bool> called = callees(expression);
  for (std::size_t i = 0; i < expression.terms.size(); ++i) {
    const Term& t = expression.terms[i];
    if (t.kind != TermKind::Name || called[i]) continue;
    if (std::find(names.begin(), names.end(), t.text) == names.end()) names.push_back(t.text);
  }
  return names;
}

bool is_script(const Expression& expression) {
  if (expression.root().kind != TermKind::Call) return false;
  for (const Term& t : expression.terms) {
    const bool name = t.kind == TermKind::Name && !t.text.starts_with('$') && t.text.find('@') == std::string::npos;
    const bool plain = name || t.kind == TermKind::Constant || t.kind == TermKind::Tuple || t.kind == TermKind::List;
    const bool chain = t.kind == TermKind::Attribute && !dotted_name(expression, t).empty();
    const bool call = t.kind == TermKind::Call && dotted_name(expression, expression.child(t, 0)).starts_with("R.");
    if (!plain && !chain && !call) return false;
  }
  return true;
}

}  // namespace rldb::expression
