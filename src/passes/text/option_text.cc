// A reader for the few forms that options need. Nesting is bounded, so that a text cannot exhaust the stack.
#include "passes/text/option_text.h"

#include <cctype>
#include <charconv>

#include "rldb/ir/scalar.h"
#include "rldb/support/text.h"

namespace rldb::passes {

using namespace ir;
using support::trim;

namespace {

constexpr int kMaxDepth = 32;

// `+ - * // %` of integers and names, with Python's precedence.
class ScalarParser {
 public:
  ScalarParser(Context& ctx, NamedVars& names, std::string_view text) : ctx_(ctx), names_(names), text_(text) {}

  const Expr* parse() {
    const Expr* e = sum(0);
    skip();
    return at_ == text_.size() ? e : nullptr;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(std::string_view what) {
    skip();
    if (text_.substr(at_, what.size()) != what) return false;
    at_ += what.size();
    return true;
  }

  const Expr* sum(int depth) {
    const Expr* left = product(depth);
    while (left) {
      const bool plus = take("+");
      if (!plus && !take("-")) return left;
      const Expr* right = product(depth);
      left = !right ? nullptr : plus ? add(ctx_, left, right) : sub(ctx_, left, right);
    }
    return nullptr;
  }

  const Expr* product(int depth) {
    const Expr* left = atom(depth);
    while (left) {
      const bool divided = take("//"), rest = !divided && take("%");
      if (!divided && !rest && !take("*")) return left;
      const Expr* right = atom(depth);
      if (!right || ((divided || rest) && is_const(right, 0))) return nullptr;
      left = divided ? floor_div(ctx_, left, right) : rest ? floor_mod(ctx_, left, right) : mul(ctx_, left, right);
    }
    return nullptr;
  }

  const Expr* atom(int depth) {
    if (depth > kMaxDepth) return nullptr;
    skip();
    if (take("(")) {
      const Expr* inner = sum(depth + 1);
      return inner && take(")") ? inner : nullptr;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' || text_[at_] == '.'))
      ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) return nullptr;
    if (std::isdigit(static_cast<unsigned char>(word[0]))) return number(word);
    if (word.starts_with("T.int")) {  // T.int64(4)
      const Expr* inner = take("(") ? sum(depth + 1) : nullptr;
      return inner && take(")") ? inner : nullptr;
    }
    if (word.find('.') != std::string_view::npos) return nullptr;
    const auto [found, is_new] = names_.try_emplace(ctx_.str(word), nullptr);
    if (is_new) found->second = ctx_.var(word, ctx_.int64());
    return found->second;
  }

  const Expr* number(std::string_view word) {
    std::int64_t value = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
    return read.ec == std::errc() && read.ptr == word.data() + word.size() ? ctx_.i64(value) : nullptr;
  }

  Context& ctx_;
  NamedVars& names_;
  std::string_view text_;
  std::size_t at_ = 0;
};

// `name(items)`; nullopt when the text is not a call.
struct CallText {
  std::string_view name;
  std::vector<std::string_view> items;
};
std::optional<CallText> call_text(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return std::nullopt;
  return CallText{trim(text.substr(0, open)), split_items(text.substr(open + 1, text.size() - open - 2))};
}

// The value of `key=value`; nullopt for any other item.
std::optional<std::string_view> keyword(std::string_view item, std::string_view key) {
  if (!item.starts_with(key)) return std::nullopt;
  item = trim(item.substr(key.size()));
  return item.starts_with('=') ? std::optional(trim(item.substr(1))) : std::nullopt;
}

}  // namespace

const Expr* OptionReader::scalar(std::string_view text) { return ScalarParser(ctx_, names_, trim(text)).parse(); }

std::optional<std::vector<const Expr*>> OptionReader::dims(std::string_view text) {
  text = trim(text);
  const bool listed =
      text.size() >= 2 && ((text.front() == '(' && text.back() == ')') || (text.front() == '[' && text.back() == ']'));
  if (!listed) return std::nullopt;
  std::vector<const Expr*> out;
  for (const std::string_view item : split_items(text.substr(1, text.size() - 2))) {
    out.push_back(scalar(unquote(item)));
    if (!out.back()) return std::nullopt;
  }
  return out;
}

const Type* OptionReader::tensor(const std::vector<std::string_view>& items) {
  std::optional<std::vector<const Expr*>> shape;
  DType dtype = DType::Void();
  int ndim = kUnknownNdim;
  for (std::string_view item : items) {
    if (const auto n = keyword(item, "ndim")) {
      const auto read = std::from_chars(n->data(), n->data() + n->size(), ndim);
      if (read.ec != std::errc() || read.ptr != n->data() + n->size() || ndim < -1) return nullptr;
      continue;
    }
    if (const auto given = keyword(item, "shape")) item = *given;
    if (const auto given = keyword(item, "dtype")) item = *given;
    if (item.starts_with('(') || item.starts_with('[')) {
      shape = dims(item);
      if (!shape) return nullptr;
    } else {
      const auto read = runtime::parse_dtype(unquote(item));
      if (!read) return nullptr;
      dtype = *read;
    }
  }
  return shape ? ctx_.tensor(*shape, dtype) : ctx_.tensor_ndim(ndim, dtype);
}

const Type* OptionReader::type(std::string_view text, int depth) {
  text = trim(text);
  if (depth > kMaxDepth) return nullptr;
  if (text == "R.Any" || text == "R.Object") return ctx_.any();
  if (text == "R.Tensor") return ctx_.tensor_ndim(kUnknownNdim, DType::Void());
  if (text.starts_with("T.")) {
    const auto dtype = runtime::parse_dtype(text.substr(2));
    return dtype ? ctx_.prim(*dtype) : nullptr;
  }
  const auto call = call_text(text);
  if (!call) return nullptr;
  if (call->name == "R.Tensor") return tensor(call->items);
  if (call->name == "R.Shape") {
    const auto values = call->items.size() == 1 ? dims(call->items[0]) : std::nullopt;
    return values ? ctx_.shape_type(*values) : nullptr;
  }
  if (call->name == "R.Prim") {
    const auto dtype = call->items.size() == 1 ? runtime::parse_dtype(unquote(call->items[0])) : std::nullopt;
    return dtype ? ctx_.prim(*dtype) : nullptr;
  }
  if (call->name != "R.Tuple") return nullptr;
  std::vector<const Type*> fields;
  for (const std::string_view item : call->items) {
    fields.push_back(type(item, depth + 1));
    if (!fields.back()) return nullptr;
  }
  return ctx_.tuple_type(fields);
}

const Lambda* OptionReader::index_map(std::string_view text) {
  text = trim(text);
  if (text.starts_with("T.index_map(") && text.ends_with(')')) {
    text = text.substr(text.find('(') + 1);
    text = trim(text.substr(0, text.size() - 1));
  }
  constexpr std::string_view kLambda = "lambda ";
  const std::size_t colon = text.find(':');
  if (!text.starts_with(kLambda) || colon == std::string_view::npos) return nullptr;
  NamedVars own;
  std::vector<const Var*> params;
  for (const std::string_view name : split_items(text.substr(kLambda.size(), colon - kLambda.size()))) {
    params.push_back(ctx_.var(name, ctx_.int64()));
    own[ctx_.str(name)] = params.back();
  }
  const std::size_t known = own.size();
  std::string_view body = trim(text.substr(colon + 1));
  std::vector<std::string_view> parts = split_items(body);
  const bool listed =
      body.size() >= 2 && ((body.front() == '(' && body.back() == ')') || (body.front() == '[' && body.back() == ']'));
  if (parts.size() == 1 && listed) {
    // `(i, j)`, `(i,)` and `[i]` are lists; `(i + 1) * (j + 1)` and `(i)` are not.
    const std::string_view inside = trim(body.substr(1, body.size() - 2));
    const auto items = split_items(inside);
    if (items.size() > 1 || inside.ends_with(',') || body.front() == '[') parts = items;
  }
  std::vector<const Expr*> results;
  for (const std::string_view part : parts) {
    results.push_back(ScalarParser(ctx_, own, part).parse());
    if (!results.back()) return nullptr;
  }
  // Names other than the indices are not allowed.
  return own.size() == known && known == params.size() && !results.empty() ? ctx_.lambda(params, results) : nullptr;
}

}  // namespace rldb::passes
