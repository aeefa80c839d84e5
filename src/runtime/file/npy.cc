// .npy, versions 1 to 3: a magic, a Python dict literal, raw elements.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "rldb/runtime/tensor_export.h"
#include "rldb/support/cancel.h"
#include "runtime/file/bytes.h"

namespace rldb::runtime {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// How a file stores its elements.
struct Layout {
  std::string descr;
  bool fortran = false;
  std::vector<std::int64_t> shape;
};

// The header is a Python dict with three known keys; only that much of Python is read.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  // Empty when the header is not of the known form; `why` then tells what was wrong.
  std::optional<Layout> parse(std::string& why) {
    Layout layout;
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    if (!eat('{')) return give_up(why, "it is not a dict");
    while (!eat('}')) {
      const auto key = string();
      if (!key || !eat(':')) return give_up(why, "a key is not a string");
      if (*key == "descr") {
        if (peek() == '[' || peek() == '(') return give_up(why, "structured elements are unsupported");
        const auto descr = string();
        if (!descr) return give_up(why, "`descr` is not a string");
        layout.descr = *descr;
        has_descr = true;
      } else if (*key == "fortran_order") {
        if (!word("True", layout.fortran, true) && !word("False", layout.fortran, false)) {
          return give_up(why, "`fortran_order` is not a bool");
        }
        has_order = true;
      } else if (*key == "shape") {
        if (!shape(layout.shape)) return give_up(why, "`shape` is not a tuple of sizes");
        has_shape = true;
      } else {
        return give_up(why, fmt::format("the key `{}` is unknown", *key));
      }
      if (!eat(',') && peek() != '}') return give_up(why, "a comma is missing");
    }
    if (!has_descr || !has_order || !has_shape) {
      return give_up(why, "one of `descr`, `fortran_order`, `shape` is missing");
    }
    return layout;
  }

 private:
  static std::optional<Layout> give_up(std::string& why, std::string reason) {
    why = std::move(reason);
    return {};
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool eat(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  std::optional<std::string> string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return {};
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return {};
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  bool word(std::string_view expected, bool& out, bool value) {
    peek();
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    out = value;
    return true;
  }
  bool shape(std::vector<std::int64_t>& dims) {
    if (!eat('(')) return false;
    while (!eat(')')) {
      peek();
      std::int64_t dim = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), dim);
      if (error != std::errc() || dim < 0) return false;
      at_ += static_cast<std::size_t>(end - begin);
      eat('L');  // Python 2 wrote long integers so
      dims.push_back(dim);
      if (!eat(',') && peek() != ')') return false;
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

struct Element {
  DType dtype;
  bool swap = false;
};

// Floats in whole bytes that NumPy itself lacks.
bool has_own_name(DType t) { return (t.is_bfloat16() || t.is_float8()) && t.is_scalar(); }

// "<f4" and friends; formats of NumPy's that we cannot represent are named.
Result<Element> element_of(std::string_view descr, std::string_view name) {
  const auto unsupported = [&](std::string_view what) {
    return fail(ErrorKind::Unsupported, fmt::format("`{}`: dtype `{}` is {}", name, descr, what));
  };
  std::string_view rest = descr;
  Element e;
  if (!rest.empty() && std::string_view("<>=|").find(rest[0]) != std::string_view::npos) {
    e.swap = rest[0] == '>';
    rest.remove_prefix(1);
  }
  if (rest.empty()) return bad_file(name, "an empty dtype");
  // ml_dtypes' names are those of TVM.
  if (const auto named = parse_dtype(descr); named && has_own_name(*named)) return Element{*named};
  int size = 0;
  const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), size);
  const bool sized = error == std::errc() && end == rest.data() + rest.size();
  const bool integer_size = size == 1 || size == 2 || size == 4 || size == 8;
  switch (rest[0]) {
    case 'O':
      return unsupported("Python objects (a pickle), which is never read");
    case 'f':
      if (!sized || (size != 2 && size != 4 && size != 8)) return unsupported("unsupported");
      e.dtype = DType::Float(size * 8);
      return e;
    case 'i':
      if (!sized || !integer_size) return unsupported("unsupported");
      e.dtype = DType::Int(size * 8);
      return e;
    case 'u':
      if (!sized || !integer_size) return unsupported("unsupported");
      e.dtype = DType::UInt(size * 8);
      return e;
    case 'b':
      if (!sized || size != 1) return unsupported("unsupported");
      e.dtype = DType::Bool();
      return e;
    case 'V':
      // How NumPy saves formats unknown to it, bfloat16 and float8 among them: as bits.
      if (!sized || (size != 1 && size != 2)) return unsupported("opaque bytes");
      e.dtype = DType::UInt(size * 8);
      return e;
    case 'c':
      return unsupported("complex, which is unsupported");
    case 'U':
    case 'S':
    case 'a':
      return unsupported("text, not numbers");
    case 'M':
    case 'm':
      return unsupported("a date or time, which is unsupported");
    default:
      return unsupported("unknown");
  }
}

void copy_swapped(std::byte* to, const char* from, std::size_t count, std::size_t size) {
  for (std::size_t i = 0; i < count; ++i) {
    support::poll();
    for (std::size_t b = 0; b < size; ++b) {
      to[i * size + b] = std::byte(from[i * size + (size - 1 - b)]);
    }
  }
}

// Column-major to row-major, walking the result in order.
Result<Ref<Tensor>> to_row_major(const Tensor& columns) {
  const auto& shape = columns.shape();
  RLDB_TRY(auto out, Tensor::empty(shape, columns.dtype()));
  const std::size_t size = columns.dtype().bytes();
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = 1; i < shape.size(); ++i) strides[i] = strides[i - 1] * shape[i - 1];
  std::vector<std::int64_t> index(shape.size(), 0);
  std::int64_t from = 0;
  const std::int64_t count = out->element_count();
  for (std::int64_t to = 0; to < count; ++to) {
    support::poll();
    std::memcpy(out->data() + std::size_t(to) * size, columns.data() + std::size_t(from) * size, size);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < shape[axis]) break;
      from -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return out;
}

}  // namespace

