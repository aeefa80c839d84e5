// Random typed kernels: loops of every kind over buffers of every dtype, with arithmetic, casts, divisions, wrapping
// indices, conditions, lets, local buffers and reductions. Every kernel is well-formed, its indices are in bounds, and
// what it computes is defined: shifts are smaller than their operand, and floats are cast to integers only where they
// fit.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "fuzz/target.h"

namespace rldb::fuzz {

class KernelText {
 public:
  explicit KernelText(Rng& rng) : rng_(rng) {}

  std::string make() {
    constexpr int kSizes[] = {1, 3, 8, 16, 17, 33, 64, 96};
    n_ = kSizes[below(rng_, std::size(kSizes))];
    const std::size_t outputs = 1 + below(rng_, 4);
    std::vector<std::string> types;
    for (std::size_t k = 0; k < outputs; ++k) types.emplace_back(any_type());
    std::string text = fmt::format("# values {}\n", rng_() % 1000000007);
    text += "@I.ir_module\nclass Module:\n    @T.prim_func(s_tir=True)\n    def k(";
    for (const char* t : kTypes) text += fmt::format("p_{0}: T.Buffer(({1},), \"{0}\"), ", t, n_);
    for (std::size_t k = 0; k < outputs; ++k)
      text += fmt::format("{}o{}: T.Buffer(({},), \"{}\")", k ? ", " : "", k, n_, types[k]);
    text += "):\n";
    if (one_in(2)) text += "        T.func_attr({\"tirx.noalias\": True})\n";
    for (std::size_t k = 0; k < outputs; ++k) text += statement(fmt::format("o{}", k), types[k]);
    return text;
  }

 private:
  static constexpr std::array kTypes = {"int8",   "int16",   "int32",    "int64",   "uint8",   "uint16", "uint32",
                                        "uint64", "float16", "bfloat16", "float32", "float64", "bool"};

  bool one_in(std::size_t n) { return below(rng_, n) == 0; }
  const char* any_type() { return kTypes[below(rng_, kTypes.size() - 1)]; }  // no bool
  static bool is_float(std::string_view t) { return t.find("float") != t.npos; }
  static bool is_signed(std::string_view t) { return t.starts_with("int"); }
  static int bits(std::string_view t) {
    return t == "bool" ? 1 : std::stoi(std::string(t.substr(t.find_first_of("0123456789"))));
  }

  std::string statement(const std::string& out, const std::string& type) {
    constexpr const char* kLoops[] = {"range", "range", "T.vectorized", "T.unroll", "T.parallel"};
    const char* loop = kLoops[below(rng_, std::size(kLoops))];
    let_.clear();
    switch (below(rng_, 6)) {
      case 0: {  // a nest
        if (n_ % 8 != 0) break;
        index_ = "(j * 8 + i)";
        const std::string value = expr(type, 3);
        return fmt::format(
            "        for j in range({}):\n            for i in {}(8):\n                {}[j * 8 + i] = {}\n", n_ / 8,
            loop, out, value);
      }
      case 1: {  // a reduction, in order
        index_ = "i";
        const std::string value = expr(type, 2);
        const std::string start = literal(type);
        return fmt::format(
            "        for j in range({0}):\n            {1}[j] = {2}\n        for j in range({0}):\n            for i "
            "in "
            "range({0}):\n                {1}[j] = {1}[j] + {3}\n",
            n_, out, start, value);
      }
      case 2: {  // a store that wraps
        if (std::string_view(loop) != "range" && std::string_view(loop) != "T.unroll") break;
        index_ = "i";
        const std::string value = expr(type, 2);
        return fmt::format(
            "        for i in range({0}):\n            {1}[i] = {2}\n        for i in {3}({0}):\n            {1}[{4}] "
            "= {5}\n",
            n_, out, literal(type), loop, wrapped(), value);
      }
      case 3: {  // under a condition
        index_ = "i";
        const std::string condition = expr("bool", 2);
        const std::string value = expr(type, 2);
        return fmt::format(
            "        for i in range({0}):\n            {1}[i] = {2}\n        for i in {3}({0}):\n            if {4}:\n"
            "                {1}[i] = {5}\n",
            n_, out, literal(type), loop, condition, value);
      }
      default:
        break;
    }
    index_ = "i";
    std::string lets;
    if (one_in(3)) {
      const std::string t = any_type();
      const std::string value = expr(t, 2);
      lets = fmt::format("            v: T.{} = {}\n", t, value);
      let_ = t;
    }
    const std::string value = expr(type, 4);
    return fmt::format("        for i in {}({}):\n{}            {}[i] = {}\n", loop, n_, lets, out, value);
  }

  std::string wrapped() {
    const int stride = 1 + int(below(rng_, 9));
    switch (below(rng_, 4)) {
      case 0:
        return fmt::format("({} * {}) % {}", index_, stride, n_);
      case 1:
        return fmt::format("({} + {}) % {}", index_, stride, n_);
      case 2:
        return fmt::format("{} - {}", n_ - 1, index_);
      default:
        return fmt::format("T.min({} // {}, {})", index_, stride, n_ - 1);
    }
  }

  std::string load(const std::string& type) { return fmt::format("p_{}[{}]", type, one_in(3) ? wrapped() : index_); }

