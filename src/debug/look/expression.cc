#include "debug/look/expression.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

namespace rldb::debug {

using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr int kMaxDepth = 200;

bool is_number(const Value& v) { return v.is(ValueKind::Int) || v.is(ValueKind::Bool) || v.is(ValueKind::Float); }
double as_double(const Value& v) { return v.is(ValueKind::Float) ? v.as_float() : double(v.as_int()); }

Value element(const Tensor& t, std::int64_t flat) {
  const runtime::DType dtype = t.dtype();
  if (dtype.is_bool()) return Value::of_bool(t.at(flat) != 0);
  if (dtype.is_float() || dtype.code == runtime::TypeCode::BFloat) return Value::of_float(t.at(flat));
  if (dtype.is_int() || dtype.is_uint())
    return Value::of_int(runtime::load_as_int(t.data() + std::size_t(flat) * dtype.bytes(), dtype));
  return Value::of_float(t.at(flat));  // float8 kinds
}

// A scalar, or the one element of a tensor.
Result<Value> scalar(const Value& v) {
  if (is_number(v)) return v;
  if (v.is(ValueKind::Tensor)) {
    const std::int64_t count = v.as_tensor().element_count();
    if (count == 1) return element(v.as_tensor(), 0);
    return fail(ErrorKind::Unsupported,
                fmt::format("{} is not a scalar: index it, or use .max, .min, .has_nan, ...", runtime::describe(v)));
  }
  return fail(ErrorKind::TypeMismatch, fmt::format("{} is not a scalar", runtime::describe(v)));
}

// ---- facts of values ----

Result<Value> reduce(const Tensor& t, std::string_view name) {
  const std::int64_t count = t.element_count();
  if (name == "has_nan" || name == "has_inf") {
    for (std::int64_t i = 0; i < count; ++i) {
      const double v = t.at(i);
      if (name == "has_nan" ? std::isnan(v) : std::isinf(v)) return Value::of_bool(true);
    }
    return Value::of_bool(false);
  }
  const bool integral = !t.dtype().is_float() && (t.dtype().is_int() || t.dtype().is_uint() || t.dtype().is_bool());
  if (name == "sum" || name == "mean") {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += t.at(i);
    if (name == "mean") return Value::of_float(sum / double(count));
    return integral ? Value::of_int(std::int64_t(sum)) : Value::of_float(sum);
  }
  if (count == 0) return fail(ErrorKind::OutOfBounds, fmt::format("an empty tensor has no .{}", name));
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < count; ++i) {
    const double v = t.at(i), b = t.at(best);
    if (std::isnan(v)) return Value::of_float(v);
    if (name == "min" ? v < b : v > b) best = i;
  }
  return element(t, best);
}

Result<Value> attribute(const Value& v, std::string_view name) {
  if (v.is(ValueKind::Tensor)) {
    const Tensor& t = v.as_tensor();
    if (name == "shape") return Value::of_shape(t.shape());
    if (name == "ndim") return Value::of_int(t.ndim());
    if (name == "size") return Value::of_int(t.element_count());
    if (name == "dtype") return Value::of_string(runtime::to_string(t.dtype()));
    for (const std::string_view known : {"has_nan", "has_inf", "sum", "mean", "min", "max"})
      if (name == known) return reduce(t, name);
  }
  if (v.is(ValueKind::Shape) && (name == "ndim" || name == "size"))
    return Value::of_int(std::int64_t(v.as_shape().size()));
  if (v.is(ValueKind::Tuple) && name == "size") return Value::of_int(std::int64_t(v.as_tuple().fields.size()));
  return fail(ErrorKind::Unsupported, fmt::format("{} has no `.{}`", runtime::describe(v), name));
}

