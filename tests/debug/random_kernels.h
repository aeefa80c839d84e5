// Programs made of random kernels: scatters, gathers, scans, reductions, conditional stores, loops whose bounds are
// data, in-place chains, functions that call functions; on request symbolic dims, branches, recursion, nested tuples,
// operators that sort, gather and scatter, threads with shared memory, searches.
// Users: random_kernels_test.cc.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

namespace rldb::debug::testing {

// main(x, z, i, s): float32 of 6, of 6, int64 of 6 and of shape ().
class RandomKernels {
 public:
  struct Options {
    bool symbolic = false;  // `n` in place of 6
    bool control = false;   // branches, recursion
    bool tuples = false;    // nested, and their fields
    bool sorts = false;     // operators that sort, gather, scatter, accumulate; not with symbolic dims
    bool threads = false;   // kernels with threads that wait, `while`, scratch that holds an index; the same
  };
  explicit RandomKernels(std::uint64_t seed) : RandomKernels(seed, Options()) {}
  RandomKernels(std::uint64_t seed, const Options& options)
      : random_(seed), options_(options), n_(options.symbolic ? "n" : "6") {}

  std::string program() {
    std::string inner = function("inner", "", 3), outer = function("outer", "inner", 3);
    if (options_.control) inner += recursion();
    const std::string main = function("main", "outer", 6);
    return "@I.ir_module\nclass Module:\n" + kernels_ + inner + outer + main;
  }

 private:
  std::size_t any(std::size_t n) { return random_() % n; }

  // Of y from a and b; in place: of a. `@`: the extent, `$`: the same as an int64.
  std::string body(bool in_place) {
    const std::string y = in_place ? "a" : "y";
    const auto loop = [](std::string_view lines) { return fmt::format("        for k in range(@):\n{}", lines); };
    const auto block = [&](std::string_view line) {
      return loop(fmt::format("            with T.sblock(\"b\"):\n                v = T.axis.opaque(@, k)\n{}", line));
    };
    const std::string clear = in_place ? "" : loop("            y[k] = T.float32(0)\n");
    const std::string pad = "                ";
    if (options_.threads && !options_.symbolic && any(2)) return odd_body(y);
    switch (any(in_place ? 6 : 12)) {
      case 0:  // a chain
        return block(fmt::format("{0}{1}[v] = a[v] + b[(v + {2}) % @]\n", pad, y, any(6)));
      case 1:  // where the indices say so
        return clear +
               loop(fmt::format("            if i[k] > T.int64({1}):\n                {0}[k] = b[k]\n", y, any(6)));
      case 2:  // scatter: the last one stays
        return clear + loop(fmt::format("            {0}[i[k] % $] = b[k]\n", y));
      case 3:  // scatter and add
        return clear + loop(fmt::format("            {0}[i[k] % $] = {0}[i[k] % $] + a[k] * b[k]\n", y));
      case 4:  // scan
        return fmt::format(
            "        {0}[0] = a[0]\n        for k in range(@ - 1):\n            {0}[k + 1] = {0}[k] + b[k + 1]\n", y);
      case 5:  // bounds from memory
        return clear + loop(fmt::format("            for j in T.serial(T.Cast(\"int32\", i[k] % $)):\n        "
                                        "        {0}[k] = {0}[k] + b[j]\n",
                                        y));
      case 6:  // gather
        return block(fmt::format("{0}y[v] = a[i[v] % $]\n", pad));
      case 7:  // gather twice
        return block(fmt::format("{0}y[v] = a[i[i[v] % $] % $] - b[@ - 1 - v]\n", pad));
      case 8:  // reduction
        return "        for p, k in T.grid(@, 3):\n            with T.sblock(\"b\"):\n"
               "                vp, vk = T.axis.remap(\"SR\", [p, k])\n                with T.init():\n"
               "                    y[vp] = b[vp]\n                y[vp] = y[vp] + a[(vp + 2 * vk) % @]\n";
      case 9:  // a condition on values
        return block(fmt::format(
            "{0}if a[v] > b[v]:\n{0}    y[v] = a[@ - 1 - v]\n{0}else:\n{0}    y[v] = b[v] * T.float32(2)\n", pad));
      case 10:  // scratch
        return "        with T.sblock(\"root\"):\n            t = T.alloc_buffer((2,), \"float32\")\n"
               "            for k in range(@):\n                t[k % 2] = a[k]\n                y[k] = t[0] + "
               "T.if_then_else(k > 2, t[1], b[k])\n";
      default:  // a choice, and a window
        return block(
            fmt::format("{0}y[v] = T.Select(i[v] < T.int64(3), a[T.max(v - 1, 0)], b[T.min(v + 1, @ - 1)])\n", pad));
    }
  }

