// Compiled forms against the stepping machine: the same bits, faults and counts of steps, and the same state wherever a
// run is cut off.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "eval/compiled/half.h"
#include "eval/compiled/statements.h"
#include "fuzz/kernel_input.h"
#include "rldb/eval/eval.h"
#include "rldb/frontend/parse.h"
#include "rldb/ops/op_info.h"
#include "rldb/source/diagnostic.h"

using namespace rldb;
using eval::TirMachine;
using runtime::Value;

namespace {

struct Module {
  explicit Module(std::string text) {
    ops::install(ctx);
    const source::FileId file = sources.add("kernel.py", std::move(text));
    const auto result = frontend::parse(ctx, sources, file, diagnostics);
    if (!result.ok || !result.module) {
      problem = source::render(diagnostics, sources);
      return;
    }
    for (const ir::ModuleEntry& e : result.module->entries)
      if (const auto* f = ir::as<ir::PrimFunc>(e.function)) kernels.emplace_back(e.name, f);
  }
  ir::Context ctx;
  source::SourceManager sources;
  source::Diagnostics diagnostics;
  std::vector<std::pair<std::string, const ir::PrimFunc*>> kernels;
  std::string problem;
};

// Arguments for a signature; symbolic dims are small and differ.
std::optional<std::vector<Value>> arguments(const runtime::KernelSignature& s, fuzz::Rng& rng) {
  std::vector<std::int64_t> variables;
  for (std::size_t i = 0; i < s.variables.size(); ++i) variables.push_back(3 + std::int64_t(i));
  std::vector<Value> args;
  for (const runtime::KernelParam& p : s.params) {
    if (!p.is_tensor) {
      if (p.opaque) return std::nullopt;
      args.push_back(p.dtype.is_float() ? Value::of_float(0.75)
                                        : Value::of_int(p.variable >= 0 ? variables[std::size_t(p.variable)] : 3));
      continue;
    }
    std::vector<std::int64_t> shape;
    std::int64_t count = 1;
    for (const auto& d : p.shape) {
      auto n = runtime::evaluate(d, variables);
      if (!n.ok() || *n < 0 || *n > 1'000'000) return std::nullopt;
      shape.push_back(*n);
      count *= std::max<std::int64_t>(*n, 1);
      if (count > 4'000'000) return std::nullopt;
    }
    auto t = runtime::Tensor::empty(shape, p.dtype);
    if (!t.ok()) return std::nullopt;
    const std::size_t width = std::max<std::size_t>(p.dtype.element().bytes(), 1);
    for (std::size_t i = 0; i < (*t)->byte_size() / width; ++i) {
      std::byte* at = (*t)->data() + i * width;
      if (p.dtype.is_float())
        runtime::store_double(at, p.dtype.element(), double(std::int64_t(rng() % 4001) - 2000) / 64);
      else
        runtime::store_int(at, p.dtype.element(), std::int64_t(rng() % 8));
    }
    args.push_back(Value(std::move(t).value()));
  }
  return args;
}

std::vector<Value> copies(const std::vector<Value>& args) {
  std::vector<Value> out;
  for (const Value& v : args) out.push_back(runtime::deep_copy(v).value());
  return out;
}

std::string bytes_of(const Value& v) {
  if (!v.is(runtime::ValueKind::Tensor)) return runtime::format_value(v);
  return {reinterpret_cast<const char*>(v.as_tensor().data()), v.as_tensor().byte_size()};
}

// NaNs are one value: which of two operands gives its bits is up to the compiler of C++.
bool same_bits(const Value& a, const Value& b) {
  if (bytes_of(a) == bytes_of(b)) return true;
  if (!a.is(runtime::ValueKind::Tensor) || !a.as_tensor().dtype().is_float()) return false;
  return runtime::compare(a, b, {0, 0, true}).empty();
}

std::string text_of(const runtime::Error& e) {
  std::string out = e.message;
  for (const std::string& note : e.notes) out += "\n" + note;
  return out;
}

// All that can be seen of a machine.
std::string state_of(const TirMachine& m) {
  std::string out = fmt::format("steps {}, at {}\n", m.steps(), static_cast<const void*>(m.current()));
  for (const auto& [var, value] : m.variables())
    out += fmt::format("{} = {}\n", var->name, runtime::format_value(value));
  for (const ir::Stmt* s : m.enclosing()) out += fmt::format("in {}\n", static_cast<const void*>(s));
  if (m.current()) out += fmt::format("inside {}\n", m.inside(m.current()));
  for (const auto& [buffer, value] : m.buffers()) out += fmt::format("{}: {}\n", buffer->name, bytes_of(value).size());
  return out;
}

constexpr std::uint64_t kMost = 60'000;  // steps of a kernel

struct Ended {
  std::string error;
  bool running;
};

Ended step_until(TirMachine& m, std::uint64_t until) {
  while (m.running() && m.steps() < until) {
    auto done = m.step();
    if (!done.ok()) return {text_of(done.error()), m.running()};
  }
  return {"", m.running()};
}

Ended run_until(TirMachine& m, std::uint64_t until) {
  auto ran = m.run({.until = until});
  if (!ran.ok()) return {text_of(ran.error()), m.running()};
  CHECK((*ran == TirMachine::Ran::Finished) == !m.running());
  return {"", m.running()};
}

std::string difference(const TirMachine& a, const std::vector<Value>& args_a, const TirMachine& b,
                       const std::vector<Value>& args_b) {
  const std::string x = state_of(a), y = state_of(b);
  if (x != y) return fmt::format("stepped:\n{}run:\n{}", x, y);
  for (std::size_t i = 0; i < args_a.size(); ++i)
    if (!same_bits(args_a[i], args_b[i])) return fmt::format("argument {} differs", i);
  const auto buffers_a = a.buffers(), buffers_b = b.buffers();
  for (std::size_t i = 0; i < buffers_a.size(); ++i)
    if (!same_bits(buffers_a[i].second, buffers_b[i].second))
      return fmt::format("buffer {} differs", buffers_a[i].first->name);
  return {};
}

// Cuts a run off at a few moments, which go through all steps of a short one.
std::string compare(const ir::PrimFunc* f, fuzz::Rng& rng, int cuts = 3) {
  auto signature = eval::signature_of(f, "k");
  if (!signature.ok()) return {};
  const auto args = arguments(*signature, rng);
  if (!args) return {};
  const auto shared = std::make_shared<eval::CompiledStatements>();
  std::uint64_t length = kMost;
  for (int i = 0; i <= cuts; ++i) {
    const std::vector<Value> stepped_args = copies(*args), run_args = copies(*args);
    TirMachine stepped(f, nullptr), run(f, nullptr);
    run.share(shared);
    const auto started = stepped.start(stepped_args);
    if (started.ok() != run.start(run_args).ok()) return "only one of them starts";
    if (!started.ok()) return {};
    for (const std::uint64_t until : {i == 0 ? kMost : rng() % length, kMost}) {
      const Ended a = step_until(stepped, until), b = run_until(run, until);
      if (a.error != b.error) return fmt::format("stepped: {}\nrun: {}", a.error, b.error);
      const std::string d = difference(stepped, stepped_args, run, run_args);
      if (!d.empty()) return fmt::format("until {}: {}", until, d);
      if (!a.error.empty()) break;
    }
    length = std::max<std::uint64_t>(stepped.steps() + 1, 2);
  }
  return {};
}

std::string compare(const std::string& text, int cuts = 20) {
  Module m(text);
  if (m.kernels.empty()) return "does not parse: " + m.problem;
  fuzz::Rng rng(7);
  for (const auto& [name, f] : m.kernels)
    if (std::string d = compare(f, rng, cuts); !d.empty()) return name + ": " + d;
  return {};
}

bool has_compiled_form(const std::string& text) {
  Module m(text);
  REQUIRE(!m.kernels.empty());
  return eval::compile(m.kernels[0].second->body) != nullptr;
}

}  // namespace

