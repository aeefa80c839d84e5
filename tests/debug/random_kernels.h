// Programs made of random kernels: scatters, gathers, scans, reductions, conditional stores, loops whose bounds are
// data, in-place chains, functions that call functions. Users: random_kernels_test.cc.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

namespace rldb::debug::testing {

// main(x, z, i): float32 of 6, and int64 of 6.
class RandomKernels {
 public:
  explicit RandomKernels(std::uint64_t seed) : random_(seed) {}

  std::string program() {
    const std::string inner = function("inner", "", 3), outer = function("outer", "inner", 3);
    const std::string main = function("main", "outer", 6);
    return "@I.ir_module\nclass Module:\n" + kernels_ + inner + outer + main;
  }

 private:
  std::size_t any(std::size_t n) { return random_() % n; }

  // Of y from a and b; in place: of a.
  std::string body(bool in_place) {
    const std::string y = in_place ? "a" : "y";
    const auto loop = [](std::string_view lines) { return fmt::format("        for k in range(6):\n{}", lines); };
    const auto block = [&](std::string_view line) {
      return loop(fmt::format("            with T.sblock(\"b\"):\n                v = T.axis.opaque(6, k)\n{}", line));
    };
    const std::string clear = in_place ? "" : loop("            y[k] = T.float32(0)\n");
    const std::string pad = "                ";
    switch (any(in_place ? 6 : 12)) {
      case 0:  // a chain
        return block(fmt::format("{0}{1}[v] = a[v] + b[(v + {2}) % 6]\n", pad, y, any(6)));
      case 1:  // where the indices say so
        return clear +
               loop(fmt::format("            if i[k] > T.int64({1}):\n                {0}[k] = b[k]\n", y, any(6)));
      case 2:  // scatter: the last one stays
        return clear + loop(fmt::format("            {0}[i[k] % T.int64(6)] = b[k]\n", y));
      case 3:  // scatter and add
        return clear +
               loop(fmt::format("            {0}[i[k] % T.int64(6)] = {0}[i[k] % T.int64(6)] + a[k] * b[k]\n", y));
      case 4:  // scan
        return fmt::format(
            "        {0}[0] = a[0]\n        for k in range(5):\n            {0}[k + 1] = {0}[k] + b[k + 1]\n", y);
      case 5:  // bounds from memory
        return clear + loop(fmt::format("            for j in T.serial(T.Cast(\"int32\", i[k] % T.int64(6))):\n        "
                                        "        {0}[k] = {0}[k] + b[j]\n",
                                        y));
      case 6:  // gather
        return block(fmt::format("{0}y[v] = a[i[v] % T.int64(6)]\n", pad));
      case 7:  // gather twice
        return block(fmt::format("{0}y[v] = a[i[i[v] % T.int64(6)] % T.int64(6)] - b[5 - v]\n", pad));
      case 8:  // reduction
        return "        for p, k in T.grid(6, 3):\n            with T.sblock(\"b\"):\n"
               "                vp, vk = T.axis.remap(\"SR\", [p, k])\n                with T.init():\n"
               "                    y[vp] = b[vp]\n                y[vp] = y[vp] + a[(vp + 2 * vk) % 6]\n";
      case 9:  // a condition on values
        return block(fmt::format(
            "{0}if a[v] > b[v]:\n{0}    y[v] = a[5 - v]\n{0}else:\n{0}    y[v] = b[v] * T.float32(2)\n", pad));
      case 10:  // scratch
        return "        with T.sblock(\"root\"):\n            t = T.alloc_buffer((2,), \"float32\")\n"
               "            for k in range(6):\n                t[k % 2] = a[k]\n                y[k] = t[0] + "
               "T.if_then_else(k > 2, t[1], b[k])\n";
      default:  // a choice, and a window
        return block(
            fmt::format("{0}y[v] = T.Select(i[v] < T.int64(3), a[T.max(v - 1, 0)], b[T.min(v + 1, 5)])\n", pad));
    }
  }

  std::string kernel(bool in_place) {
    const std::string name = fmt::format("k{}", count_++);
    kernels_ += fmt::format(
        "    @T.prim_func\n    def {}(a: T.Buffer((6,), \"float32\"), b: T.Buffer((6,), \"float32\"), i: "
        "T.Buffer((6,), "
        "\"int64\"){}):\n{}\n",
        name, in_place ? "" : ", y: T.Buffer((6,), \"float32\")", body(in_place));
    return name;
  }

  std::string function(std::string_view name, std::string_view callee, std::size_t bindings) {
    std::vector<std::string> known{"x", "z"};
    std::string text = fmt::format(
        "    @R.function(pure=False)\n    def {}(x: R.Tensor((6,), \"float32\"), z: R.Tensor((6,), \"float32\"), i: "
        "R.Tensor((6,), \"int64\")) -> R.Tensor((6,), \"float32\"):\n        cls = Module\n",
        name);
    for (std::size_t n = 0; n < bindings; ++n) {
      const std::string v = fmt::format("v{}", n), a = known[any(known.size())], b = known[any(known.size())];
      const std::string type = "out_sinfo=R.Tensor((6,), \"float32\")";
      const std::size_t kind = any(10);
      if (kind == 0 && !callee.empty())
        text += fmt::format("        {}: R.Tensor((6,), \"float32\") = cls.{}({}, {}, i)\n", v, callee, a, b);
      else if (kind == 1)
        text += fmt::format("        {0}s = R.split({1}, 2)\n        {0} = R.concat(({0}s[1], {0}s[0]))\n", v, a);
      else if (kind == 2)
        text += fmt::format(
            "        {0}r = R.reshape({1}, R.shape([2, 3]))\n        {0} = R.reshape({0}r, R.shape([6]))\n", v, a);
      else if (kind < 7 && n > 0 && a != b && a[0] == 'v')
        text += fmt::format("        {} = R.call_tir_inplace(cls.{}, ({}, {}, i), inplace_indices=[0], {})\n", v,
                            kernel(true), a, b, type);
      else
        text += fmt::format("        {} = R.call_tir(cls.{}, ({}, {}, i), {})\n", v, kernel(false), a, b, type);
      // The tensor that was overwritten is not used again.
      if (text.ends_with("inplace_indices=[0], " + type + ")\n")) std::erase(known, a);
      known.push_back(v);
    }
    return text +
           fmt::format("        out = R.add({}, {})\n        return out\n\n", known.back(), known[any(known.size())]);
  }

  std::mt19937_64 random_;
  std::string kernels_;
  int count_ = 0;
};

}  // namespace rldb::debug::testing
