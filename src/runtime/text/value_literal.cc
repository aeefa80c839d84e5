// Values as a user types them at the prompt and in --input, and files by name.
#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "rldb/runtime/object_value.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/runtime/threads.h"
#include "rldb/support/cancel.h"
#include "runtime/text/literal.h"
#include "runtime/value/small_float.h"

namespace rldb::runtime {

namespace {

struct ShortName {
  std::string_view name;
  DType dtype;
};
constexpr std::array kShortNames = std::to_array<ShortName>({
    {"f16", DType::Float(16)},
    {"bf16", DType::BFloat16()},
    {"f32", DType::Float(32)},
    {"f64", DType::Float(64)},
    {"i8", DType::Int(8)},
    {"i16", DType::Int(16)},
    {"i32", DType::Int(32)},
    {"i64", DType::Int(64)},
    {"u8", DType::UInt(8)},
    {"u16", DType::UInt(16)},
    {"u32", DType::UInt(32)},
    {"u64", DType::UInt(64)},
    {"i1", DType::Bool()},
    {"f8e4m3fn", {TypeCode::Float8E4M3FN, 8, 1}},
    {"f8e5m2", {TypeCode::Float8E5M2, 8, 1}},
});

std::optional<DType> dtype_named(std::string_view name) {
  for (const ShortName& row : kShortNames) {
    if (row.name == name) return row.dtype;
  }
  if (name.empty() || name == "void") return {};
  return parse_dtype(name);
}

struct TypeText {
  std::vector<std::int64_t> shape;
  DType dtype;
};

// "2x3xf32", "f32".
Result<TypeText> parse_type(std::string_view text) {
  TypeText type;
  std::string_view rest = text;
  while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') {
    const std::size_t x = rest.find('x');
    std::int64_t dim = 0;
    if (x == std::string_view::npos || !parse_all(rest.substr(0, x), dim)) {
      return bad_literal(
          fmt::format("`{}` is not a tensor type such as `2x3xf32`", support::one_line(text, kShownText)));
    }
    type.shape.push_back(dim);
    rest.remove_prefix(x + 1);
  }
  const auto dtype = dtype_named(rest);
  if (!dtype)
    return bad_literal(fmt::format("`{}`: `{}` is not a dtype", support::one_line(text, kShownText),
                                   support::one_line(rest, kShownText)));
  if (!dtype->is_scalar() || dtype->is_handle()) {
    return fail(ErrorKind::Unsupported, fmt::format("a literal of dtype `{}`", to_string(*dtype)));
  }
  type.dtype = *dtype;
  return type;
}

Result<Value> from_list(const TypeText& type, std::string_view list) {
  // The elements are counted before memory is allocated: `99999999999xf32=1` is a short text.
  std::int64_t given = 1;
  for (const char c : list) given += c == ',';
  std::int64_t wanted = 1;
  bool overflow = false;
  for (const std::int64_t dim : type.shape) overflow |= __builtin_mul_overflow(wanted, dim, &wanted);
  for (const std::int64_t dim : type.shape) {
    if (dim == 0) wanted = 0, overflow = false;
  }
  if (trim(list).empty()) given = 0;
  if (overflow || given != wanted) {
    return fail(ErrorKind::ShapeMismatch,
                fmt::format("shape ({}{}) takes {} elements, got {}", fmt::join(type.shape, ", "),
                            type.shape.size() == 1 ? "," : "", overflow ? "too many" : std::to_string(wanted), given));
  }
  RLDB_TRY(auto tensor, Tensor::empty(type.shape, type.dtype));
  for (std::int64_t i = 0; i < wanted; ++i) {
    const std::size_t comma = std::min(list.find(','), list.size());
    RLDB_TRY_VOID(
        store_element(trim(list.substr(0, comma)), type.dtype, tensor->data() + std::size_t(i) * type.dtype.bytes()));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return Value(std::move(tensor));
}

// "2x2xf32=[[1, 2], [3, 4]]": the brackets must have the same shape.
Result<Value> from_nested_list(const TypeText& type, std::string_view list) {
  RLDB_TRY(Value value, parse_list(list, type.dtype));
  if (value.as_tensor().shape() == type.shape) return value;
  return fail(ErrorKind::ShapeMismatch, fmt::format("the list is {}, expected shape ({}{})", describe(value),
                                                    fmt::join(type.shape, ", "), type.shape.size() == 1 ? "," : ""));
}

// zeros, ones, arange: element i is start + i * step.
Result<Value> ramp(const TypeText& type, double start, double step) {
  RLDB_TRY(auto tensor, Tensor::empty(type.shape, type.dtype));
  const std::int64_t n = tensor->element_count();
  for (std::int64_t i = 0; i < n; ++i) {
    support::poll();
    store_double(tensor->data() + std::size_t(i) * type.dtype.bytes(), type.dtype, start + step * double(i));
  }
  return Value(std::move(tensor));
}

// "rand", "rand()", "rand(seed=1)", "rand(1)".
Result<Value> parse_rand(const TypeText& type, std::string_view text) {
  std::uint64_t seed = 0;
  std::string_view inside = text.substr(4);
  const bool plain = inside.empty() || inside == "()";
  if (!plain) {
    const bool closed = inside.starts_with('(') && inside.ends_with(')') && inside.size() >= 2;
    inside = closed ? trim(inside.substr(1, inside.size() - 2)) : std::string_view();
    if (inside.starts_with("seed")) {
      inside = trim(inside.substr(4));
      inside = inside.starts_with('=') ? trim(inside.substr(1)) : std::string_view();
    }
    if (!parse_all(inside, seed))
      return bad_literal(fmt::format("`{}`: expected `rand(seed=N)`", support::one_line(text, kShownText)));
  }
  return random_tensor(type.shape, type.dtype, seed);
}

Result<Value> from_file(const TypeText& type, std::string_view path) {
  RLDB_TRY(Value value, load_tensor(path));
  if (value.as_tensor().dtype() != type.dtype) {
    RLDB_TRY(value, reinterpret_as(value, type.dtype));
  }
  if (value.as_tensor().shape() != type.shape) {
    return fail(ErrorKind::ShapeMismatch, fmt::format("`{}` holds {}, expected shape ({}{})", path, describe(value),
                                                      fmt::join(type.shape, ", "), type.shape.size() == 1 ? "," : ""));
  }
  return value;
}

Result<Value> parse_tensor(std::string_view left, std::string_view right) {
  RLDB_TRY(const TypeText type, parse_type(left));
  if (right.starts_with('@')) return from_file(type, right.substr(1));
  if (right == "zeros") return ramp(type, 0, 0);
  if (right == "ones") return ramp(type, 1, 0);
  if (right == "arange") return ramp(type, 0, 1);
  if (right.starts_with("rand")) return parse_rand(type, right);
  if (right.starts_with('[')) return from_nested_list(type, right);
  return from_list(type, right);
}

// The pieces of a tuple's inside, cut at the separators of this level.
std::vector<std::string_view> cut_fields(std::string_view inside, char separator) {
  std::vector<std::string_view> fields;
  int depth = 0;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    const char c = inside[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    depth += c == '(' || c == '[';
    depth -= c == ')' || c == ']';
    if (c == separator && depth == 0) {
      fields.push_back(trim(inside.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  // `(a;)` is a tuple of one.
  const std::string_view last = trim(inside.substr(begin));
  if (!last.empty()) fields.push_back(last);
  return fields;
}

// How many of the pieces cut at commas are one value: `2xf32=1, 2` takes as many as it has elements.
std::size_t pieces_of_value(std::string_view first) {
  const std::size_t equals = first.find('=');
  if (equals == std::string_view::npos) return 1;
  const auto type = parse_type(trim(first.substr(0, equals)));
  const std::string_view right = trim(first.substr(equals + 1));
  double number = 0;
  if (!type.ok() || !(parse_all(right, number) || right == "True" || right == "False")) return 1;
  std::size_t count = 1;
  for (const std::int64_t dim : type->shape)
    if (dim < 1 || __builtin_mul_overflow(count, std::size_t(dim), &count)) return 1;
  return count;
}

// `2xf32=ones, 3`, as Python has tuples: at least one field is a tensor with its type. Empty: it is something else.
std::vector<std::string_view> fields_by_commas(std::string_view inside) {
  const std::vector<std::string_view> pieces = cut_fields(inside, ',');
  std::vector<std::string_view> fields;
  bool typed = false;
  for (std::size_t i = 0; i < pieces.size();) {
    typed = typed || pieces[i].find('=') != std::string_view::npos;
    const std::size_t last = std::min(i + pieces_of_value(pieces[i]), pieces.size()) - 1;
    const char* end = pieces[last].data() + pieces[last].size();
    fields.emplace_back(pieces[i].data(), std::size_t(end - pieces[i].data()));
    i = last + 1;
  }
  if (!typed || (fields.size() == 1 && !inside.ends_with(','))) fields.clear();
  return fields;
}

Result<Value> parse_at(std::string_view text, int depth);

Result<Value> parse_tuple(std::string_view inside, int depth) {
  if (depth >= kMaxLiteralDepth) {
    return fail(ErrorKind::Unsupported, fmt::format("tuples nested deeper than {}", kMaxLiteralDepth));
  }
  std::vector<std::string_view> texts = cut_fields(inside, ';');
  if (texts.size() == 1 && texts[0].size() == trim(inside).size()) {  // no `;`
    const std::string_view whole = texts[0];
    texts = fields_by_commas(whole);
    if (texts.empty()) return parse_at(whole, depth + 1);
  }
  std::vector<Value> fields;
  for (const std::string_view field : texts) {
    RLDB_TRY(Value value, parse_at(field, depth + 1));
    fields.push_back(std::move(value));
  }
  return Value::of_tuple(std::move(fields));
}

Result<Value> parse_shape(std::string_view text, std::string_view inside) {
  std::vector<std::int64_t> dims;
  while (!trim(inside).empty()) {
    const std::size_t comma = std::min(inside.find(','), inside.size());
    std::int64_t dim = 0;
    if (!parse_all(trim(inside.substr(0, comma)), dim)) {
      return bad_literal(
          fmt::format("`{}`: expected integers, as in `shape(2, 3)`", support::one_line(text, kShownText)));
    }
    dims.push_back(dim);
    inside.remove_prefix(std::min(comma + 1, inside.size()));
  }
  return Value::of_shape(std::move(dims));
}

bool is_quoted(std::string_view text) {
  return text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
         text.find(text.front(), 1) == text.size() - 1;
}
std::string_view unquoted(std::string_view text) { return is_quoted(text) ? text.substr(1, text.size() - 2) : text; }

// The text in `name(...)` or `name("...")`; nullopt: it is no such call.
std::optional<std::string_view> argument_of(std::string_view text, std::string_view name) {
  if (!text.starts_with(name) || !text.ends_with(')')) return std::nullopt;
  text.remove_prefix(name.size());
  if (!text.starts_with('(')) return std::nullopt;
  return unquoted(trim(text.substr(1, text.size() - 2)));
}

Result<Value> parse_at(std::string_view text, int depth) {
  text = trim(text);
  if (text.empty()) return bad_literal("an empty value");
  if (text.starts_with('@')) return load_tensor(unquoted(text.substr(1)));
  if (text.starts_with("shape(") && text.ends_with(')')) {
    return parse_shape(text, text.substr(6, text.size() - 7));
  }
  if (const auto name = argument_of(text, "device")) {
    const auto device = parse_device(*name);
    if (!device)
      return bad_literal(
          fmt::format("`{}`: expected a device, as in `device(cuda:0)`", support::one_line(text, kShownText)));
    return Value::of_object(support::make_ref<DeviceValue>(*device));
  }
  if (const auto name = argument_of(text, "dtype")) {
    const auto dtype = dtype_named(*name);
    if (!dtype)
      return bad_literal(
          fmt::format("`{}`: expected a dtype, as in `dtype(float32)`", support::one_line(text, kShownText)));
    return Value::of_dtype(*dtype);
  }
  if (text.starts_with('(') && text.ends_with(')')) {
    return parse_tuple(text.substr(1, text.size() - 2), depth);
  }
  if (is_quoted(text)) return Value::of_string(std::string(unquoted(text)));
  if (text == "True" || text == "true") return Value::of_bool(true);
  if (text == "False" || text == "false") return Value::of_bool(false);
  if (text == "None" || text == "null") return Value::null();
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos) {
    return parse_tensor(trim(text.substr(0, equals)), trim(text.substr(equals + 1)));
  }
  std::int64_t integer = 0;
  if (parse_all(text, integer)) return Value::of_int(integer);
  double number = 0;
  if (parse_all(text, number)) return Value::of_float(number);
  return bad_literal(
      fmt::format("`{}` is not a value: expected `2x3xf32=...`, `@FILE`, a number, "
                  "`shape(2, 3)` or `(a; b)`",
                  support::one_line(text, kShownText)));
}

// --- random numbers -------------------------------------------------------------------------------

// SplitMix64: four lines, the same everywhere, good enough to fill a tensor. Number i depends on the seed and i only.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t first) : state_(seed + first * kStep) {}
  std::uint64_t next() {
    state_ += kStep;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15;
  std::uint64_t state_;
};

// Random numbers as the elements of a tensor, some at a time.
class Filling {
 public:
  Filling(Tensor& tensor, std::uint64_t seed) : tensor_(tensor), dtype_(tensor.dtype()), seed_(seed) {
    const SmallFloat* format = dtype_.is_float() ? small_float(dtype_) : nullptr;
    bits_ = (format ? format->mantissa_bits : 52) + 1;
    scale_ = std::ldexp(1.0, 1 - bits_);
    values_ = dtype_.is_bool() ? 2 : dtype_.bits < 4 ? 1 : dtype_.bits == 4 ? 8 : 10;
  }

  void fill(std::int64_t from, std::int64_t to) const {
    Random random(seed_, std::uint64_t(from));
    std::byte* at = tensor_.data() + std::size_t(from) * dtype_.bytes();
    if (dtype_ == DType::Float(32))
      fill_float32(random, to - from, at);
    else if (dtype_.is_float())
      each(from, to, at, [&](std::byte* place) { store_double(place, dtype_, draw_float(random)); });
    else
      each(from, to, at, [&](std::byte* place) {
        store_int(place, dtype_, static_cast<std::int64_t>((random.next() >> 32) * values_ >> 32));
      });
  }

 private:
  template <class Store>
  void each(std::int64_t from, std::int64_t to, std::byte* at, const Store& store) const {
    for (std::int64_t i = from; i < to; ++i, at += dtype_.bytes()) store(at);
  }
  // As draw_float does, exact in each step: the weights of a whole model may be made up.
  static void fill_float32(Random random, std::int64_t n, std::byte* at) {
    constexpr int kBits = 24;
    for (std::int64_t i = 0; i < n; ++i) {
      const float v = float(std::int32_t(random.next() >> (64 - kBits))) * 0x1p-23F - 1;
      std::memcpy(at + std::size_t(i) * sizeof v, &v, sizeof v);
    }
  }
  // A number in [-1, 1) that the format represents exactly, so that no rounding can reach 1.
  double draw_float(Random& random) const { return static_cast<double>(random.next() >> (64 - bits_)) * scale_ - 1; }

  Tensor& tensor_;
  DType dtype_;
  std::uint64_t seed_;
  int bits_;
  double scale_;
  std::uint64_t values_;
};

// All elements, by several threads where there are many. Between the rounds it can be cancelled.
void fill_random(Tensor& tensor, std::uint64_t seed) {
  constexpr std::int64_t kPiece = 1 << 16, kPieces = 64;
  const Filling filling(tensor, seed);
  const std::int64_t n = tensor.element_count();
  struct Round {
    const Filling& filling;
    std::int64_t from, to;
  };
  for (std::int64_t from = 0; from < n; from += kPiece * kPieces) {
    support::poll();
    Round round{filling, from, std::min(n, from + kPiece * kPieces)};
    const auto piece = [](void* context, std::size_t i) {
      const auto& r = *static_cast<const Round*>(context);
      const std::int64_t begin = r.from + std::int64_t(i) * kPiece;
      r.filling.fill(begin, std::min(begin + kPiece, r.to));
    };
    do_pieces(std::size_t((round.to - from - 1) / kPiece + 1), piece, &round);
  }
}

}  // namespace

Result<Value> random_tensor(std::vector<std::int64_t> shape, DType dtype, std::uint64_t seed) {
  // Float8E8M0FNU has neither zero nor negative numbers, so none of its values are uniform in [-1, 1).
  if (!dtype.is_scalar() || dtype.code == TypeCode::Handle || dtype.code == TypeCode::Float8E8M0FNU) {
    return fail(ErrorKind::Unsupported, fmt::format("random values of `{}`", to_string(dtype)));
  }
  RLDB_TRY(auto tensor, Tensor::empty(std::move(shape), dtype));
  fill_random(*tensor, seed);
  return Value(std::move(tensor));
}

Result<Value> reinterpret_as(const Value& value, DType dtype) {
  if (!value.is(ValueKind::Tensor)) {
    return bad_literal(fmt::format("expected a tensor of `{}`, got {}", to_string(dtype), describe(value)));
  }
  const Tensor& tensor = value.as_tensor();
  if (tensor.dtype() == dtype) return value;
  // Only the stand-ins that file formats use for floats unknown to them.
  const bool stand_in = tensor.dtype().is_uint() && tensor.dtype().is_scalar();
  if (!stand_in || !dtype.is_float() || tensor.dtype().bytes() != dtype.bytes()) {
    return bad_literal(fmt::format("expected a tensor of `{}`, got {}", to_string(dtype), describe(value)));
  }
  RLDB_TRY(auto view, Tensor::view(tensor.storage(), tensor.byte_offset(), tensor.shape(), dtype));
  return Value(std::move(view));
}

Result<Value> parse_value_literal(std::string_view text) { return parse_at(text, 0); }

}  // namespace rldb::runtime