TEST_CASE("halves: every number, and between all numbers") {
  using runtime::DType;
  for (const DType t : {DType::Float(16), DType::BFloat16()}) {
    int wrong = 0;
    const auto same = [](double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; };
    for (std::uint32_t word = 0; word < 0x10000; ++word) {
      std::byte at[2], fast[2], slow[2];
      std::memcpy(at, &word, 2);
      const double v = eval::load(at, t).f;
      wrong += !same(eval::load_half(at, t), v);
      if (!std::isfinite(v)) continue;
      for (const double x : {v, std::nextafter(v, 1e300), v * (1 + 0x1p-12), v * (1 + 0x1p-11), v * (1 + 0x1p-9),
                             v * (1 + 0x1p-8), v * (1 + 3 * 0x1p-11), v * (1 + 3 * 0x1p-8), v * 1.3, -v * 1e30}) {
        wrong += !same(eval::round_half(x, t), eval::round_to(x, t));
        eval::store_half(fast, t, x);
        eval::store(slow, t, eval::of_float(x));
        wrong += std::memcmp(fast, slow, 2) != 0;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("random kernels: run and stepped") {
  const char* more = std::getenv("RLDB_KERNEL_SEEDS");
  const std::uint64_t seeds = more ? std::strtoull(more, nullptr, 10) : 150;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    fuzz::Rng rng(seed);
    const std::string text = fuzz::KernelText(rng).make();
    Module m(text);
    REQUIRE_MESSAGE(m.kernels.size() == 1, m.problem);
    const std::string d = compare(m.kernels[0].second, rng);
    CHECK_MESSAGE(d.empty(), "seed ", seed, ": ", d, "\n", text);
  }
}

TEST_CASE("the usual kernels have a compiled form, and it does what the steps do") {
  const std::string product = R"(
@T.prim_func(s_tir=True)
def k(A: T.Buffer((T.int64(5), T.int64(7)), "float32"), B: T.Buffer((T.int64(7), T.int64(6)), "float32"),
      C: T.Buffer((T.int64(5), T.int64(6)), "float32")):
    for i, j, k in T.grid(T.int64(5), T.int64(6), T.int64(7)):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";
  CHECK(has_compiled_form(product));
  CHECK(compare(product, 60) == "");
  const std::string convolution = R"(
@T.prim_func(s_tir=True)
def k(var_A: T.handle, W: T.Buffer((T.int64(3), T.int64(2), T.int64(3), T.int64(3)), "float32"), var_C: T.handle):
    n = T.int64()
    A = T.match_buffer(var_A, (n, T.int64(2), T.int64(5), T.int64(5)))
    C = T.match_buffer(var_C, (n, T.int64(3), T.int64(5), T.int64(5)))
    with T.sblock("root"):
        P = T.alloc_buffer((n, T.int64(2), T.int64(7), T.int64(7)))
        for i0, i1, i2, i3 in T.grid(n, T.int64(2), T.int64(7), T.int64(7)):
            with T.sblock("pad"):
                v0, v1, v2, v3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
                P[v0, v1, v2, v3] = T.if_then_else(T.int64(1) <= v2 and v2 < T.int64(6) and T.int64(1) <= v3 and v3 < T.int64(6), A[v0, v1, v2 - T.int64(1), v3 - T.int64(1)], T.float32(0))
        for nn, ff, yy, xx, rc, ry, rx in T.grid(n, T.int64(3), T.int64(5), T.int64(5), T.int64(2), T.int64(3), T.int64(3)):
            with T.sblock("conv"):
                v_n, v_f, v_y, v_x, v_c, v_ry, v_rx = T.axis.remap("SSSSRRR", [nn, ff, yy, xx, rc, ry, rx])
                with T.init():
                    C[v_n, v_f, v_y, v_x] = T.float32(0)
                C[v_n, v_f, v_y, v_x] = C[v_n, v_f, v_y, v_x] + P[v_n, v_c, v_y + v_ry, v_x + v_rx] * W[v_f, v_c, v_ry, v_rx]
)";
  CHECK(has_compiled_form(convolution));
  CHECK(compare(convolution, 30) == "");
}

TEST_CASE("statements, run and cut off anywhere") {
  const auto one = [](const std::string& body, const char* head = "A: T.Buffer((20,), \"int32\")") {
    return compare(fmt::format("@T.prim_func(s_tir=True)\ndef k({}):\n{}", head, body), 60);
  };
  SUBCASE("steps, break, continue") {
    CHECK(one(R"(
    for i in T.serial(0, 20, step=3):
        A[i] = A[i] + i
    for j in range(4):
        for i in range(20):
            if i == 3 + j:
                continue
            if i > 11:
                A[i - 1] = j
                break
            A[i] = 100 + i
        A[j] = A[j] + 1
)") == "");
  }
  SUBCASE("a while, with values of its own") {
    CHECK(one(R"(
    x = T.alloc_buffer((1,), "int32")
    for k in range(3):
        x[0] = 0
        while x[0] < 5 + k:
            y: T.int32 = x[0] * 2
            for j in range(2):
                A[y + j] = A[y + j] + y * k
            x[0] = x[0] + 1
)") == "");
  }
  SUBCASE("conditions and bindings inside loops") {
    CHECK(one(R"(
    for i in range(5):
        v: T.int32 = A[i] + i
        for j in range(4):
            w: T.int32 = v * j
            if w % 3 == 0:
                A[j] = A[j] + w
            else:
                for l in range(2):
                    A[j + l] = T.max(w, A[j + l])
            A[i + j] = A[i + j] - w // 2
)") == "");
  }
  SUBCASE("blocks: predicates, inits with loops, memory that is kept, blocks in blocks") {
    CHECK(one(R"(
    for i, k in T.grid(6, 4):
        with T.sblock("outer"):
            vi = T.axis.spatial(6, i)
            vk = T.axis.reduce(4, k)
            T.where(i * 4 + k < 21)
            M = T.alloc_buffer((3,), "int32")
            with T.init():
                for l in range(2):
                    A[vi + l] = l
                M[0] = vi
            for l in range(2):
                with T.sblock("inner"):
                    vl = T.axis.spatial(2, l)
                    M[vl] = M[vl] + vk
                    A[vi] = A[vi] + M[vl] * vl
)") == "");
  }
  SUBCASE("windows") {
    CHECK(one(R"(
    for i in range(4):
        with T.sblock("b"):
            vi = T.axis.spatial(4, i)
            W = T.match_buffer(A[vi * 4 : vi * 4 + 4], (4,), "int32", offset_factor=1)
            for j in range(4):
                W[j] = W[j] * vi + j
)") == "");
  }
  SUBCASE("memory inside loops, declarations, attributes, asserts, evaluates") {
    CHECK(one(R"(
    for i in range(4):
        with T.attr(0, "pragma_unroll", 1):
            M = T.alloc_buffer((4,), "int32")
            for j in range(4):
                M[j] = M[j] + A[i + j]
            D = T.decl_buffer((2, 2), "int32", data=M.data)
            for j in range(2):
                D[j, 1] = D[j, 0] + j
            T.evaluate(0)
            A[i] = M[1] + M[3]
            assert A[i] > -100, "small"
)") == "");
  }
  SUBCASE("nests without iterations") {
    CHECK(one(R"(
    for i in range(1000000000):
        for j in range(0):
            A[i] = j
    for i in range(3):
        for j in range(2):
            for l in range(i - i):
                A[i] = 7
        for j in range(i):
            A[j] = A[j] + 1
)") == "");
  }
  SUBCASE("threads as loops") {
    CHECK(one(R"(
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        tx = T.launch_thread("threadIdx.x", 5)
        A[bx * 5 + tx] = A[bx * 5 + tx] + tx
)") == "");
    CHECK(one(R"(
    bx = T.launch_thread("blockIdx.x", 2)
    S = T.alloc_buffer((8,), "int32", scope="shared")
    tx = T.launch_thread("threadIdx.x", 8)
    for j in range(3):
        S[tx] = A[tx] + j
    T.evaluate(T.tvm_storage_sync("shared"))
    for j in range(3):
        A[tx] = A[tx] + S[7 - tx] * j + bx
)") == "");
  }
  SUBCASE("a return inside of loops") {
    CHECK(one(R"(
    for i in range(10):
        for j in range(2):
            A[i] = A[i] + j
            if i == 7:
                T.ret(0)
)") == "");
  }
}

TEST_CASE("expressions: lanes, predicates, lets, both sides of conditions") {
  const std::string text = R"(
@T.prim_func
def k(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32"), I: T.Buffer((32,), "int32"), H: T.Buffer((32,), "float16")):
    x = T.int32()
    for i in range(4):
        B[i * 8:i * 8 + 8] = A[i * 8:i * 8 + 8] * T.Broadcast(A[i], 8) + T.Cast("float32x8", T.Ramp(i, 2, 8))
    for i in range(32):
        I[i] = T.Let(I[i] * 3 + x, where={x: I[31 - i] // 2})
        H[i] = H[i] * H[31 - i] + T.float16(0.5)
        if T.And(i > 2, T.Or(A[i - 2] > B[i], I[i] == 3)):
            B[i] = T.exp(A[i]) + T.if_then_else(i < 30, A[i + 2], T.float32(1))
        I[i] = I[i] + T.Cast("int32", T.isnan(A[i])) + T.popcount(I[i]) + T.reinterpret("int32", A[i]) % 5
)";
  CHECK(compare(text, 40) == "");
}

TEST_CASE("faults are the steps' own") {
  const auto one = [](const std::string& body) {
    return compare("@T.prim_func(s_tir=True)\ndef k(A: T.Buffer((20,), \"int32\"), n: T.int32):\n" + body, 30);
  };
  CHECK(one("    for i, j in T.grid(4, 6):\n        A[i * 6 + j] = i\n") == "");
  CHECK(one("    for i in range(10):\n        A[i] = A[i - 5 + A[i]]\n") == "");
  CHECK(one("    for i in range(10):\n        A[i] = 5 // (7 - i)\n") == "");
  CHECK(one("    for i in range(10):\n        A[i] = T.truncmod(5, A[i] * 0)\n") == "");
  CHECK(one("    for i in range(10):\n        assert i < 6, \"six\"\n        A[i] = i\n") == "");
  CHECK(one("    for i in range(10):\n        v: T.int32 = A[i] + 1\n        for j in T.serial(0, n, step=v - 4):\n"
            "            A[j] = v\n") == "");
  CHECK(one("    for i in range(5):\n        T.evaluate(T.call_packed(\"no.such.function\", i))\n") == "");
}

TEST_CASE("the number of steps is limited and a run can be interrupted") {
  Module m("@T.prim_func\ndef k(A: T.Buffer((20,), \"int32\")):\n    while A[0] >= 0:\n        A[1] = A[1] + 1\n");
  REQUIRE(m.kernels.size() == 1);
  const std::vector<Value> args{Value(runtime::Tensor::empty({20}, runtime::DType::Int(32)).value())};
  TirMachine machine(m.kernels[0].second, nullptr);
  REQUIRE(machine.start(args).ok());
  CHECK(machine.run({.until = 1'000'001}).value() == TirMachine::Ran::AtLimit);
  CHECK(machine.steps() == 1'000'001);
  CHECK(args[0].as_tensor().at(1) == 500'000);
  const std::atomic<bool> interrupt = true;
  CHECK(machine.run({.interrupt = &interrupt}).value() == TirMachine::Ran::Interrupted);
}

// More kernels: those of a folder of texts, if one is named.
TEST_CASE("kernels of texts: run and stepped") {
  const char* named = std::getenv("RLDB_KERNEL_TEXTS");
  const std::filesystem::path folder = named ? named : RLDB_SOURCE_DIR "/tests/conformance/corpus";
  std::size_t kernels = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().extension() != ".py") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    Module m(text.str());
    fuzz::Rng rng(3);
    for (const auto& [name, f] : m.kernels) {
      const std::string d = compare(f, rng, 2);
      CHECK_MESSAGE(d.empty(), entry.path().string(), ", ", name, ": ", d);
      ++kernels;
    }
  }
  MESSAGE(kernels, " kernels");
}
