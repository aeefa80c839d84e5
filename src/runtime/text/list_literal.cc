// Elements, and nested lists of them: `[[1, 2], [3, 4]]` as Python or NumPy writes it.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "rldb/runtime/tensor_file.h"
#include "rldb/support/cancel.h"
#include "rldb/support/number_literal.h"
#include "runtime/text/literal.h"

namespace rldb::runtime {

namespace {

// The elements in order, and the shape given by the brackets. Flat: no recursion.
class ListReader {
 public:
  explicit ListReader(std::string_view text) : text_(text) {}

  Result<support::Unit> read() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_blank(c)) {
        ++at_;
      } else if (c == ',') {
        if (!after_item_) return bad_literal("a comma without an element before it");
        after_item_ = false;
        ++at_;
      } else if (c == '[') {
        RLDB_TRY_VOID(open());
      } else if (c == ']') {
        RLDB_TRY_VOID(close());
      } else {
        RLDB_TRY_VOID(element());
      }
    }
    if (!open_.empty()) return bad_literal("a `]` is missing");
    if (!done_) return bad_literal("an empty list literal");
    return support::Unit{};
  }

  const std::vector<std::int64_t>& shape() const { return shape_; }
  const std::vector<std::string_view>& elements() const { return elements_; }

 private:
  Result<support::Unit> open() {
    if (done_) return bad_literal("text after the list");
    if (open_.size() >= std::size_t(kMaxLiteralDepth))
      return bad_literal(fmt::format("lists nested deeper than {}", kMaxLiteralDepth));
    if (leaf_depth_ != 0 && open_.size() >= leaf_depth_) return bad_literal("a list among elements");
    open_.push_back(0);
    if (shape_.size() < open_.size()) shape_.push_back(-1);
    after_item_ = false;
    ++at_;
    return support::Unit{};
  }

  Result<support::Unit> close() {
    if (open_.empty()) return bad_literal("a `]` too many");
    const std::size_t depth = open_.size();
    std::int64_t& size = shape_[depth - 1];
    if (size >= 0 && size != open_.back()) {
      return fail(ErrorKind::ShapeMismatch, fmt::format("lists of {} and of {} side by side", size, open_.back()));
    }
    size = open_.back();
    // An empty list has no lists inside, and no sibling of it may have.
    if (size == 0 && leaf_depth_ == 0) leaf_depth_ = depth;
    if (size == 0 && leaf_depth_ != depth) return bad_literal("a list among elements");
    open_.pop_back();
    if (open_.empty()) {
      done_ = true;
    } else {
      ++open_.back();
    }
    after_item_ = true;
    ++at_;
    return support::Unit{};
  }

  Result<support::Unit> element() {
    if (done_) return bad_literal("text after the list");
    if (open_.empty()) return bad_literal("a list literal starts with `[`");
    if (leaf_depth_ == 0) leaf_depth_ = open_.size();
    if (leaf_depth_ != open_.size() || shape_.size() != open_.size()) return bad_literal("an element among lists");
    const std::size_t begin = at_;
    while (at_ < text_.size() && !is_blank(text_[at_]) && text_[at_] != ',' && text_[at_] != '[' && text_[at_] != ']') {
      ++at_;
    }
    elements_.push_back(text_.substr(begin, at_ - begin));
    ++open_.back();
    after_item_ = true;
    return support::Unit{};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::int64_t> open_;   // number of items so far in each open list
  std::vector<std::int64_t> shape_;  // by depth; -1 until the first list of that depth is closed
  std::vector<std::string_view> elements_;
  std::size_t leaf_depth_ = 0;  // how many brackets are around an element; 0 until known
  bool after_item_ = false;
  bool done_ = false;
};

bool integer_fits(std::int64_t v, DType t) {
  if (t.bits >= 64) return !t.is_uint() || v >= 0;
  if (t.is_uint()) return v >= 0 && v < (std::int64_t(1) << t.bits);
  const std::int64_t half = std::int64_t(1) << (t.bits - 1);
  return v >= -half && v < half;
}

}  // namespace

namespace {

// Takes the sign off; what is left is Python's. Underscores stand between digits.
bool take_sign(std::string_view& text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  return negative;
}
bool may_be_python(std::string_view digits) {
  return !digits.empty() && digits[0] >= '0' && digits[0] <= '9' && !digits.ends_with('_') &&
         digits.find("__") == std::string_view::npos;
}

}  // namespace

