// Loads and stores. An access that is proved to be in bounds is an element of an array; any other goes through a
// function that tests its indices, reports a fault, and then leaves the access out.
#include <fmt/format.h>

#include "codegen/opencl/emit/emitter.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"

namespace rldb::codegen {

using ir::as;
using ir::DType;

namespace {

int lanes_in(DType t) { return std::max(1, int(t.lanes)); }

std::string text_of(const std::vector<std::string>& items, std::string_view separator) {
  std::string out;
  for (const std::string& i : items) out.append(out.empty() ? "" : separator).append(i);
  return out;
}

}  // namespace

const Emitter::Memory* Emitter::memory_of(const ir::Buffer* b) {
  if (memory_type(b->dtype).empty()) {
    refuse(fmt::format("buffer `{}` has elements of {}, which has no type in OpenCL C here", b->name,
                       to_string(b->dtype)));
    return nullptr;
  }
  if (b->dtype.code == runtime::TypeCode::Float && b->dtype.bits == 64) need_float64();
  return memory_of(b->data, b->name);
}

const Emitter::Memory* Emitter::memory_of(const ir::Var* data, std::string_view buffer) {
  if (const auto alias = program_.aliases.find(data); alias != program_.aliases.end()) data = alias->second;
  if (const auto it = memories_.find(data); it != memories_.end()) return &it->second;
  const auto parameter = parameters_.find(data);
  const auto outside = outside_.find(data);
  if (parameter == parameters_.end() && outside == outside_.end()) {
    refuse(fmt::format("buffer `{}` is over memory that is not known", buffer));
    return nullptr;
  }
  if (outside != outside_.end() && !is_host_memory(outside->second)) {
    // Memory of threads that is allocated around the launch: each launch has its own.
    allocate_for_launch(outside->second);
    const auto made = memories_.find(data);
    return made == memories_.end() ? nullptr : &made->second;
  }
  Memory m;
  m.space = Space::Global;
  const bool is_parameter = parameter != parameters_.end();
  const ir::Buffer* own = is_parameter ? parameter->second->buffer : nullptr;
  m.dtype = own ? own->dtype : is_parameter ? DType::UInt(8) : allocated_dtype(outside->second);
  if (own) {
    if (const auto count = constant_count(own)) m.bytes = *count * std::int64_t(own->dtype.bytes());
  } else if (!is_parameter) {
    m.bytes = allocated_bytes(outside->second);
  }
  m.name = names_.of(data, own ? own->name : buffer);
  if (!is_parameter) program_.temporaries.insert(data);
  argument({LaunchArgument::Kind::Memory, data});
  return &memories_.emplace(data, std::move(m)).first->second;
}

std::optional<std::int64_t> Emitter::constant_count(const ir::Buffer* b) {
  std::int64_t count = 1;
  for (const ir::Expr* d : b->shape) {
    const auto known = ir::const_int(d);
    if (!known || *known < 0 || __builtin_mul_overflow(count, *known, &count)) return std::nullopt;
  }
  return count;
}

// Elements that an allocation has: as many as its shape, or its strides, require.
std::optional<std::int64_t> Emitter::allocated_count(const ir::Buffer* b) {
  if (b->elem_offset && !ir::is_const(b->elem_offset, 0)) return std::nullopt;
  if (b->strides.empty()) return constant_count(b);
  std::int64_t last = 0, rows = 0;
  for (std::size_t i = 0; i < b->shape.size() && i < b->strides.size(); ++i) {
    const auto extent = ir::const_int(b->shape[i]), stride = ir::const_int(b->strides[i]);
    std::int64_t reach = 0;
    if (!extent || !stride || *extent < 1 || *stride < 0 || __builtin_mul_overflow(*extent - 1, *stride, &reach) ||
        __builtin_add_overflow(last, reach, &last) || (i == 0 && __builtin_mul_overflow(*extent, *stride, &rows)))
      return std::nullopt;
  }
  return std::max(last + 1, rows);
}

std::vector<std::string> Emitter::positions(ir::Span<const ir::Expr*> indices, int lane, int element_lanes) {
  std::vector<std::string> at;
  for (const ir::Expr* i : indices) {
    const int lanes = lanes_in(i->dtype());
    at.push_back(value(i, lanes > 1 ? lane / element_lanes % lanes : 0));
  }
  return at;
}

// Whether every index is known to lie within its dimension.
bool Emitter::inside(const ir::Buffer* b, ir::Span<const ir::Expr*> indices) {
  if (indices.size() != b->shape.size()) return false;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto extent = ir::const_int(b->shape[i]);
    const ir::Expr* index = indices[i];
    if (const auto known = ir::const_int(index)) {
      if (!extent || *known < 0 || *known >= *extent) return false;
      continue;
    }
    ir::Bounds bounds;
    if (const auto* r = as<ir::Ramp>(index)) {
      const auto stride = ir::const_int(r->stride);
      if (!stride || *stride < 0 || !r->base->dtype().is_scalar() ||
          !(as<ir::Var>(r->base) || fits_or_constant(r->base)))
        return false;
      bounds = bounds_of(r->base);
      if (bounds.max) *bounds.max += *stride * (lanes_in(index->dtype()) - 1);
    } else {
      if (!index->dtype().is_scalar() || !(as<ir::Var>(index) || fits(index))) return false;
      bounds = bounds_of(index);
    }
    if (!extent || !bounds.min || !bounds.max || *bounds.min < 0 || *bounds.max >= *extent) return false;
  }
  return true;
}