Result<std::int64_t> checked_index(const Value& v, std::int64_t count, std::size_t dimension) {
  auto number = scalar(v);
  if (!number.ok()) return support::Failure(number.error());
  if (number->is(ValueKind::Float)) return fail(ErrorKind::TypeMismatch, "an index is not an integer");
  const std::int64_t given = number->as_int();
  const std::int64_t i = given < 0 ? given + count : given;
  if (i >= 0 && i < count) return i;
  return fail(ErrorKind::OutOfBounds,
              fmt::format("index {} is out of range: dimension {} has {}", given, dimension, count));
}

Result<Value> subscript(const Value& v, const std::vector<Value>& indices) {
  if (v.is(ValueKind::Shape) || v.is(ValueKind::Tuple)) {
    if (indices.size() != 1) return fail(ErrorKind::TypeMismatch, "one index is wanted here");
    const std::size_t count = v.is(ValueKind::Shape) ? v.as_shape().size() : v.as_tuple().fields.size();
    RLDB_TRY(const std::int64_t i, checked_index(indices[0], std::int64_t(count), 0));
    return v.is(ValueKind::Shape) ? Value::of_int(v.as_shape()[std::size_t(i)]) : v.as_tuple().fields[std::size_t(i)];
  }
  if (!v.is(ValueKind::Tensor))
    return fail(ErrorKind::TypeMismatch, fmt::format("{} cannot be indexed", runtime::describe(v)));
  const Tensor& t = v.as_tensor();
  if (indices.size() > std::size_t(t.ndim()))
    return fail(ErrorKind::OutOfBounds, fmt::format("{} indices into a tensor of rank {}", indices.size(), t.ndim()));
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    RLDB_TRY(const std::int64_t i, checked_index(indices[d], t.shape()[d], d));
    flat = flat * t.shape()[d] + i;
  }
  if (indices.size() == std::size_t(t.ndim())) return element(t, flat);
  std::vector<std::int64_t> rest(t.shape().begin() + std::ptrdiff_t(indices.size()), t.shape().end());
  std::int64_t count = 1;
  for (const std::int64_t d : rest) count *= d;
  RLDB_TRY(auto part, Tensor::view(t.storage(), t.byte_offset() + std::size_t(flat * count) * t.dtype().bytes(),
                                   std::move(rest), t.dtype()));
  return Value(std::move(part));
}

// ---- arithmetic ----

std::int64_t wrap(std::int64_t a, std::int64_t b, char op) {
  const auto x = std::uint64_t(a), y = std::uint64_t(b);
  return std::int64_t(op == '+' ? x + y : op == '-' ? x - y : x * y);
}

Result<Value> integer_op(std::int64_t a, std::int64_t b, std::string_view op) {
  if (op == "+" || op == "-" || op == "*") return Value::of_int(wrap(a, b, op[0]));
  if (b == 0) return fail(ErrorKind::TypeMismatch, "division by zero");
  if (op == "/") return Value::of_float(double(a) / double(b));
  if (b == -1) return Value::of_int(op == "%" ? 0 : wrap(0, a, '-'));
  const std::int64_t quotient = a / b, rest = a % b;
  const bool down = rest != 0 && (rest < 0) != (b < 0);
  return Value::of_int(op == "//" ? quotient - (down ? 1 : 0) : rest + (down ? b : 0));
}

Result<Value> binary(const Value& x, const Value& y, std::string_view op) {
  RLDB_TRY(const Value a, scalar(x));
  RLDB_TRY(const Value b, scalar(y));
  if (!a.is(ValueKind::Float) && !b.is(ValueKind::Float)) return integer_op(a.as_int(), b.as_int(), op);
  const double p = as_double(a), q = as_double(b);
  if (op == "+") return Value::of_float(p + q);
  if (op == "-") return Value::of_float(p - q);
  if (op == "*") return Value::of_float(p * q);
  if (op == "/") return Value::of_float(p / q);
  if (op == "//") return Value::of_float(std::floor(p / q));
  return Value::of_float(p - std::floor(p / q) * q);
}