Result<Value> read_npy(std::string_view bytes, std::string_view name) {
  if (!bytes.starts_with(kMagic)) return bad_file(name, "not a .npy file (the magic bytes are missing)");
  if (bytes.size() < 10) return bad_file(name, "the file ends inside the header");
  const int major = static_cast<unsigned char>(bytes[6]);
  if (major < 1 || major > 3) return bad_file(name, fmt::format("format version {} is unknown", major));
  const std::size_t length_size = major == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_size) return bad_file(name, "the file ends inside the header");
  const std::uint64_t length = read_little(bytes, 8, length_size);
  const std::size_t start = 8 + length_size;
  if (length > bytes.size() - start) return bad_file(name, "the file ends inside the header");

  std::string why;
  const auto layout = HeaderParser(bytes.substr(start, length)).parse(why);
  if (!layout) return bad_file(name, "the header cannot be read: " + why);
  RLDB_TRY(const Element element, element_of(layout->descr, name));

  // The size is checked against the file before memory is allocated.
  const std::string_view data = bytes.substr(start + length);
  const std::size_t size = element.dtype.bytes();
  const auto wanted = byte_count(layout->shape, size);
  if (!wanted || *wanted > data.size()) {
    return bad_file(name, fmt::format("shape ({}) of `{}` does not fit into the {} bytes of data",
                                      fmt::join(layout->shape, ", "), layout->descr, data.size()));
  }
  if (*wanted < data.size()) {
    return bad_file(name, fmt::format("{} bytes after the array", data.size() - *wanted));
  }
  RLDB_TRY(auto tensor, Tensor::empty(layout->shape, element.dtype));
  if (element.swap && size > 1) {
    copy_swapped(tensor->data(), data.data(), *wanted / size, size);
  } else if (*wanted > 0) {
    std::memcpy(tensor->data(), data.data(), *wanted);
  }
  if (layout->fortran && layout->shape.size() > 1) {
    RLDB_TRY(tensor, to_row_major(*tensor));
  }
  return Value(std::move(tensor));
}

namespace {

std::string npy_text(const Tensor& tensor, bool named) {
  const DType t = tensor.dtype();
  const std::size_t element = t.element().bytes();
  std::vector<std::int64_t> shape = tensor.shape();
  // Lanes become a last axis, when each lane has bytes of its own; narrow floats become their bits.
  const bool split_lanes = !t.is_scalar() && t.bits % 8 == 0;
  if (split_lanes) shape.push_back(t.lanes);
  const std::size_t size = split_lanes ? element : t.bytes();
  char kind = 'u';
  if (t.is_bool()) kind = 'b';
  if (t.is_int() && t.bits >= 8) kind = 'i';
  if (t.code == TypeCode::Float) kind = 'f';
  const bool known = size == 1 || size == 2 || size == 4 || size == 8;
  const DType one = split_lanes ? t.element() : t;
  const std::string descr = named && has_own_name(one)
                                ? to_string(one)
                                : fmt::format("{}{}{}", size == 1 ? '|' : '<', known ? kind : 'V', size);

  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const bool small = header.size() + 75 < 65536;
  const std::size_t prefix = kMagic.size() + 2 + (small ? 2 : 4);
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header += '\n';
  std::string out(kMagic);
  out += small ? '\x01' : '\x02';
  out += '\0';
  append_little(out, header.size(), small ? 2 : 4);
  out += header;
  out.append(reinterpret_cast<const char*>(tensor.peek()), tensor.byte_size());
  return out;
}

}  // namespace

std::string write_npy(const Tensor& tensor) { return npy_text(tensor, false); }
std::string export_npy(const Tensor& tensor) { return npy_text(tensor, true); }

}  // namespace rldb::runtime