bool Emitter::fits_or_constant(const ir::Expr* e) { return ir::const_int(e).has_value() || fits(e); }

// Whether the buffer, as it is declared, ends within its memory.
bool Emitter::fits_memory(const ir::Buffer* b, const Memory& m) {
  if (const auto it = parameters_.find(b->data);
      it != parameters_.end() && it->second->buffer == b && b->strides.empty())
    return true;
  const auto count = allocated_count(b);
  if (!count) return false;
  return m.bytes && *count * std::int64_t(b->dtype.bytes()) <= *m.bytes;
}

// The number of an element in the memory: C text of indices -> C text, in 64 bits unless all is small.
std::string Emitter::position(const ir::Buffer* b, const std::vector<std::string>& at, int lane) {
  const auto count = constant_count(b);
  const bool small = count && *count < INT32_MAX / 16 && b->strides.empty();
  std::vector<std::string> parts;
  std::string stride;
  for (std::size_t i = at.size(); i-- > 0;) {
    std::string factor = b->strides.empty() ? stride : value(b->strides[i]);
    if (!factor.empty() && factor != "1")
      parts.insert(parts.begin(), fmt::format("{}{} * {}", small ? "(int)" : "(long)", at[i], factor));
    else if (at[i] != "0" || at.size() == 1)
      parts.insert(parts.begin(), at[i]);
    if (i == 0 || !b->strides.empty()) continue;
    const auto extent = ir::const_int(b->shape[i]);
    const std::string dim = extent ? fmt::format("{}", *extent) : fmt::format("(long){}", value(b->shape[i]));
    const auto before = stride.empty() ? std::optional<std::int64_t>(1) : parsed_count(stride);
    stride = extent && before ? fmt::format("{}", *extent * *before)
             : stride.empty() ? dim
                              : fmt::format("({} * {})", stride, dim);
  }
  if (b->elem_offset && !as<ir::Var>(b->elem_offset) && !ir::is_const(b->elem_offset, 0))
    parts.push_back("(long)" + value(b->elem_offset));
  std::string sum = parts.empty() ? "0" : text_of(parts, " + ");
  const int lanes = lanes_in(b->dtype);
  if (lanes == 1) return sum;
  return fmt::format("({}) * {} + {}", sum, lanes, lane % lanes);
}

std::optional<std::int64_t> Emitter::parsed_count(std::string_view text) {
  std::int64_t n = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || n > INT64_MAX / 16) return std::nullopt;
    n = n * 10 + (c - '0');
  }
  return n;
}

std::string Emitter::pointer(DType t, const Memory& m) {
  const bool own = memory_type(t) == memory_type(m.dtype);
  if (own) return m.name;
  static constexpr std::string_view kSpaces[] = {"global", "local", "private"};
  return fmt::format("((__{} {}*){})", kSpaces[std::size_t(m.space)], memory_type(t), m.name);
}

