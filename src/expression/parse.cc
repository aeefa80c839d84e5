// Text to tree: the grammar is that of modules (frontend/syntax.h), the words and the meaning are this language's.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numbers>
#include <optional>

#include "expression/own_words.h"
#include "rldb/expression/expression.h"
#include "rldb/expression/functions.h"
#include "rldb/expression/language.h"
#include "rldb/expression/operator.h"
#include "rldb/frontend/syntax.h"
#include "rldb/support/cancel.h"

namespace rldb::expression {

using frontend::SyntaxKind;
using frontend::SyntaxNode;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Value;

namespace {

constexpr std::size_t kMaxText = 1 << 16;

struct OperatorRow {
  Operator op;
  std::string_view text;
};

constexpr OperatorRow kBinary[] = {
#define RLDB_BINARY(id, text, doc) {Operator::id, text},
#include "rldb/expression/operator.def"
};
constexpr OperatorRow kComparisons[] = {
#define RLDB_COMPARISON(id, text, doc) {Operator::id, text},
#include "rldb/expression/operator.def"
};
constexpr OperatorRow kUnary[] = {
#define RLDB_UNARY(id, text, doc) {Operator::id, text},
#include "rldb/expression/operator.def"
};

using TermIndex = Result<int>;

class Builder {
 public:
  explicit Builder(std::string_view text) : words_(own_words(text)) { out_.text = text; }

  Result<Expression> build() {
    std::vector<frontend::OwnWord> places;
    for (const Word& w : words_) places.push_back({w.begin, w.end});
    const auto read = frontend::read_syntax(out_.text, places);
    if (!read.ok()) return syntax(read.error().begin, read.error().text);
    RLDB_TRY_VOID(of(*read));
    return std::move(out_);
  }

 private:
  support::Failure<runtime::Error> syntax(std::size_t at, std::string_view why) const {
    constexpr std::size_t kShown = 200;
    const std::string_view text = out_.text;
    const std::string_view shown = text.substr(0, kShown);
    return fail(ErrorKind::Unsupported, fmt::format("cannot read `{}{}`: column {}, {}", shown,
                                                    shown.size() < text.size() ? "..." : "", at + 1, why));
  }

  TermIndex add(Term t, const SyntaxNode& n) {
    t.begin = n.begin;
    t.end = n.end;
    for (const int child : t.children)
      if (child >= 0) t.depth = std::max(t.depth, out_.terms[std::size_t(child)].depth + 1);
    out_.terms.push_back(std::move(t));
    return int(out_.terms.size()) - 1;
  }

  TermIndex constant(Value v, const SyntaxNode& n) {
    Term t;
    t.value = std::move(v);
    return add(std::move(t), n);
  }

  Result<std::vector<int>> parts_of(const SyntaxNode& n) {
    std::vector<int> children;
    for (const SyntaxNode& part : n.parts) {
      RLDB_TRY(const int child, of(part));
      children.push_back(child);
    }
    return children;
  }

  TermIndex term(TermKind kind, const SyntaxNode& n, std::vector<Operator> ops = {}, std::string text = {}) {
    Term t;
    t.kind = kind;
    t.ops = std::move(ops);
    t.text = std::move(text);
    RLDB_TRY(t.children, parts_of(n));
    return add(std::move(t), n);
  }

  TermIndex of(const SyntaxNode& n) {
    support::poll();
    switch (n.kind) {
      case SyntaxKind::Absent:
        return -1;
      case SyntaxKind::Name:
        return name(n);
      case SyntaxKind::Integer:
        return constant(Value::of_int(n.integer), n);
      case SyntaxKind::Float:
        return constant(Value::of_float(n.number), n);
      case SyntaxKind::Boolean:
        return constant(Value::of_bool(n.integer != 0), n);
      case SyntaxKind::None:
        return constant(Value(), n);
      case SyntaxKind::String:
        return constant(Value::of_string(n.text), n);
      case SyntaxKind::Ellipsis:
        return term(TermKind::Ellipsis, n);
      case SyntaxKind::Attribute:
        return n.parts[0].kind == SyntaxKind::Name && is_numpy(n.parts[0].text)
                   ? numpy_name(n)
                   : term(TermKind::Attribute, n, {}, n.text);
      case SyntaxKind::Call:
        return call(n);
      case SyntaxKind::Subscript:
        return term(TermKind::Subscript, n);
      case SyntaxKind::Slice:
        return term(TermKind::Slice, n);
      case SyntaxKind::Tuple:
        return term(TermKind::Tuple, n);
      case SyntaxKind::List:
        return term(TermKind::List, n);
      case SyntaxKind::Unary:
        return operation(TermKind::Unary, n, kUnary);
      case SyntaxKind::Binary:
        return operation(TermKind::Binary, n, kBinary);
      case SyntaxKind::Comparison:
        return comparison(n);
      case SyntaxKind::And:
        return term(TermKind::And, n);
      case SyntaxKind::Or:
        return term(TermKind::Or, n);
      case SyntaxKind::Not:
        return term(TermKind::Not, n);
      case SyntaxKind::Conditional:
        return syntax(n.begin, "`if` expressions are not part of the expression language: `where(c, x, y)`");
      case SyntaxKind::Dictionary:
        return syntax(n.begin, "a dictionary has no value here");
      case SyntaxKind::Other:
        break;
    }
    return syntax(n.begin, fmt::format("{} is not part of the expression language", n.text));
  }

