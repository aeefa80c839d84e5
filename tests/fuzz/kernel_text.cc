#include "fuzz/kernel_text.h"

#include <fmt/format.h>

namespace rldb::fuzz {

namespace {

enum class Class { Int, Uint, Float, Bool };
struct Type {
  const char* name;
  Class kind;
  int bits;
};
constexpr Type kTypes[] = {
    {"int8", Class::Int, 8},       {"int16", Class::Int, 16},     {"int32", Class::Int, 32},
    {"int64", Class::Int, 64},     {"uint8", Class::Uint, 8},     {"uint16", Class::Uint, 16},
    {"uint32", Class::Uint, 32},   {"uint64", Class::Uint, 64},   {"float16", Class::Float, 16},
    {"float32", Class::Float, 32}, {"float64", Class::Float, 64}, {"bfloat16", Class::Float, 16},
    {"bool", Class::Bool, 1},
};
const Type& kBool = kTypes[std::size(kTypes) - 1];
const Type& kInt64 = kTypes[3];

constexpr int kDepth = 4;
constexpr const char* kLoops[] = {"range", "T.vectorized", "T.unroll", "T.parallel", "T.serial"};

class Maker {
 public:
  explicit Maker(Rng& rng) : rng_(rng) {}

  std::string make() {
    for (std::size_t i = 0; i < 3; ++i) buffers_.push_back({fmt::format("A{}", i), &type(), extent()});
    const Buffer out{"B", &type(), extent()};
    std::string text = "@T.prim_func(s_tir=True)\ndef kernel(";
    for (const Buffer& b : buffers_) text += declared(b) + ", ";
    text += declared(out) + "):\n";
    if (one_in(2)) text += "    T.func_attr({\"tirx.noalias\": True})\n";
    const std::size_t stages = 1 + below(rng_, 2);
    for (std::size_t i = 0; i + 1 < stages; ++i) {
      const Buffer middle{fmt::format("M{}", i), &type(), extent()};
      text += fmt::format("    {} = T.alloc_buffer(({},), \"{}\")\n", middle.name, middle.extent, middle.type->name);
      text += nest(middle);
      buffers_.push_back(middle);
    }
    return text + nest(out);
  }

 private:
  struct Buffer {
    std::string name;
    const Type* type;
    std::size_t extent;
  };

  bool one_in(std::size_t n) { return below(rng_, n) == 0; }
  const Type& type() { return kTypes[below(rng_, std::size(kTypes))]; }
  template <std::size_t N>
  const char* one_of(const char* const (&list)[N]) {
    return list[below(rng_, N)];
  }
  std::size_t extent() { return one_in(2) ? std::size_t(1) << (2 + below(rng_, 5)) : 1 + below(rng_, 70); }
  static std::string declared(const Buffer& b) {
    return fmt::format("{}: T.Buffer(({},), \"{}\")", b.name, b.extent, b.type->name);
  }

  // ---- statements ----

  std::string nest(const Buffer& out) {
    variables_ = {"i"};
    lets_.clear();
    if (one_in(4)) return reduction(out);
    std::string text = fmt::format("    for i in {}({}):\n", one_of(kLoops), out.extent);
    const std::string at = one_in(3) ? fmt::format("{} - i", out.extent - 1) : "i";
    if (one_in(3)) {
      const Type& t = type();
      text += fmt::format("        v: T.let[T.{}] = {}\n", t.name, expression(t, 2));
      lets_.push_back({"v", &t, 0});
    }
    if (!one_in(4)) return text + fmt::format("        {}[{}] = {}\n", out.name, at, expression(*out.type, kDepth));
    return text + fmt::format("        if {}:\n            {}[{}] = {}\n        else:\n            {}[{}] = {}\n",
                              expression(kBool, 2), out.name, at, expression(*out.type, kDepth), out.name, at,
                              expression(*out.type, 2));
  }