std::string Emitter::read_text(DType t, const Memory& m, const std::string& at) {
  static constexpr std::string_view kSpaces[] = {"global", "local", "private"};
  if (is_half(t)) return fmt::format("vload_half({}, (const __{} half*){})", at, kSpaces[std::size_t(m.space)], m.name);
  const std::string element = fmt::format("{}[{}]", pointer(t, m), at);
  if (t.is_bfloat16())
    return fmt::format(
        "{}({})", helper("rldb_from_bfloat16", "inline float $(ushort bits) { return as_float((uint)bits << 16); }"),
        element);
  return t.is_bool() ? fmt::format("({} != 0)", element) : element;
}

std::string Emitter::write_text(DType t, const Memory& m, const std::string& at, const std::string& value) {
  static constexpr std::string_view kSpaces[] = {"global", "local", "private"};
  if (is_half(t))
    return fmt::format("vstore_half_rte({}, {}, (__{} half*){});", bare(value), at, kSpaces[std::size_t(m.space)],
                       m.name);
  const std::string element = fmt::format("{}[{}]", pointer(t, m), at);
  if (t.is_bfloat16()) return fmt::format("{} = (ushort)(as_uint({}) >> 16);", element, bare(value));
  return fmt::format("{} = {};", element, bare(value));
}

// Dims, strides and the offset that are not constants: a function gets them as arguments.
std::vector<const ir::Expr*> Emitter::known_only_at_run(const ir::Buffer* b) {
  std::vector<const ir::Expr*> all;
  const auto add = [&](const ir::Expr* e) {
    if (!ir::const_int(e)) all.push_back(e);
  };
  for (const ir::Expr* d : b->shape) add(d);
  for (const ir::Expr* s : b->strides) add(s);
  if (b->elem_offset && !as<ir::Var>(b->elem_offset)) add(b->elem_offset);
  return all;
}

// Adds the function `rldb_at_NAME`: indices -> the number of the element, -1 after a fault.
std::string Emitter::access_function(const ir::Buffer* b, const Memory& m) {
  const std::string name = fmt::format("rldb_at_{}", names_.of(b, b->name));
  if (helper_names_.contains(name)) return name;
  const std::vector<const ir::Expr*> open = known_only_at_run(b);
  std::string parameters;
  std::vector<std::string> at;
  for (std::size_t i = 0; i < b->shape.size(); ++i) {
    at.push_back(fmt::format("i{}", i));
    parameters += fmt::format(", long i{}", i);
  }
  for (std::size_t i = 0; i < open.size(); ++i) parameters += fmt::format(", long n{}", i);
  const bool tests_memory = !fits_memory(b, m);
  if (tests_memory && !m.bytes) parameters += ", long bytes";
  std::size_t next = 0;
  const auto number = [&](const ir::Expr* e) {
    const auto known = ir::const_int(e);
    return known ? fmt::format("{}", *known) : fmt::format("n{}", next++);
  };
  std::string body;
  std::vector<std::string> extents, strides;
  for (const ir::Expr* d : b->shape) extents.push_back(number(d));
  for (const ir::Expr* s : b->strides) strides.push_back(number(s));
  if (const auto whole = spanned_.find(b); whole != spanned_.end() && extents.size() == 1)
    extents[0] = fmt::format("{}", whole->second);
  const std::size_t bounds =
      site(runtime::ErrorKind::OutOfBounds,
           fmt::format("access out of bounds: `{}`, index {{}} is {{}}, but the extent is {{}}", b->name), true);
  for (std::size_t i = 0; i < at.size(); ++i)
    body += fmt::format("  if ({0} < 0 || {0} >= {1}) return rldb_fault(f, only, me, {2}, {3}, {0}, {1});\n", at[i],
                        extents[i], bounds, i);
  std::string sum;
  for (std::size_t i = 0; i < at.size(); ++i)
    sum = !strides.empty()    ? fmt::format("{}{}{} * {}", sum, i ? " + " : "", at[i], strides[i])
          : i == 0            ? at[0]
          : extents[i] == "1" ? sum
          : sum == at[0]      ? fmt::format("{} * {} + {}", sum, extents[i], at[i])
                              : fmt::format("({}) * {} + {}", sum, extents[i], at[i]);
  if (sum.empty()) sum = "0";
  if (b->elem_offset && !as<ir::Var>(b->elem_offset) && !ir::is_const(b->elem_offset, 0))
    sum = fmt::format("{} + {}", sum, number(b->elem_offset));
  body += fmt::format("  const long at = {};\n", sum);
  if (tests_memory)
    body += fmt::format("  if (at < 0 || at >= {}{} / {}) return rldb_fault(f, only, me, {}, 0, 0, 0);\n",
                        m.bytes ? fmt::format("{}", *m.bytes) : "bytes", "", b->dtype.bytes(),
                        site(runtime::ErrorKind::OutOfBounds,
                             fmt::format("access out of bounds: `{}` reaches past its memory", b->name)));
  return helper(name,
                fmt::format("inline long $(volatile __global uint* f, uint only, uint me{}) {{\n{}  return at;\n}}",
                            parameters, body));
}