  std::string literal(const std::string& type) {
    if (type == "bool") return one_in(2) ? "T.bool(True)" : "T.bool(False)";
    if (is_float(type)) {
      constexpr const char* kFloats[] = {"0", "1", "-0.5", "3", "0.1", "-2", "1024"};
      return fmt::format("T.{}({})", type, kFloats[below(rng_, std::size(kFloats))]);
    }
    constexpr int kInts[] = {0, 1, 2, 3, 5, 7, 16, 100, 127};
    const int v = kInts[below(rng_, std::size(kInts))];
    return fmt::format("T.{}({})", type, is_signed(type) && one_in(3) ? -v : v);
  }

  std::string leaf(const std::string& type) {
    if (!let_.empty() && one_in(3)) return let_ == type ? "v" : cast(type, let_, "v");
    if (one_in(4)) return literal(type);
    if (one_in(6) && type != "bool") return fmt::format("T.Cast(\"{}\", {})", type, index_);
    return load(type);
  }

  // A float that may not fit is brought into range first.
  std::string cast(const std::string& to, const std::string& from, const std::string& value) {
    if (is_float(from) && !is_float(to) && to != "bool") {
      const int most = bits(to) >= 16 ? 1000 : 100;
      const int least = is_signed(to) ? -most : 0;
      return fmt::format("T.Cast(\"{0}\", T.max(T.min({1}, T.{2}({3})), T.{2}({4})))", to, value, from, most, least);
    }
    return fmt::format("T.Cast(\"{}\", {})", to, value);
  }

  std::string expr(const std::string& type, int depth) {
    if (depth == 0) return leaf(type);
    if (type == "bool") return condition(depth);
    const auto sub = [&] { return expr(type, depth - 1); };
    switch (below(rng_, 10)) {
      case 0:
        return leaf(type);
      case 1: {
        const std::string from = any_type();
        return cast(type, from, expr(from, depth - 1));
      }
      case 2: {
        const std::string c = expr("bool", depth - 1), a = sub();
        return fmt::format("{}({}, {}, {})", one_in(2) ? "T.Select" : "T.if_then_else", c, a, sub());
      }
      case 3:
      case 4:
        return is_float(type) ? float_call(type, depth) : division(type, depth);
      case 5:
        return is_float(type) ? float_call(type, depth) : bit_call(type, depth);
      case 6: {
        const std::string a = sub();
        if (one_in(3)) return fmt::format("(-{})", a);
        return fmt::format("T.{}({}, {})", one_in(2) ? "max" : "min", a, sub());
      }
      default: {
        constexpr const char* kOps[] = {"+", "-", "*"};
        const std::string a = sub();
        return fmt::format("({} {} {})", a, kOps[below(rng_, 3)], sub());
      }
    }
  }

  // By zero too: both engines report it.
  std::string division(const std::string& type, int depth) {
    const std::string a = expr(type, depth - 1);
    std::string b = one_in(2) ? literal(type) : expr(type, depth - 1);
    if (!one_in(64)) b = fmt::format("T.max({}, T.{}({}))", b, type, 1 + below(rng_, 9));
    switch (below(rng_, 4)) {
      case 0:
        return fmt::format("({} // {})", a, b);
      case 1:
        return fmt::format("({} % {})", a, b);
      case 2:
        return fmt::format("T.truncdiv({}, {})", a, b);
      default:
        return fmt::format("T.truncmod({}, {})", a, b);
    }
  }

  std::string bit_call(const std::string& type, int depth) {
    const std::string a = expr(type, depth - 1);
    constexpr const char* kCalls[] = {"bitwise_and", "bitwise_or", "bitwise_xor"};
    if (one_in(2)) return fmt::format("T.{}({}, {})", kCalls[below(rng_, 3)], a, expr(type, depth - 1));
    const auto by = below(rng_, std::size_t(bits(type)));
    return fmt::format("T.{}({}, T.{}({}))", one_in(2) ? "shift_right" : "shift_left", a, type, by);
  }

  // Functions whose results are exact.
  std::string float_call(const std::string& type, int depth) {
    const std::string a = expr(type, depth - 1);
    constexpr const char* kCalls[] = {"fabs", "floor", "ceil", "trunc", "sqrt"};
    switch (below(rng_, 4)) {
      case 0:
        return fmt::format("({} / {})", a, expr(type, depth - 1));
      case 1:
        return fmt::format("T.floormod({}, {})", a, expr(type, depth - 1));
      case 2:
        return fmt::format("T.floordiv({}, {})", a, expr(type, depth - 1));
      default:
        return fmt::format("T.{}({})", kCalls[below(rng_, std::size(kCalls))], a);
    }
  }

  std::string condition(int depth) {
    switch (below(rng_, 4)) {
      case 0: {
        const std::string a = condition_or_leaf(depth - 1);
        return fmt::format("T.{}({}, {})", one_in(2) ? "And" : "Or", a, condition_or_leaf(depth - 1));
      }
      case 1:
        return fmt::format("T.Not({})", condition_or_leaf(depth - 1));
      default: {
        const std::string t = any_type();
        constexpr const char* kOps[] = {"<", "<=", "==", "!=", ">", ">="};
        const std::string a = expr(t, depth - 1);
        return fmt::format("({} {} {})", a, kOps[below(rng_, std::size(kOps))], expr(t, depth - 1));
      }
    }
  }
  std::string condition_or_leaf(int depth) { return depth <= 0 ? leaf("bool") : condition(depth); }

  Rng& rng_;
  int n_ = 0;
  std::string index_;
  std::string let_;  // the dtype of the variable `v`; empty: there is none
};

}  // namespace rldb::fuzz