Result<bool> compare(const Value& x, const Value& y, std::string_view op) {
  if (x.is(ValueKind::String) && y.is(ValueKind::String)) {
    if (op == "==") return x.as_string() == y.as_string();
    if (op == "!=") return x.as_string() != y.as_string();
    return fail(ErrorKind::TypeMismatch, "strings compare with == and != only");
  }
  RLDB_TRY(const Value a, scalar(x));
  RLDB_TRY(const Value b, scalar(y));
  auto decide = [op](auto p, auto q) {
    return op == "=="   ? p == q
           : op == "!=" ? p != q
           : op == "<"  ? p < q
           : op == "<=" ? p <= q
           : op == ">"  ? p > q
                        : p >= q;
  };
  if (!a.is(ValueKind::Float) && !b.is(ValueKind::Float)) return decide(a.as_int(), b.as_int());
  return decide(as_double(a), as_double(b));
}

// ---- reading ----

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads and evaluates in one pass. While `live_` is false (the right of a decided `and` or `or`) nothing is looked up.
class Reader {
 public:
  Reader(std::string_view text, const NameLookup& lookup) : text_(text), lookup_(lookup) {}

  Result<Value> read() {
    RLDB_TRY(Value v, disjunction());
    skip();
    if (at_ < text_.size()) return syntax("here");
    return v;
  }

 private:
  struct Nested {
    explicit Nested(int& depth) : depth(depth) { ++depth; }
    ~Nested() { --depth; }
    int& depth;
  };

  support::Failure<runtime::Error> syntax(std::string_view what) const {
    return fail(ErrorKind::Unsupported, fmt::format("cannot read `{}`: column {}, {}", text_, at_ + 1, what));
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  bool take_word(std::string_view word) {
    skip();
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(word)) return false;
    if (rest.size() > word.size() && (starts_name(rest[word.size()]) || is_digit(rest[word.size()]))) return false;
    at_ += word.size();
    return true;
  }