std::string Emitter::checked_arguments(const ir::Buffer* b, const Memory& m, const std::vector<std::string>& at) {
  std::string text = faults();
  for (const std::string& i : at) text += ", " + bare(i);
  for (const ir::Expr* e : known_only_at_run(b)) text += ", " + bare(value(e));
  if (!fits_memory(b, m) && !m.bytes) {
    const ir::Var* data = b->data;
    if (const auto alias = program_.aliases.find(data); alias != program_.aliases.end()) data = alias->second;
    argument({LaunchArgument::Kind::Bytes, data});
    text += fmt::format(", rldb_bytes_{}", names_.of(data, b->name));
  }
  return text;
}

std::string Emitter::load(const ir::BufferLoad* e, int lane) {
  const ir::Buffer* b = e->buffer;
  const Memory* m = memory_of(b);
  if (!m) return "0";
  note_access(b, *m, program_.read);
  const int element_lanes = lanes_in(b->dtype);
  const DType t = b->dtype.element();
  const std::vector<std::string> at = positions(e->indices, lane, element_lanes);
  std::string text;
  if (!options_.check_bounds || (inside(b, e->indices) && fits_memory(b, *m))) {
    text = read_text(t, *m, position(b, at, lane));
  } else {
    const std::string found = fmt::format("{}({})", access_function(b, *m), checked_arguments(b, *m, at));
    const std::string name = fmt::format("rldb_load_{}", names_.of(b, b->name));
    static constexpr std::string_view kSpaces[] = {"global", "local", "private"};
    Memory inner = *m;
    inner.name = "A";
    const std::string element = element_lanes > 1 ? fmt::format("at * {} + lane", element_lanes) : "at";
    helper(name, fmt::format("inline {} $(const __{} {}* A, long at{}) {{ return at < 0 ? 0 : {}; }}", value_type(t),
                             kSpaces[std::size_t(m->space)], memory_type(m->dtype),
                             element_lanes > 1 ? ", int lane" : "", constant_read(t, inner, element)));
    text = fmt::format("{}({}, {}{})", name, m->name, found,
                       element_lanes > 1 ? fmt::format(", {}", lane % element_lanes) : "");
  }
  if (!e->predicate) return text;
  return fmt::format("({} ? {} : 0)", value(e->predicate, lane), text);
}

// Reading through a pointer to constant memory.
std::string Emitter::constant_read(DType t, const Memory& m, const std::string& at) {
  if (is_half(t) || memory_type(t) == memory_type(m.dtype)) return read_text(t, m, at);
  static constexpr std::string_view kSpaces[] = {"global", "local", "private"};
  Memory typed = m;
  typed.dtype = t;
  typed.name = fmt::format("((const __{} {}*){})", kSpaces[std::size_t(m.space)], memory_type(t), m.name);
  return read_text(t, typed, at);
}