  TermIndex name(const SyntaxNode& n) {
    const auto word =
        std::find_if(words_.begin(), words_.end(), [&](const Word& w) { return w.begin == n.begin && w.end == n.end; });
    if (word != words_.end() && word->text.empty()) return syntax(n.begin, "the name of a file should follow `@`");
    if (word != words_.end()) return term(word->kind, n, {}, word->text);
    if (n.text == "inf" || n.text == "nan") return constant(*numpy_constant(n.text), n);
    return term(TermKind::Name, n, {}, n.text);
  }

  // `np.float16` is a dtype.
  TermIndex numpy_name(const SyntaxNode& n) {
    if (const auto number = numpy_constant(n.text)) return constant(*number, n);
    if (find_function(n.text)) {
      Term t;
      t.kind = TermKind::Name;
      t.text = n.text;
      return add(std::move(t), n);
    }
    if (const auto dtype = runtime::parse_dtype(n.text); dtype && dtype->is_scalar() && !dtype->is_handle())
      return constant(Value::of_dtype(*dtype), n);
    return syntax(n.begin, fmt::format("the expression language has no `{}` of NumPy", n.text));
  }
  static std::optional<Value> numpy_constant(std::string_view name) {
    if (name == "newaxis") return Value();
    if (name == "inf") return Value::of_float(std::numeric_limits<double>::infinity());
    if (name == "nan") return Value::of_float(std::numeric_limits<double>::quiet_NaN());
    if (name == "pi") return Value::of_float(std::numbers::pi);
    return std::nullopt;
  }

  static const OperatorRow* find(std::span<const OperatorRow> rows, std::string_view text) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const OperatorRow& r) { return r.text == text; });
    return row == rows.end() ? nullptr : &*row;
  }
  support::Failure<runtime::Error> unknown_operator(const SyntaxNode& n, std::string_view op) const {
    return syntax(n.begin, fmt::format("`{}` is not an operator of the expression language", op));
  }
  TermIndex operation(TermKind kind, const SyntaxNode& n, std::span<const OperatorRow> rows) {
    const OperatorRow* row = find(rows, n.text);
    if (!row) return unknown_operator(n, n.text);
    return term(kind, n, {row->op});
  }
  TermIndex comparison(const SyntaxNode& n) {
    std::vector<Operator> ops;
    for (const std::string& op : n.operators) {
      const OperatorRow* row = find(kComparisons, op);
      if (!row) return unknown_operator(n, op);
      ops.push_back(row->op);
    }
    return term(TermKind::Compare, n, std::move(ops));
  }

  TermIndex call(const SyntaxNode& n) {
    Term t;
    t.kind = TermKind::Call;
    RLDB_TRY(t.children, parts_of(n));
    for (std::size_t i = 1; i < n.parts.size(); ++i) {
      if (n.parts[i].keyword.empty() && !t.keywords.empty() && !t.keywords.back().empty())
        return syntax(n.parts[i].begin, "an argument without a name follows one with a name");
      t.keywords.push_back(n.parts[i].keyword);
    }
    const Term& called = out_.terms[std::size_t(t.children[0])];
    const bool method = called.kind == TermKind::Attribute;
    if (called.kind != TermKind::Name && !method) return syntax(n.begin, "only a name can be called");
    const FunctionRow* known = find_function(called.text);
    const bool script = dotted_name(out_, called).starts_with("R.");
    // How many arguments a method of an unknown object takes is not known before it is called.
    if (known && !script)
      if (const std::string wrong = known->misfit(t.keywords.size() + std::size_t(method), t.keywords, method);
          !wrong.empty())
        return syntax(n.begin, wrong);
    return add(std::move(t), n);
  }

  Expression out_;
  std::vector<Word> words_;
};

}  // namespace

std::string_view to_string(Operator op) {
  switch (op) {
#define RLDB_BINARY(id, text, doc) \
  case Operator::id:               \
    return text;
#define RLDB_COMPARISON(id, text, doc) RLDB_BINARY(id, text, doc)
#define RLDB_UNARY(id, text, doc) RLDB_BINARY(id, text, doc)
#include "rldb/expression/operator.def"
  }
  return "?";
}

Result<Expression> parse(std::string_view text) {
  if (text.size() > kMaxText) return fail(ErrorKind::Unsupported, "the expression is too long");
  return Builder(text).build();
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