  // Sums of floats are made of no products: the sum of a reduction may be fused with them.
  std::string reduction(const Buffer& out) {
    const Type& t = *out.type;
    products_ = t.kind != Class::Float;
    variables_ = {"vi", "vk"};
    const char* join = t.kind == Class::Bool ? "T.Or({}, {})" : one_in(2) ? "{} + {}" : "T.max({}, {})";
    const std::string element = fmt::format("{}[vi]", out.name);
    const std::string text = fmt::format(
        "    for i, k in T.grid({}, {}):\n        with T.sblock(\"reduce\"):\n"
        "            vi, vk = T.axis.remap(\"SR\", [i, k])\n            with T.init():\n"
        "                {} = {}\n            {} = {}\n",
        out.extent, 1 + below(rng_, 40), element, literal(t), element,
        fmt::format(fmt::runtime(join), element, expression(t, 2)));
    products_ = true;
    return text;
  }

  // ---- expressions ----

  std::string literal(const Type& t) {
    if (t.kind == Class::Bool) return one_in(2) ? "T.bool(True)" : "T.bool(False)";
    const int v = int(below(rng_, 20));
    if (t.kind == Class::Float) return fmt::format("T.{}({})", t.name, double(v - 8) / 2);
    return fmt::format("T.{}({})", t.name, t.kind == Class::Int ? v - 8 : v);
  }
  std::string not_zero(const Type& t) {
    const int v = 1 + int(below(rng_, 12));
    if (t.kind == Class::Float) return fmt::format("T.{}({})", t.name, double(v) / 2);
    return fmt::format("T.{}({})", t.name, t.kind == Class::Int && one_in(3) ? -v : v);
  }

  // Within the extent, whatever the variables are.
  std::string index(std::size_t extent) {
    const std::string v = variables_[below(rng_, variables_.size())];
    const std::size_t stride = 1 + below(rng_, 20), offset = below(rng_, 9);
    switch (below(rng_, 6)) {
      case 0:
        return fmt::format("T.min(T.max({} - {}, 0), {})", v, offset, extent - 1);
      case 1:
        if ((extent & (extent - 1)) == 0) return fmt::format("T.bitwise_and({} * {}, {})", v, stride, extent - 1);
        break;
      case 2:
        return fmt::format("T.Cast(\"int64\", T.Cast(\"uint8\", {} * {})) % T.int64({})", v, stride, extent);
      case 3:
        if (depth_of_index_ == 0) {
          ++depth_of_index_;
          const std::string e = expression(kInt64, 1);
          --depth_of_index_;
          return fmt::format("({}) % T.int64({})", e, extent);
        }
        break;
      case 4:
        return fmt::format("({} + {}) // {} % {}", v, offset, 1 + below(rng_, 5), extent);
    }
    return fmt::format("({} * {} + {}) % {}", v, stride, offset, extent);
  }

  std::string leaf(const Type& t) {
    std::vector<std::string> known;
    for (const Buffer& b : buffers_)
      if (b.type == &t) known.push_back(fmt::format("{}[{}]", b.name, index(b.extent)));
    for (const Buffer& b : lets_)
      if (b.type == &t) known.push_back(b.name);
    if (!known.empty() && !one_in(5)) return known[below(rng_, known.size())];
    if (one_in(3)) return literal(t);
    if (one_in(4) && t.kind != Class::Bool)
      return fmt::format("T.Cast(\"{}\", {})", t.name, variables_[below(rng_, variables_.size())]);
    const Buffer& b = buffers_[below(rng_, buffers_.size())];
    return cast(t, *b.type, fmt::format("{}[{}]", b.name, index(b.extent)));
  }

  // A float outside of an integer's range has no value there.
  static std::string cast(const Type& to, const Type& from, const std::string& e) {
    if (&to == &from) return e;
    if (from.kind == Class::Float && (to.kind == Class::Int || to.kind == Class::Uint))
      return fmt::format("T.Cast(\"{0}\", T.max(T.min({1}, T.{2}(100.0)), T.{2}(0.0)))", to.name, e, from.name);
    return fmt::format("T.Cast(\"{}\", {})", to.name, e);
  }