void Emitter::note_access(const ir::Buffer* b, const Memory& m, std::unordered_set<const ir::Var*>& accessed) {
  if (m.space != Space::Global) return;
  const auto alias = program_.aliases.find(b->data);
  accessed.insert(alias == program_.aliases.end() ? b->data : alias->second);
}

void Emitter::store(const ir::BufferStore* s) {
  int lanes = lanes_in(s->buffer->dtype);
  for (const ir::Expr* i : s->indices) lanes = std::max(lanes, lanes_in(s->buffer->dtype) * lanes_in(i->dtype()));
  if (s->value->dtype().is_scalable() || lanes > kMostLanes) {
    refuse(fmt::format("a vector of more than {} lanes, or of a length that is not constant", kMostLanes));
    return;
  }
  const DType t = s->buffer->dtype.element();
  if (lanes == 1) return store_lane(s, 0, value(s->value));
  line("{");
  ++depth_;
  std::vector<std::string> values;
  for (int i = 0; i < lanes; ++i) {
    values.push_back(names_.fresh("lane"));
    line(fmt::format("const {} {} = {};", value_type(t), values.back(),
                     bare(value(s->value, i % lanes_in(s->value->dtype())))));
  }
  for (int i = 0; i < lanes; ++i) store_lane(s, i, values[std::size_t(i)]);
  --depth_;
  line("}");
}

void Emitter::store_lane(const ir::BufferStore* s, int lane, const std::string& stored) {
  const ir::Buffer* b = s->buffer;
  const Memory* m = memory_of(b);
  if (!m) return;
  note_access(b, *m, program_.written);
  const int element_lanes = lanes_in(b->dtype);
  const DType t = b->dtype.element();
  const std::vector<std::string> at = positions(s->indices, lane, element_lanes);
  std::string condition;
  if (s->predicate)
    condition = fmt::format("if ({}) ", bare(value(s->predicate, lane % lanes_in(s->predicate->dtype()))));
  const std::string text = seen(b, stored);
  if (!options_.check_bounds || (inside(b, s->indices) && fits_memory(b, *m))) {
    line(condition + write_text(t, *m, position(b, at, lane), text));
    return;
  }
  const std::string found = fmt::format("{}({})", access_function(b, *m), checked_arguments(b, *m, at));
  const std::string number = names_.fresh("at");
  const std::string element =
      element_lanes > 1 ? fmt::format("{} * {} + {}", number, element_lanes, lane % element_lanes) : number;
  line(fmt::format("{}{{", condition));
  ++depth_;
  const std::string kept = names_.fresh("value");
  line(fmt::format("const {} {} = {};", value_type(t), kept, bare(text)));
  line(fmt::format("const long {} = {};", number, found));
  line(fmt::format("if ({} >= 0) {}", number, write_text(t, *m, element, kept)));
  --depth_;
  line("}");
}

// Looks for numbers among those that are written to a parameter.
std::string Emitter::seen(const ir::Buffer* b, std::string value) {
  const DType t = b->dtype.element();
  const auto alias = program_.aliases.find(b->data);
  const ir::Var* data = alias == program_.aliases.end() ? b->data : alias->second;
  if (!options_.events || !t.is_float() || !parameters_.contains(data)) return value;
  const std::string_view type = value_type(t);
  std::string test;
  const auto add = [&](runtime::NumericEvent e, const std::string& condition) {
    if (options_.events & runtime::bit(e)) test += (test.empty() ? "" : " || ") + condition;
  };
  add(runtime::NumericEvent::NaN, "isnan(x)");
  add(runtime::NumericEvent::Inf, "isinf(x)");
  add(runtime::NumericEvent::Denormal, "(x != 0 && fabs(x) < least)");
  const std::string& look =
      helper(fmt::format("rldb_seen_{}", type),
             fmt::format("inline {0} $(volatile __global uint* f, {0} x, {0} least) {{\n  if ({1}) f[2] = 1;\n  return "
                         "x;\n}}",
                         type, test));
  argument({LaunchArgument::Kind::Fault, nullptr});
  return fmt::format("{}(rldb_f, {}, {})", look, bare(value),
                     float_literal(runtime::smallest_normal(t), t.bits == 64 ? t : DType::Float(32)));
}

}  // namespace rldb::codegen