bool parse_python(std::string_view text, std::int64_t& out) {
  const bool negative = take_sign(text);
  bool too_big = false;
  const auto value = may_be_python(text) ? support::read_integer(text, too_big) : std::nullopt;
  if (value) out = negative ? -*value : *value;
  return value.has_value();
}

bool parse_python(std::string_view text, double& out) {
  std::int64_t whole = 0;
  if (parse_python(text, whole)) return out = double(whole), true;
  const bool negative = take_sign(text);
  const bool decimal = text.find('_') != std::string_view::npos && text.find_first_of("xX") == std::string_view::npos;
  const auto value = decimal && may_be_python(text) ? support::read_float(text) : std::nullopt;
  if (value) out = negative ? -*value : *value;
  return value.has_value();
}

Result<support::Unit> store_element(std::string_view text, DType t, void* to) {
  const auto wrong = [&](std::string_view why) {
    return bad_literal(fmt::format("`{}` {} `{}`", support::one_line(text, kShownText), why, to_string(t)));
  };
  const bool is_true = text == "True" || text == "true";
  const bool is_false = text == "False" || text == "false";
  if (t.is_float()) {
    double v = 0;
    if (is_true || is_false || !parse_all(text, v)) return wrong("is not a number of");
    store_double(to, t, v);
    if (std::isfinite(v) && !std::isfinite(load_as_double(static_cast<const std::byte*>(to), t)))
      return wrong("does not fit into");
    return support::Unit{};
  }
  std::int64_t v = is_true ? 1 : 0;
  std::uint64_t u = 0;
  if (t.is_bool()) {
    if (!is_true && !is_false && (!parse_all(text, v) || (v != 0 && v != 1))) {
      return wrong("is not a value of");
    }
  } else if (is_true || is_false) {
    return wrong("is not a number of");
  } else if (t.is_uint() && t.bits == 64 && parse_all(text, u)) {
    v = static_cast<std::int64_t>(u);
  } else if (!parse_all(text, v)) {
    return wrong("is not an integer that fits into");
  } else if (!integer_fits(v, t)) {
    return wrong("does not fit into");
  }
  store_int(to, t, v);
  return support::Unit{};
}

Result<Value> parse_list(std::string_view text, DType dtype) {
  if (!dtype.is_scalar() || dtype.code == TypeCode::Handle) {
    return fail(ErrorKind::Unsupported, fmt::format("a literal of dtype `{}`", to_string(dtype)));
  }
  ListReader reader(text);
  RLDB_TRY_VOID(reader.read());
  RLDB_TRY(auto tensor, Tensor::empty(reader.shape(), dtype));
  std::byte* to = tensor->data();
  for (const std::string_view element : reader.elements()) {
    RLDB_TRY_VOID(store_element(element, dtype, to));
    to += dtype.bytes();
  }
  return Value(std::move(tensor));
}

namespace {

std::optional<Value> number_of_text(std::string_view text) {
  if (text == "True" || text == "true") return Value::of_bool(true);
  if (text == "False" || text == "false") return Value::of_bool(false);
  std::int64_t integer = 0;
  if (parse_all(text, integer)) return Value::of_int(integer);
  double number = 0;
  if (parse_all(text, number)) return Value::of_float(number);
  return std::nullopt;
}

// The elements from `at` on, as lists of the dims from `depth` on.
Result<Value> nested(const ListReader& list, std::size_t depth, std::size_t& at) {
  if (depth == list.shape().size()) {
    const std::string_view text = list.elements()[at++];
    if (auto number = number_of_text(text)) return *std::move(number);
    return bad_literal(fmt::format("`{}` is not a number", support::one_line(text, kShownText)));
  }
  std::vector<Value> fields;
  for (std::int64_t i = 0; i < list.shape()[depth]; ++i) {
    support::poll();
    RLDB_TRY(Value field, nested(list, depth + 1, at));
    fields.push_back(std::move(field));
  }
  return Value::of_tuple(std::move(fields));
}

}  // namespace

bool is_number_text(std::string_view text) { return number_of_text(text).has_value(); }

Result<Value> parse_plain_list(std::string_view text) {
  ListReader reader(text);
  RLDB_TRY_VOID(reader.read());
  std::size_t at = 0;
  return nested(reader, 0, at);
}

}  // namespace rldb::runtime