  Result<Value> disjunction() { return logic("or", true); }
  Result<Value> logic(std::string_view word, bool decided_by) {
    auto operand = [&] { return decided_by ? logic("and", false) : negation(); };
    RLDB_TRY(Value v, operand());
    const bool live = live_;
    while (take_word(word)) {
      bool decided = false;
      if (live_) {
        RLDB_TRY(const bool is, truth(v));
        decided = is == decided_by;
        v = Value::of_bool(is);
      }
      if (decided) live_ = false;
      auto right = operand();
      if (decided) live_ = live;
      if (!right.ok()) return right;
      if (!live_ || decided) continue;
      RLDB_TRY(const bool is, truth(*right));
      v = Value::of_bool(is);
    }
    return v;
  }
  Result<Value> negation() {
    Nested nested(depth_);
    if (depth_ > kMaxDepth) return syntax("it nests too deep");
    if (!take_word("not")) return comparison();
    RLDB_TRY(const Value v, negation());
    if (!live_) return Value();
    RLDB_TRY(const bool is, truth(v));
    return Value::of_bool(!is);
  }
  std::string_view comparison_operator() {
    for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">"})
      if (take(op)) return op;
    return {};
  }
  Result<Value> comparison() {
    RLDB_TRY(Value left, sum());
    std::string_view op = comparison_operator();
    if (op.empty()) return left;
    bool all = true;
    for (; !op.empty(); op = comparison_operator()) {
      RLDB_TRY(Value right, sum());
      if (live_) {
        RLDB_TRY(const bool is, compare(left, right, op));
        all = all && is;
      }
      left = std::move(right);
    }
    return Value::of_bool(all);
  }
  Result<Value> sum() {
    RLDB_TRY(Value v, product());
    for (;;) {
      const std::string_view op = take("+") ? "+" : take("-") ? "-" : "";
      if (op.empty()) return v;
      RLDB_TRY(const Value right, product());
      if (!live_) continue;
      RLDB_TRY(v, binary(v, right, op));
    }
  }
  Result<Value> product() {
    RLDB_TRY(Value v, sign());
    for (;;) {
      const std::string_view op = take("*") ? "*" : take("//") ? "//" : take("/") ? "/" : take("%") ? "%" : "";
      if (op.empty()) return v;
      RLDB_TRY(const Value right, sign());
      if (!live_) continue;
      RLDB_TRY(v, binary(v, right, op));
    }
  }
  Result<Value> sign() {
    Nested nested(depth_);
    if (depth_ > kMaxDepth) return syntax("it nests too deep");
    if (take("+")) return sign();
    if (!take("-")) return postfix();
    RLDB_TRY(const Value v, sign());
    if (!live_) return Value();
    RLDB_TRY(const Value number, scalar(v));
    if (number.is(ValueKind::Float)) return Value::of_float(-number.as_float());
    return Value::of_int(wrap(0, number.as_int(), '-'));
  }
  Result<Value> postfix() {
    RLDB_TRY(Value v, primary());
    for (;;) {
      if (take("[")) {
        std::vector<Value> indices;
        do {
          RLDB_TRY(Value i, disjunction());
          indices.push_back(std::move(i));
        } while (take(","));
        if (!take("]")) return syntax("`]` is missing");
        if (!live_) continue;
        RLDB_TRY(v, subscript(v, indices));
      } else if (take(".")) {
        const std::string_view name = word();
        if (name.empty()) return syntax("a name should follow `.`");
        if (!live_) continue;
        RLDB_TRY(v, attribute(v, name));
      } else {
        return v;
      }
    }
  }
  std::string_view word() {
    const std::size_t begin = at_;
    if (at_ < text_.size() && starts_name(text_[at_]))
      while (at_ < text_.size() && (starts_name(text_[at_]) || is_digit(text_[at_]))) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  Result<Value> primary() {
    skip();
    if (at_ >= text_.size()) return syntax("the text ends");
    const char c = text_[at_];
    if (c == '(') {
      ++at_;
      RLDB_TRY(Value v, disjunction());
      if (!take(")")) return syntax("`)` is missing");
      return v;
    }
    if (c == '"' || c == '\'') return string(c);
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) return number();
    const std::string_view name = word();
    if (name.empty()) return syntax("a value is wanted");
    if (name == "True" || name == "False") return Value::of_bool(name == "True");
    if (name == "inf") return Value::of_float(std::numeric_limits<double>::infinity());
    if (!live_) return Value();
    return lookup_(name);
  }
  Result<Value> string(char quote) {
    const auto end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return syntax("the string has no end");
    std::string text(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return Value::of_string(std::move(text));
  }
  Result<Value> number() {
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    std::int64_t integer = 0;
    const auto i = std::from_chars(begin, end, integer);
    double real = 0;
    const auto f = std::from_chars(begin, end, real);
    if (f.ec != std::errc() && i.ec != std::errc()) return syntax("the number is too large");
    const bool is_int = i.ec == std::errc() && i.ptr == f.ptr;
    at_ += std::size_t((is_int ? i.ptr : f.ptr) - begin);
    if (at_ < text_.size() && starts_name(text_[at_])) return syntax("a number is followed by a letter");
    return is_int ? Value::of_int(integer) : Value::of_float(real);
  }

  std::string_view text_;
  const NameLookup& lookup_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool live_ = true;
};

}  // namespace

Result<bool> truth(const Value& value) {
  RLDB_TRY(const Value v, scalar(value));
  return v.is(ValueKind::Float) ? v.as_float() != 0 : v.as_int() != 0;
}

Result<Value> evaluate_expression(std::string_view text, const NameLookup& lookup) {
  constexpr std::size_t kMaxText = 1 << 16;
  if (text.size() > kMaxText) return fail(ErrorKind::Unsupported, "the expression is too long");
  return Reader(text, lookup).read();
}

}  // namespace rldb::debug