  // Threads of a block, searches, the place of the largest element.
  std::string odd_body(const std::string& y) {
    switch (any(5)) {
      case 0:  // through shared memory
      case 1:  // twice, the second time in the same memory
        return fmt::format(
            "        for bx in T.thread_binding(2, thread=\"blockIdx.x\"):\n"
            "            with T.sblock(\"outer\"):\n                vb = T.axis.spatial(2, bx)\n"
            "                sh = T.alloc_buffer((6,), \"float32\", scope=\"shared\")\n"
            "                for tx in T.thread_binding(6, thread=\"threadIdx.x\"):\n"
            "                    with T.sblock(\"load\"):\n                        v = T.axis.spatial(6, tx)\n"
            "                        sh[(v * 5 + {0}) % 6] = a[v] + b[(v + vb) % 6]\n{1}"
            "                for tx in T.thread_binding(3, thread=\"threadIdx.x\"):\n"
            "                    with T.sblock(\"store\"):\n                        v = T.axis.spatial(3, tx)\n"
            "                        {2}[vb * 3 + v] = sh[(v + {3} * vb) % 6]\n",
            any(6),
            any(2)
                ? "                for tx in T.thread_binding(6, thread=\"threadIdx.x\"):\n"
                  "                    with T.sblock(\"again\"):\n                        v = T.axis.spatial(6, tx)\n"
                  "                        sh[v] = sh[v] * b[5 - v]\n"
                : "",
            y, any(6));
      case 2:  // halves that are added, a barrier after each
        return fmt::format(
            "        tx = T.launch_thread(\"threadIdx.x\", 4)\n"
            "        sh = T.allocate([4], \"float32\", \"shared\")\n"
            "        s = T.Buffer((4,), data=sh, scope=\"shared\")\n"
            "        s[tx] = a[tx] + b[(tx + {0}) % 6]\n        T.tvm_storage_sync(\"shared\")\n"
            "        if tx < 2:\n            s[tx] = s[tx] + s[tx + 2]\n        T.tvm_storage_sync(\"shared\")\n"
            "        if tx < 1:\n            s[tx] = s[tx] + s[tx + 1]\n        T.tvm_storage_sync(\"shared\")\n"
            "        {1}[tx] = s[0]\n        if tx < 2:\n            {1}[tx + 4] = b[i[tx] % T.int64(6)]\n",
            any(6), y);
      case 3:  // a search
        return fmt::format(
            "        with T.sblock(\"root\"):\n            t = T.alloc_buffer((1,), \"int32\")\n"
            "            for k in range(6):\n                t[0] = 0\n"
            "                while T.And(t[0] < {0}, a[t[0]] < b[k]):\n                    t[0] = t[0] + 1\n"
            "                {1}[k] = a[t[0]]\n",
            1 + any(5), y);
      default:  // the place of the largest so far
        return fmt::format(
            "        with T.sblock(\"root\"):\n            t = T.alloc_buffer((1,), \"int32\")\n"
            "            t[0] = 0\n            for k in range(6):\n"
            "                if a[k] > a[t[0]]:\n                    t[0] = k\n"
            "                {0}[k] = b[t[0]]\n",
            y);
    }
  }

  // Of two tensors and the indices.
  std::string call(std::string_view a, std::string_view b) {
    const std::string places = "R.floor_mod(i, R.const(6, \"int64\"))";
    switch (any(10)) {
      case 0:
        return fmt::format("R.sort({})", a);
      case 1:
        return fmt::format("R.take({}, R.argsort({}, dtype=\"int64\"), axis=0)", a, b);
      case 2:
        return fmt::format("R.topk({}, k=6, ret_type=\"values\")", a);
      case 3:
        return fmt::format("R.take({}, {}, axis=0)", a, places);
      case 4:
        return fmt::format("R.gather_elements({}, {}, axis=0)", a, places);
      case 5:
        return fmt::format("R.scatter_elements({}, {}, {}, axis=0, reduction=\"{}\")", a, places, b,
                           any(2) ? "add" : "update");
      case 6:
        return fmt::format("R.cumsum({}, axis=0)", a);
      case 7:
        return fmt::format("R.where(R.greater({0}, {1}), {1}, {0})", a, b);
      case 8:
        return fmt::format("R.add({}, R.astype(R.argmax({}, axis=0, keepdims=True), \"float32\"))", a, b);
      default:
        return fmt::format("R.flip(R.subtract({}, R.max({}, axis=0, keepdims=True)), axis=0)", a, b);
    }
  }

  static std::string put(std::string text, char mark, std::string_view by) {
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += by.size()) text.replace(at, 1, by);
    return text;
  }

  std::string kernel(bool in_place) {
    const std::string name = fmt::format("k{}", count_++);
    const std::string body = put(put(this->body(in_place), '@', n_), '$', options_.symbolic ? "n" : "T.int64(6)");
    if (options_.symbolic) {
      kernels_ += fmt::format("    @T.prim_func\n    def {}(pa: T.handle, pb: T.handle, pi: T.handle{}):\n", name,
                              in_place ? "" : ", py: T.handle");
      kernels_ += "        n = T.int64()\n";
      for (const auto& [b, dtype] : {std::pair{'a', "float32"}, {'b', "float32"}, {'i', "int64"}, {'y', "float32"}})
        if (b != 'y' || !in_place)
          kernels_ += fmt::format("        {0} = T.match_buffer(p{0}, (n,), \"{1}\")\n", b, dtype);
      kernels_ += body + "\n";
    } else {
      kernels_ += fmt::format(
          "    @T.prim_func\n    def {}(a: T.Buffer((6,), \"float32\"), b: T.Buffer((6,), \"float32\"), i: "
          "T.Buffer((6,), "
          "\"int64\"){}):\n{}\n",
          name, in_place ? "" : ", y: T.Buffer((6,), \"float32\")", body);
    }
    return name;
  }

