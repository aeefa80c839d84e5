// A parser of sizes: sums of products of numbers, symbols, calls.
#include "onnx/pt2/symbol.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdint>
#include <memory>
#include <optional>

#include "rldb/ir/scalar.h"

namespace rldb::onnx {

namespace {

struct SizeNode;
using SizeRef = std::unique_ptr<SizeNode>;
enum class SizeOp : std::uint8_t { Number, Symbol, Negative, Sum, Product, Quotient, Remainder, Smaller, Larger };
struct SizeNode {
  SizeOp op = SizeOp::Number;
  std::int64_t number = 0;
  std::string name;
  std::vector<SizeRef> operands;
};

constexpr int kDeepestSize = 40;
constexpr std::size_t kLongestSize = 2000;

class SizeParser {
 public:
  explicit SizeParser(std::string_view text) : text_(text) {}

  SizeRef run() {
    if (text_.size() > kLongestSize) return nullptr;
    SizeRef made = sum(0);
    blanks();
    return made && at_ == text_.size() ? std::move(made) : nullptr;
  }

 private:
  void blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(std::string_view s) {
    blanks();
    if (!text_.substr(at_).starts_with(s)) return false;
    at_ += s.size();
    return true;
  }
  std::string word() {
    blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  static SizeRef node(SizeOp op, SizeRef a, SizeRef b = nullptr) {
    auto made = std::make_unique<SizeNode>();
    made->op = op;
    made->operands.push_back(std::move(a));
    if (b) made->operands.push_back(std::move(b));
    return made;
  }

  SizeRef sum(int depth) {
    SizeRef made = product(depth);
    while (made) {
      const bool plus = accept("+"), minus = !plus && accept("-");
      if (!plus && !minus) break;
      SizeRef next = product(depth);
      if (!next) return nullptr;
      made = node(SizeOp::Sum, std::move(made), plus ? std::move(next) : node(SizeOp::Negative, std::move(next)));
    }
    return made;
  }

  SizeRef product(int depth) {
    SizeRef made = factor(depth);
    while (made) {
      SizeOp op = SizeOp::Product;
      if (text_.substr(at_).starts_with("**")) return nullptr;
      if (accept("//"))
        op = SizeOp::Quotient;
      else if (accept("%"))
        op = SizeOp::Remainder;
      else if (!accept("*"))
        break;
      SizeRef next = factor(depth);
      if (!next) return nullptr;
      made = node(op, std::move(made), std::move(next));
    }
    return made;
  }

  SizeRef factor(int depth) {
    if (depth > kDeepestSize) return nullptr;
    if (accept("(")) {
      SizeRef made = sum(depth + 1);
      return made && accept(")") ? std::move(made) : nullptr;
    }
    if (accept("-")) {
      SizeRef made = factor(depth + 1);
      return made ? node(SizeOp::Negative, std::move(made)) : nullptr;
    }
    std::string name = word();
    if (name.empty()) return nullptr;
    auto made = std::make_unique<SizeNode>();
    if (std::isdigit(static_cast<unsigned char>(name[0]))) {
      if (name.size() > 18 || name.find_first_not_of("0123456789") != std::string::npos) return nullptr;
      made->op = SizeOp::Number;
      made->number = std::stoll(name);
      return made;
    }
    if (text_.substr(at_).starts_with("(")) return call(name, depth + 1);
    made->op = SizeOp::Symbol;
    made->name = std::move(name);
    return made;
  }

  static std::optional<SizeOp> op_of(std::string_view name) {
    if (name == "Add") return SizeOp::Sum;
    if (name == "Mul") return SizeOp::Product;
    if (name == "FloorDiv" || name == "CleanDiv") return SizeOp::Quotient;
    if (name == "Mod" || name == "PythonMod") return SizeOp::Remainder;
    if (name == "Min") return SizeOp::Smaller;
    if (name == "Max") return SizeOp::Larger;
    return std::nullopt;
  }

  // Symbol('s0', integer=True, ...), Integer(2), Add(...), Mul(...), FloorDiv(...), Mod(...), Min(...), Max(...)
  SizeRef call(const std::string& name, int depth) {
    if (depth > kDeepestSize || !accept("(")) return nullptr;
    if (name == "Symbol") return symbol();
    std::vector<SizeRef> operands;
    do {
      SizeRef operand = sum(depth);
      if (!operand) return nullptr;
      operands.push_back(std::move(operand));
    } while (accept(","));
    if (!accept(")")) return nullptr;
    if (name == "Integer" && operands.size() == 1) return std::move(operands[0]);
    const auto op = op_of(name);
    if (!op) return nullptr;
    SizeRef made = std::move(operands[0]);
    for (std::size_t i = 1; i < operands.size(); ++i) made = node(*op, std::move(made), std::move(operands[i]));
    return made;
  }

  SizeRef symbol() {
    if (!accept("'")) return nullptr;
    auto made = std::make_unique<SizeNode>();
    made->op = SizeOp::Symbol;
    made->name = word();
    if (made->name.empty() || !accept("'")) return nullptr;
    while (accept(",")) {  // its assumptions
      word();
      if (!accept("=")) return nullptr;
      word();
    }
    return accept(")") ? std::move(made) : nullptr;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// `a + (-b)` is `a - b`.
bool is_difference(const SizeNode& n) { return n.op == SizeOp::Sum && n.operands[1]->op == SizeOp::Negative; }

const ir::Expr* size_of(ir::Context& ctx, const SizeNode& n, const SymbolValue& value) {
  if (n.op == SizeOp::Number) return ctx.i64(n.number);
  if (n.op == SizeOp::Symbol) return value(n.name);
  const bool subtracts = is_difference(n);
  std::vector<const ir::Expr*> at;
  for (const SizeRef& o : n.operands) {
    const bool second = subtracts && !at.empty();
    at.push_back(size_of(ctx, second ? *o->operands[0] : *o, value));
    if (!at.back()) return nullptr;
  }
  const bool divides = n.op == SizeOp::Quotient || n.op == SizeOp::Remainder;
  const auto divisor = divides ? ir::const_int(at[1]) : std::nullopt;
  if (divisor && *divisor <= 0) return nullptr;
  switch (n.op) {
    case SizeOp::Negative:
      return ir::mul(ctx, ctx.i64(-1), at[0]);
    case SizeOp::Sum:
      return subtracts ? ir::sub(ctx, at[0], at[1]) : ir::add(ctx, at[0], at[1]);
    case SizeOp::Product:
      return ir::mul(ctx, at[0], at[1]);
    case SizeOp::Quotient:
      return ir::floor_div(ctx, at[0], at[1]);
    case SizeOp::Remainder:
      return ir::floor_mod(ctx, at[0], at[1]);
    case SizeOp::Smaller:
      return ir::min(ctx, at[0], at[1]);
    case SizeOp::Larger:
      return ir::max(ctx, at[0], at[1]);
    case SizeOp::Number:
    case SizeOp::Symbol:
      break;
  }
  return nullptr;
}

// As Python writes it.
std::string text_of(const SizeNode& n) {
  if (n.op == SizeOp::Number) return std::to_string(n.number);
  if (n.op == SizeOp::Symbol) return n.name;
  if (is_difference(n)) {
    const SizeNode& right = *n.operands[1]->operands[0];
    const bool plain = right.op != SizeOp::Sum && right.op != SizeOp::Negative;
    return text_of(*n.operands[0]) + " - " + (plain ? text_of(right) : "(" + text_of(right) + ")");
  }
  const auto part = [&](std::size_t i) {
    const SizeNode& o = *n.operands[i];
    const bool is_sum = o.op == SizeOp::Sum || o.op == SizeOp::Negative;
    const bool divides = o.op == SizeOp::Quotient || o.op == SizeOp::Remainder || o.op == SizeOp::Product;
    const bool plain = (!is_sum && !divides) || n.op == SizeOp::Sum;
    return plain ? text_of(o) : "(" + text_of(o) + ")";
  };
  if (n.op == SizeOp::Negative) return "-" + part(0);
  if (n.op == SizeOp::Smaller || n.op == SizeOp::Larger)
    return fmt::format("{}({}, {})", n.op == SizeOp::Smaller ? "Min" : "Max", text_of(*n.operands[0]),
                       text_of(*n.operands[1]));
  const char* sign = n.op == SizeOp::Sum        ? " + "
                     : n.op == SizeOp::Product  ? "*"
                     : n.op == SizeOp::Quotient ? "//"
                                                : "%";
  return part(0) + sign + part(1);
}

}  // namespace

const ir::Expr* size_of_text(ir::Context& ctx, std::string_view text, const SymbolValue& value) {
  const SizeRef parsed = SizeParser(text).run();
  return parsed ? size_of(ctx, *parsed, value) : nullptr;
}

std::string symbol_of_text(std::string_view text) {
  const SizeRef parsed = SizeParser(text).run();
  return parsed && parsed->op == SizeOp::Symbol ? parsed->name : std::string();
}

std::string short_size(std::string_view text) {
  const SizeRef parsed = SizeParser(text).run();
  return parsed ? text_of(*parsed) : std::string(text);
}

}  // namespace rldb::onnx