  std::string expression(const Type& t, int depth) {
    if (depth == 0 || one_in(8)) return leaf(t);
    if (one_in(6)) {
      const Type& from = type();
      // NaN has no value in an integer.
      const bool plain = from.kind != Class::Float || t.kind == Class::Float;
      return cast(t, from, plain ? expression(from, depth - 1) : leaf(from));
    }
    if (one_in(8))
      return fmt::format(fmt::runtime(one_in(2) ? "T.Select({}, {}, {})" : "T.if_then_else({}, {}, {})"),
                         expression(kBool, depth - 1), expression(t, depth - 1), expression(t, depth - 1));
    if (t.kind == Class::Bool) return condition(depth);
    const std::string a = expression(t, depth - 1);
    if (one_in(4)) return divided(t, a, depth);
    if (one_in(3)) return t.kind == Class::Float ? of_float(a) : of_int(t, a, depth);
    static constexpr const char* kForms[] = {"({} + {})", "({} - {})", "T.min({}, {})", "T.max({}, {})", "({} * {})"};
    const std::size_t n = std::size(kForms) - (products_ ? 0 : 1);
    return fmt::format(fmt::runtime(kForms[below(rng_, n)]), a, expression(t, depth - 1));
  }

  std::string condition(int depth) {
    if (one_in(3)) {
      static constexpr const char* kForms[] = {"T.And({}, {})", "T.Or({}, {})"};
      return fmt::format(fmt::runtime(one_of(kForms)), expression(kBool, depth - 1), expression(kBool, depth - 1));
    }
    if (one_in(4)) return fmt::format("T.Not({})", expression(kBool, depth - 1));
    static constexpr const char* kForms[] = {"({} < {})",  "({} <= {})", "({} > {})",
                                             "({} >= {})", "({} == {})", "({} != {})"};
    const Type& t = kTypes[below(rng_, std::size(kTypes) - 1)];
    return fmt::format(fmt::runtime(one_of(kForms)), expression(t, depth - 1), expression(t, depth - 1));
  }

  std::string divided(const Type& t, const std::string& a, int depth) {
    std::string by = not_zero(t);
    if (one_in(3)) by = fmt::format("T.max({}, T.{}(1))", expression(t, depth - 1), t.name);
    if (t.kind == Class::Float) {
      static constexpr const char* kForms[] = {"({} / {})", "T.floormod({}, {})", "T.floordiv({}, {})"};
      return fmt::format(fmt::runtime(one_of(kForms)), a, by);
    }
    static constexpr const char* kForms[] = {"({} // {})", "({} % {})", "T.truncdiv({}, {})", "T.truncmod({}, {})"};
    return fmt::format(fmt::runtime(one_of(kForms)), a, by);
  }

  std::string of_float(const std::string& a) {
    static constexpr const char* kForms[] = {"(-({}))",     "T.abs({})",   "T.floor({})",      "T.ceil({})",
                                             "T.trunc({})", "T.round({})", "T.sqrt(T.abs({}))"};
    return fmt::format(fmt::runtime(one_of(kForms)), a);
  }

  std::string of_int(const Type& t, const std::string& a, int depth) {
    switch (below(rng_, 7)) {
      case 0:
        return t.kind == Class::Int ? fmt::format("(-({}))", a) : fmt::format("T.bitwise_not({})", a);
      case 1:
        return fmt::format("T.bitwise_not({})", a);
      case 2:
        return fmt::format("T.popcount({})", a);
      case 3:
        return fmt::format("T.shift_left({}, T.{}({}))", a, t.name, below(rng_, std::size_t(t.bits)));
      case 4:
        return fmt::format("T.shift_right({}, T.{}({}))", a, t.name, below(rng_, std::size_t(t.bits)));
    }
    static constexpr const char* kForms[] = {"T.bitwise_and({}, {})", "T.bitwise_or({}, {})", "T.bitwise_xor({}, {})"};
    return fmt::format(fmt::runtime(one_of(kForms)), a, expression(t, depth - 1));
  }

  Rng& rng_;
  std::vector<Buffer> buffers_;
  std::vector<Buffer> lets_;
  std::vector<std::string> variables_;
  int depth_of_index_ = 0;
  bool products_ = true;
};

}  // namespace

std::string kernel_text(Rng& rng) { return Maker(rng).make(); }

}  // namespace rldb::fuzz