  std::string type(std::string_view dtype = "float32") const {
    return fmt::format("R.Tensor(({},), \"{}\")", n_, dtype);
  }

  std::string head(std::string_view name) const {
    const std::string outer = options_.symbolic ? "R.Tensor((\"n\",), \"{}\")" : "R.Tensor((6,), \"{}\")";
    return fmt::format(
        "    @R.function(pure=False)\n    def {0}(x: {1}, z: {1}, i: {2}, s: R.Tensor((), \"int64\")) -> {1}:\n{3}"
        "        cls = Module\n",
        name, fmt::format(fmt::runtime(outer), "float32"), fmt::format(fmt::runtime(outer), "int64"),
        options_.symbolic ? "        n = T.int64()\n" : "");
  }

  // rec(x, z, i, s): as often as s says.
  std::string recursion() {
    const std::string k = kernel(false), t = type();
    return head("rec") + fmt::format(
                             "        c: R.Tensor((), \"bool\") = R.less(s, R.const(1, \"int64\"))\n"
                             "        if c:\n            r: {0} = x\n        else:\n"
                             "            s1: R.Tensor((), \"int64\") = R.subtract(s, R.const(1, \"int64\"))\n"
                             "            y = R.call_tir(cls.{1}, (x, z, i), out_sinfo={0})\n"
                             "            r: {0} = cls.rec({2}, i, s1)\n        return r\n\n",
                             t, k, any(2) ? "y, x" : "z, y");
  }

  std::string function(std::string_view name, std::string_view callee, std::size_t bindings) {
    std::vector<std::string> known{"x", "z"};
    std::string text = head(name);
    const std::string t = type();
    for (std::size_t n = 0; n < bindings; ++n) {
      const std::string v = fmt::format("v{}", n), a = known[any(known.size())], b = known[any(known.size())];
      const std::string out = fmt::format("out_sinfo={}", t);
      const std::size_t kind = any(10), other = options_.control || options_.tuples ? any(4) : 3;
      bool overwritten = false;
      if (other == 0 && options_.control && !callee.empty()) {
        text += fmt::format("        {}: {} = cls.rec({}, {}, i, s)\n", v, t, a, b);
      } else if (other == 1 && options_.control) {
        text += fmt::format(
            "        {0}c: R.Tensor((), \"bool\") = R.less(s, R.const({1}, \"int64\"))\n"
            "        if {0}c:\n            {0}t = R.call_tir(cls.{2}, ({3}, {4}, i), {5})\n"
            "            {0}: {6} = {0}t\n        else:\n            {0}: {6} = {7}\n",
            v, any(4), kernel(false), a, b, out, t, any(2) ? a : b);
      } else if (other == 2 && options_.tuples) {
        text +=
            fmt::format("        {0}t = (({1}, {2}), {1})\n        {0}u = {0}t[0]\n        {0} = {0}u[1]\n", v, a, b);
      } else if (options_.sorts && !options_.symbolic && any(3) == 0) {
        text += fmt::format("        {} = {}\n", v, call(a, b));
      } else if (kind == 0 && !callee.empty()) {
        text += fmt::format("        {}: {} = cls.{}({}, {}, i, s)\n", v, t, callee, a, b);
      } else if (kind == 1 && !options_.symbolic) {
        text += fmt::format("        {0}s = R.split({1}, 2)\n        {0} = R.concat(({0}s[1], {0}s[0]))\n", v, a);
      } else if (kind == 2) {
        text += fmt::format(
            "        {0}r = R.reshape({1}, R.shape([{2}]))\n        {0} = R.reshape({0}r, R.shape([{3}]))\n", v, a,
            options_.symbolic ? "n, 1" : "2, 3", n_);
      } else if (kind < 7 && n > 0 && a != b && a[0] == 'v') {
        text += fmt::format("        {} = R.call_tir_inplace(cls.{}, ({}, {}, i), inplace_indices=[0], {})\n", v,
                            kernel(true), a, b, out);
        overwritten = true;
      } else {
        text += fmt::format("        {} = R.call_tir(cls.{}, ({}, {}, i), {})\n", v, kernel(false), a, b, out);
      }
      // The tensor that was overwritten is not used again.
      if (overwritten) std::erase(known, a);
      known.push_back(v);
    }
    return text +
           fmt::format("        out = R.add({}, {})\n        return out\n\n", known.back(), known[any(known.size())]);
  }

  std::mt19937_64 random_;
  Options options_;
  std::string n_;
  std::string kernels_;
  int count_ = 0;
};

}  // namespace rldb::debug::testing
