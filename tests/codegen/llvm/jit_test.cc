// The Jit itself: texts, caches, object code, bounds, signals, interrupts, packed calls, lifetime.
//
// It is long because its cases share the kernels and helpers at the top.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "codegen/llvm/both_engines.h"
#include "codegen/llvm/engine/artefact.h"
#include "codegen/llvm/engine/compile.h"
#include "rldb/runtime/guarded.h"
#include "rldb/support/cancel.h"
#include "rldb/support/file.h"

using namespace rldb;
using namespace rldb::codegen::testing;
using codegen::Jit;
using codegen::JitOptions;
using runtime::ErrorKind;
using runtime::Value;

namespace {

const std::string kAdd = elementwise("A[i] + B[i]", "float32", "float32", "float32");

// A folder that exists as long as the test.
struct Folder {
  std::string path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "rldb_jit_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const auto& e : std::filesystem::directory_iterator(path)) out.push_back(e.path().string());
    return out;
  }
};

Value tensor(std::vector<std::int64_t> shape, runtime::DType t, double v) {
  auto made = runtime::Tensor::empty(std::move(shape), t).value();
  for (std::int64_t i = 0; i < made->element_count(); ++i)
    runtime::store_double(made->data() + std::size_t(i) * t.bytes(), t, v);
  return Value(std::move(made));
}
std::vector<Value> three(std::int64_t n) {
  const auto f32 = runtime::DType::Float(32);
  return {tensor({n}, f32, 1), tensor({n}, f32, 2), tensor({n}, f32, 0)};
}

}  // namespace

TEST_CASE("a kernel is compiled at its first run and outlives its Jit") {
  Text t(kAdd);
  auto jit = Jit::create({}).value();
  auto kernel = jit->add(t.ctx, t.f, "add").value();
  REQUIRE(jit->stats().size() == 1);
  CHECK_FALSE(jit->stats()[0].compiled);
  auto args = three(5);
  REQUIRE(runtime::call_kernel(*kernel, args).ok());
  CHECK(jit->stats()[0].compiled);
  CHECK(jit->stats()[0].compile_ns > 0);
  CHECK(args[2].as_tensor().at(4) == 3);
  jit.reset();
  args = three(9);
  REQUIRE(runtime::call_kernel(*kernel, args).ok());
  CHECK(args[2].as_tensor().at(8) == 3);
}

TEST_CASE("kernels are lowered once, and compiled ahead while others run; a fork has them too") {
  constexpr int kKernels = 12;
  std::vector<std::unique_ptr<Text>> texts;
  auto jit = Jit::create({}).value();
  std::vector<std::shared_ptr<runtime::Kernel>> kernels;
  const std::uint64_t before = codegen::lowered_count();
  for (int i = 0; i < kKernels; ++i) {
    const std::string sum = fmt::format("A[i] + B[i] * T.float32({})", i);
    texts.push_back(std::make_unique<Text>(elementwise(sum, "float32", "float32", "float32")));
    kernels.push_back(jit->add(texts.back()->ctx, texts.back()->f, fmt::format("add{}", i)).value());
  }
  CHECK(codegen::lowered_count() - before == kKernels);
  const auto is_right = [&](int i) {
    auto args = three(7);
    return runtime::call_kernel(*kernels[std::size_t(i)], args).ok() && args[2].as_tensor().at(6) == 1 + 2 * i;
  };
  CHECK(is_right(3));
  // Some are in the queue, or being compiled.
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    bool all = true;
    for (int i = 0; i < kKernels; ++i) all = all && is_right(i);
    _exit(all ? 0 : 1);
  }
  for (int i = 0; i < kKernels; ++i) CHECK(is_right(i));
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(codegen::lowered_count() - before == kKernels);
}

TEST_CASE("kernels that nobody runs end with their Jit") {
  std::vector<std::unique_ptr<Text>> texts;
  auto jit = Jit::create({}).value();
  for (int i = 0; i < 12; ++i) {
    const std::string product = fmt::format("A[i] * B[i] * T.float32({})", i);
    texts.push_back(std::make_unique<Text>(elementwise(product, "float32", "float32", "float32")));
    REQUIRE(jit->add(texts.back()->ctx, texts.back()->f, fmt::format("product{}", i)).ok());
  }
  REQUIRE(jit->compile("product0").ok());
  jit.reset();
  for (int i = 0; i < 100 && codegen::compilations_left_behind() > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(codegen::compilations_left_behind() == 0);
}

TEST_CASE("arguments are checked before the code runs") {
  Text t(kAdd);
  auto jit = Jit::create({}).value();
  auto kernel = jit->add(t.ctx, t.f, "add").value();
  auto args = three(5);
  args[1] = three(6)[1];
  auto done = runtime::call_kernel(*kernel, args);
  REQUIRE_FALSE(done.ok());
  CHECK(done.error().kind == ErrorKind::ShapeMismatch);
}

TEST_CASE("the code can be read") {
  Text t(kAdd);
  auto jit = Jit::create({}).value();
  const auto raw = jit->llvm_ir(t.ctx, t.f, "add", false);
  const auto optimised = jit->llvm_ir(t.ctx, t.f, "add");
  const auto assembly = jit->assembly(t.ctx, t.f, "add");
  REQUIRE(raw.ok());
  REQUIRE(optimised.ok());
  REQUIRE(assembly.ok());
  CHECK(raw->find("fadd float") != std::string::npos);
  CHECK(optimised->find("x float>") != std::string::npos);  // vectors
  CHECK(assembly->find("rldb_kernel:") != std::string::npos);
  CHECK_FALSE(Jit::host_cpu().empty());
}

TEST_CASE("equal kernels share their code") {
  Text t(kAdd);
  auto jit = Jit::create({}).value();
  REQUIRE(jit->add(t.ctx, t.f, "one").ok());
  REQUIRE(jit->add(t.ctx, t.f, "two").ok());
  REQUIRE(jit->compile("one").ok());
  REQUIRE(jit->compile("two").ok());
  CHECK_FALSE(jit->stats()[0].from_cache);
  CHECK(jit->stats()[1].from_cache);
  CHECK_FALSE(jit->compile("three").ok());
}

namespace {

constexpr const char* kSums = R"(
@T.prim_func
def sums(A: T.Buffer(("n", 64), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer(("n",), "float32")):
    n = T.int64()
    for i, k in T.grid(n, 64):
        with T.block("sums"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0.1)
            C[vi] = C[vi] + A[vi, vk] * B[vk]
)";

std::vector<Value> for_sums(std::int64_t n) {
  const auto f32 = runtime::DType::Float(32);
  std::vector<Value> args{tensor({n, 64}, f32, 0), tensor({64}, f32, 0), tensor({n}, f32, 0)};
  for (std::size_t a = 0; a < 2; ++a) {
    const runtime::Tensor& t = args[a].as_tensor();
    for (std::int64_t i = 0; i < t.element_count(); ++i)
      runtime::store_double(t.data() + std::size_t(i) * 4, f32, 1.0 / double(3 + i % 101 + std::int64_t(a)));
  }
  return args;
}

std::string difference_of_sums(runtime::Kernel& kernel, const std::vector<Value>& wanted, std::int64_t n) {
  auto args = for_sums(n);
  if (!runtime::call_kernel(kernel, args).ok()) return "does not run";
  return runtime::compare(args[2], wanted[2], {0, 0, true});
}

JitOptions with_tiers() {
  JitOptions options;
  options.tiers = true;
  return options;
}

}  // namespace

TEST_CASE("short calls begin in the quick tier; code that is used much is compiled again, with the same bits") {
  Text t(kSums);
  auto jit = Jit::create(with_tiers()).value();
  auto kernel = jit->add(t.ctx, t.f, "sums").value();
  auto full = Jit::create({}).value();
  auto wanted = for_sums(100);
  REQUIRE(runtime::call_kernel(*full->add(t.ctx, t.f, "sums").value(), wanted).ok());
  CHECK(full->stats()[0].tier == codegen::Tier::Full);

  CHECK(difference_of_sums(*kernel, wanted, 100) == "");
  CHECK(jit->stats()[0].tier == codegen::Tier::Quick);
  for (int calls = 0; calls < 1'000'000 && jit->stats()[0].tier == codegen::Tier::Quick; ++calls)
    REQUIRE(difference_of_sums(*kernel, wanted, 100) == "");
  CHECK(jit->stats()[0].tier == codegen::Tier::Full);
  CHECK_FALSE(jit->stats()[0].improving);
  CHECK(difference_of_sums(*kernel, wanted, 100) == "");
}

TEST_CASE("a long call waits for the full tier, also after short ones") {
  Text t(kSums);
  auto jit = Jit::create(with_tiers()).value();
  auto kernel = jit->add(t.ctx, t.f, "sums").value();
  auto args = for_sums(3);
  REQUIRE(runtime::call_kernel(*kernel, args).ok());
  CHECK(jit->stats()[0].tier == codegen::Tier::Quick);
  args = for_sums(20'000);
  REQUIRE(runtime::call_kernel(*kernel, args).ok());
  CHECK(jit->stats()[0].tier == codegen::Tier::Full);
}

TEST_CASE("a compilation for the full tier is given up with its kernel") {
  Text t(kSums);
  for (int round = 0; round < 3; ++round) {
    auto jit = Jit::create(with_tiers()).value();
    auto kernel = jit->add(t.ctx, t.f, "sums").value();
    for (int calls = 0; calls < 1'000'000 && !jit->stats()[0].improving; ++calls) {
      auto args = for_sums(100);
      REQUIRE(runtime::call_kernel(*kernel, args).ok());
    }
    CHECK(jit->stats()[0].improving);
  }
}

TEST_CASE("code in the quick tier that an earlier process made is compiled again as soon as it runs twice") {
  Folder folder;
  Text t(kSums);
  JitOptions options = with_tiers();
  options.cache_dir = folder.path;
  const auto improves_at_second_call = [&] {
    auto jit = Jit::create(options).value();
    auto kernel = jit->add(t.ctx, t.f, "sums").value();
    auto args = for_sums(3);
    for (int call = 0; call < 2; ++call) REQUIRE(runtime::call_kernel(*kernel, args).ok());
    const codegen::KernelStats stats = jit->stats()[0];
    return stats.improving || stats.tier == codegen::Tier::Full;
  };
  CHECK_FALSE(improves_at_second_call());
  CHECK(improves_at_second_call());
}

TEST_CASE("the cache on disk has code of both tiers, and the full one comes first") {
  Folder folder;
  Text t(kSums);
  JitOptions options = with_tiers();
  options.cache_dir = folder.path;
  const auto tier_of_first_run = [&](bool then_compile) {
    auto jit = Jit::create(options).value();
    auto kernel = jit->add(t.ctx, t.f, "sums").value();
    auto args = for_sums(5);
    REQUIRE(runtime::call_kernel(*kernel, args).ok());
    const codegen::KernelStats stats = jit->stats()[0];
    if (then_compile) REQUIRE(jit->compile("sums").ok());
    return std::pair(stats.tier, stats.from_cache);
  };
  CHECK(tier_of_first_run(false) == std::pair(codegen::Tier::Quick, false));
  CHECK(tier_of_first_run(true) == std::pair(codegen::Tier::Quick, true));
  CHECK(tier_of_first_run(false) == std::pair(codegen::Tier::Full, true));
  CHECK(folder.files().size() == 2);
}

TEST_CASE("code that was compiled again is not said to be from the cache, until it is") {
  Folder folder;
  Text t(kSums);
  JitOptions options = with_tiers();
  options.cache_dir = folder.path;
  REQUIRE(runtime::call_kernel(*Jit::create(options).value()->add(t.ctx, t.f, "sums").value(), for_sums(100)).ok());
  for (const bool cached : {false, true}) {
    auto jit = Jit::create(options).value();
    auto kernel = jit->add(t.ctx, t.f, "sums").value();
    const auto args = for_sums(100);
    REQUIRE(runtime::call_kernel(*kernel, args).ok());
    CHECK(jit->stats()[0].from_cache);
    for (int calls = 0; calls < 1'000'000 && jit->stats()[0].tier == codegen::Tier::Quick; ++calls)
      REQUIRE(runtime::call_kernel(*kernel, args).ok());
    CHECK(jit->stats()[0].tier == codegen::Tier::Full);
    CHECK(jit->stats()[0].from_cache == cached);
  }
}

TEST_CASE("while one kernel is waited for others are compiled, and each is its own") {
  std::vector<std::unique_ptr<Text>> texts;
  auto jit = Jit::create({}).value();
  std::vector<std::shared_ptr<runtime::Kernel>> kernels;
  for (int k = 0; k < 6; ++k) {
    texts.push_back(std::make_unique<Text>(
        elementwise(fmt::format("A[i] + B[i] * T.float32({})", k + 1), "float32", "float32", "float32")));
    kernels.push_back(jit->add(texts.back()->ctx, texts.back()->f, fmt::format("k{}", k)).value());
  }
  for (const std::size_t k : {std::size_t(3), std::size_t(0), std::size_t(5), std::size_t(1), std::size_t(3)}) {
    auto args = three(5);
    REQUIRE(runtime::call_kernel(*kernels[k], args).ok());
    CHECK(args[2].as_tensor().at(4) == 1 + 2 * double(k + 1));
    CHECK(jit->stats()[k].compiled);
    CHECK_FALSE(jit->stats()[k].from_cache);
  }
  CHECK_FALSE(jit->stats()[2].compiled);  // begun or not: nobody has asked for it
  kernels.clear();
  jit.reset();  // with what is begun
}

TEST_CASE("the cache on disk: used, and written anew when damaged") {
  Folder folder;
  Text t(kAdd);
  JitOptions options;
  options.cache_dir = folder.path;
  const auto run = [&] {
    auto jit = Jit::create(options).value();
    auto kernel = jit->add(t.ctx, t.f, "add").value();
    auto args = three(100);
    REQUIRE(runtime::call_kernel(*kernel, args).ok());
    CHECK(args[2].as_tensor().at(99) == 3);
    return jit->stats()[0].from_cache;
  };
  CHECK_FALSE(run());
  REQUIRE(folder.files().size() == 1);
  CHECK(run());
  const std::string file = folder.files()[0];
  const std::string good = support::read_file(file).value();
  for (const std::size_t cut : {std::size_t(0), std::size_t(7), good.size() / 2, good.size() - 1}) {
    REQUIRE(support::write_file(file, good.substr(0, cut)).ok());
    CHECK_FALSE(run());
    CHECK(support::read_file(file).value() == good);
  }
  std::string changed = good;
  changed[changed.size() / 2] ^= 1;
  REQUIRE(support::write_file(file, changed).ok());
  CHECK_FALSE(run());
  // Other options produce other code.
  options.check_bounds = false;
  CHECK_FALSE(run());
  CHECK(folder.files().size() == 2);
  // The folder is created when there is something to keep, and for this user alone.
  options.cache_dir = folder.path + "/made/for/it";
  CHECK_FALSE(run());
  CHECK(run());
  CHECK((std::filesystem::status(options.cache_dir).permissions() & std::filesystem::perms::others_all) ==
        std::filesystem::perms::none);
  options.cache_dir = "/dev/null/folder";
  CHECK_FALSE(run());
  CHECK_FALSE(run());
}

TEST_CASE("the cache on disk is bounded: what was not used for the longest time is removed") {
  Folder folder;
  JitOptions options;
  options.cache_dir = folder.path;
  const auto compile = [&](const std::string& constant) {
    std::string text(kAdd);
    const auto at = text.find(" + ");
    REQUIRE(at != std::string::npos);
    Text t(text.replace(at, 3, " + T.float32(" + constant + ") + "));
    auto jit = Jit::create(options).value();
    REQUIRE(jit->add(t.ctx, t.f, "add").ok());
    REQUIRE(jit->compile("add").ok());
    return jit->stats()[0].from_cache;
  };
  CHECK_FALSE(compile("1"));
  const auto one = std::filesystem::file_size(folder.files()[0]);
  options.cache_bytes = one * 4;
  for (const char* constant : {"2", "3", "4", "5", "6", "7", "8"}) CHECK_FALSE(compile(constant));
  CHECK(folder.files().size() <= 4);
  CHECK(compile("8"));
  CHECK_FALSE(compile("1"));
}

TEST_CASE("the cache on disk: what is in it is not lowered again, what cannot be lowered is refused beside it") {
  Folder folder;
  Text t(kAdd);
  Text bad(elementwise("T.call_extern(\"float32\", \"nothing\", A[i])", "float32", "float32", "float32"));
  JitOptions options;
  options.cache_dir = folder.path;
  // Lowerings of a process that adds and runs the kernel.
  const auto lowerings = [&] {
    const std::uint64_t before = codegen::lowered_count();
    auto jit = Jit::create(options).value();
    auto kernel = jit->add(t.ctx, t.f, "add").value();
    auto args = three(100);
    REQUIRE(runtime::call_kernel(*kernel, args).ok());
    const std::uint64_t done = codegen::lowered_count() - before;
    CHECK_FALSE(jit->add(bad.ctx, bad.f, "bad").ok());
    return done;
  };
  CHECK(lowerings() > 0);
  CHECK(lowerings() == 0);
  options.check_bounds = false;  // another key
  CHECK(lowerings() > 0);
  CHECK(lowerings() == 0);
  options.cache_dir.clear();
  CHECK(lowerings() > 0);
  CHECK(lowerings() > 0);
}

TEST_CASE("object code goes out and comes back, and damaged code is refused") {
  Text t(kAdd);
  auto jit = Jit::create({}).value();
  const std::string blob = jit->object_code(t.ctx, t.f, "add").value();
  auto other = Jit::create({}).value();
  auto kernel = other->add_object(blob, "add");
  REQUIRE(kernel.ok());
  CHECK((*kernel)->signature().params.size() == 3);
  auto args = three(33);
  REQUIRE(runtime::call_kernel(**kernel, args).ok());
  CHECK(args[2].as_tensor().at(32) == 3);

  for (std::size_t cut = 0; cut < blob.size(); cut += 97) {
    const auto bad = other->add_object(blob.substr(0, cut), "add");
    REQUIRE_FALSE(bad.ok());
    CHECK(bad.error().text.find("`add`") != std::string::npos);
  }
  for (std::size_t at = 0; at < blob.size(); at += 61) {
    std::string bad = blob;
    bad[at] = char(bad[at] ^ 0x20);
    CHECK_FALSE(other->add_object(bad, "add").ok());
  }
  CHECK_FALSE(other->add_object("", "add").ok());
  CHECK_FALSE(other->add_object(std::string(1000, '\xff'), "add").ok());
}

TEST_CASE("a header that lies behind a right checksum is refused") {
  codegen::Artefact a;
  a.signature.name = "f";
  a.signature.variables = {"n"};
  a.signature.variable_dtypes = {runtime::DType::Int(64)};
  runtime::KernelParam p;
  p.name = "A";
  p.dtype = runtime::DType::Float(32);
  p.shape.push_back({{{runtime::DimOp::Code::Var, 0}}, "n"});
  a.signature.params.push_back(p);
  a.symbol = "rldb_kernel";
  a.object = "not an object file";
  REQUIRE(codegen::from_blob(codegen::to_blob(a, "key"), "key").ok());
  CHECK_FALSE(codegen::from_blob(codegen::to_blob(a, "key"), "other key").ok());
  const auto refused = [](const codegen::Artefact& bad) {
    return !codegen::from_blob(codegen::to_blob(bad, "key"), "key").ok();
  };
  codegen::Artefact bad = a;
  bad.signature.params[0].shape[0].code[0].value = 1;  // no such variable
  CHECK(refused(bad));
  bad = a;
  bad.signature.params[0].shape[0].code.push_back({runtime::DimOp::Code::Add, 0});  // one operand
  CHECK(refused(bad));
  bad = a;
  bad.signature.params[0].shape[0].code.clear();
  CHECK(refused(bad));
  bad = a;
  bad.signature.params[0].variable = 5;
  CHECK(refused(bad));
  bad = a;
  bad.signature.params[0].shape[0].code[0].code = runtime::DimOp::Code(99);
  CHECK(refused(bad));
}

TEST_CASE("checked code names the buffer, the index and the loop variables") {
  Case c;
  c.symbols["n"] = 4;
  c.jit.check_bounds = true;
  const std::string text = R"(
@T.prim_func
def kernel(A: T.Buffer(("n", 8), "float32"), B: T.Buffer(("n", 8), "float32")):
    n = T.int64()
    for i, j in T.grid(n, T.int64(8)):
        B[i, j] = A[i + T.int64(2), j]
)";
  const std::string error = jit_error(text, c);
  CAPTURE(error);
  CHECK(error.find("access out of bounds: `A`, index 0 is 4, but the extent is 4") == 0);
  CHECK(error.find("i = 2, j = 0") != std::string::npos);
  CHECK(error.find("in kernel `kernel`") != std::string::npos);
  CHECK(both(text, c) == "");  // the evaluator stops too
  CHECK(both(kAdd, c) == "");
}

TEST_CASE("checked code agrees where nothing is wrong") {
  Case c;
  c.jit.check_bounds = true;
  c.tolerance = {1e-5, 1e-5, true};
  c.symbols = {{"m", 9}, {"n", 20}};
  CHECK(both(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer(("m", "n"), "float32"), C: T.Buffer(("n",), "float32")):
    T.func_attr({"tirx.noalias": True})
    m = T.int64()
    n = T.int64()
    for j, k in T.grid(n, m):
        with T.sblock("columns"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                C[vj] = T.float32(0)
            C[vj] = C[vj] + A[vk, vj]
    for i in T.vectorized(8):
        C[i] = C[i] + T.float32(1)
)",
             c) == "");
}

TEST_CASE("a signal inside a kernel is an error, and the process goes on") {
  const std::string wild = R"(
@T.prim_func
def kernel(A: T.Buffer((4,), "float32"), n: T.int64):
    A[n] = T.float32(1)
)";
  Case c;
  c.jit.check_bounds = false;
  c.symbols["n"] = std::int64_t(1) << 44;
  for (int again = 0; again < 3; ++again) {
    const std::string error = jit_error(wild, c);
    CAPTURE(error);
    CHECK(error.find("kernel `kernel` was stopped by an access to memory that is not its own (SIGSEGV)") == 0);
  }
  c.symbols["n"] = 2;
  CHECK(jit_error(wild, c) == "");
}

TEST_CASE("an interrupt stops a kernel") {
  std::atomic<bool> stop{true};
  Case c;
  c.jit.interrupt = &stop;
  const std::string loops = R"(
@T.prim_func
def kernel(A: T.Buffer((64, 4096), "float32")):
    for t in range(1000000):
        for i, j in T.grid(64, 4096):
            A[i, j] = A[i, j] * T.float32(1.5) + T.float32(1)
)";
  const std::string forever = R"(
@T.prim_func
def kernel(A: T.Buffer((4,), "int32")):
    while A[0] == A[0]:
        A[1] = A[1] + 1
)";
  const std::string product = R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((256, 256), "float32"), B: T.Buffer((256, 256), "float32"), C: T.Buffer((256, 256), "float32")):
    T.func_attr({"tirx.noalias": True})
    for i, j, k in T.grid(256, 256, 256):
        with T.sblock("mm"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";
  for (const std::string& text : {loops, forever, product}) CHECK(jit_error(text, c).find("interrupted") == 0);
  stop = false;
  CHECK(jit_error(product, c) == "");
}

TEST_CASE("packed functions are called with buffers, numbers and text") {
  runtime::PackedRegistry registry;
  std::vector<std::string> seen;
  registry.register_function("test.twice", [&](runtime::PackedArgs args) -> runtime::Result<Value> {
    seen.push_back(fmt::format("{} {}", args.size(), runtime::describe(args[0])));
    runtime::Tensor& t = args[0].as_tensor();
    for (std::int64_t i = 0; i < t.element_count(); ++i)
      runtime::store_double(t.data() + std::size_t(i) * t.dtype().bytes(), t.dtype(), 2 * t.at(i));
    return Value();
  });
  registry.register_function("test.fail", [](runtime::PackedArgs) -> runtime::Result<Value> {
    return runtime::fail(ErrorKind::Raised, "no, thank you");
  });
  registry.register_function("test.words", [](runtime::PackedArgs) { return Value::of_string("words"); });
  Case c;
  c.registry = &registry;
  const std::string text = R"(
@T.prim_func
def kernel(A: T.Buffer((8,), "float32"), n: T.int64):
    T.call_packed("test.twice", A.data, n, T.float32(0.5), "words")
)";
  CHECK(both(text, c) == "");
  REQUIRE(seen.size() >= 2);  // by each tier, and by the evaluator
  for (const std::string& call : seen) CHECK(call == seen[0]);
  std::string other = text;
  other.replace(other.find("test.twice"), 10, "test.fail");
  CHECK(jit_error(other, c).find("no, thank you") == 0);
  other.replace(other.find("test.fail"), 9, "test.none");
  CHECK(jit_error(other, c).find("no packed function `test.none` is registered") == 0);
  // Any result will do where nobody uses it.
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer((8,), "float32")):
    T.call_packed("test.words")
    A[0] = T.float32(3)
)",
             c) == "");
  CHECK_FALSE(jit_error(R"(
@T.prim_func
def kernel(A: T.Buffer((8,), "float32")):
    A[0] = T.Cast("float32", T.call_packed("test.words", dtype="int64"))
)",
                        c)
                  .empty());
}

TEST_CASE("memory over the limit is an error, and what was allocated is given back") {
  const std::string text = R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((4,), "float32"), n: T.int64):
    with T.sblock("root"):
        X = T.sblock_alloc_buffer((n,), "float32")
        for i in range(4):
            with T.sblock("b"):
                vi = T.axis.spatial(4, i)
                X[vi] = A[vi]
                A[vi] = X[vi] + T.float32(1)
)";
  const std::size_t before = runtime::memory_in_use();
  Case c;
  c.symbols["n"] = std::int64_t(1) << 60;
  CHECK(both(text, c) == "");
  CHECK_FALSE(jit_error(text, c).empty());
  c.symbols["n"] = -1;
  CHECK_FALSE(jit_error(text, c).empty());
  c.symbols["n"] = 1000;
  CHECK(both(text, c) == "");
  CHECK(runtime::memory_in_use() == before);
}

TEST_CASE("outputs that no cache holds, at any alignment") {
  Text t(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer(("n", 3), "float32"), B: T.Buffer(("n", 3), "float32"), C: T.Buffer(("n", 3), "float32")):
    T.func_attr({"tirx.noalias": True})
    n = T.int64()
    for i, j in T.grid(n, 3):
        with T.sblock("add"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(A[vi, vj] < T.float32(10), A[vi, vj] + B[vi, vj], T.float32(-1))
)");
  REQUIRE_MESSAGE(t.f, t.problem);
  auto jit = Jit::create({}).value();
  auto kernel = jit->add(t.ctx, t.f, "add").value();
  const auto f32 = runtime::DType::Float(32);
  const std::int64_t n = (std::int64_t(32) << 20) / 12 + 7;
  const std::vector<Value> inputs{tensor({n, 3}, f32, 1), tensor({n, 3}, f32, 2)};
  for (const std::size_t offset : {std::size_t(0), std::size_t(4), std::size_t(60)}) {
    auto storage = runtime::Storage::allocate(std::size_t(n) * 12 + 64).value();
    std::memset(storage->data(), 0, storage->size());
    auto out = runtime::Tensor::view(storage, offset, {n, 3}, f32).value();
    REQUIRE(runtime::call_kernel(*kernel, std::vector<Value>{inputs[0], inputs[1], Value(out)}).ok());
    const auto* data = reinterpret_cast<const float*>(out->data());
    std::int64_t right = 0;
    for (std::int64_t i = 0; i < n * 3; ++i) right += data[i] == 3;
    CHECK(right == n * 3);
    for (std::size_t i = offset + std::size_t(n) * 12; i < storage->size(); ++i)
      CHECK(storage->data()[i] == std::byte(0));
  }
}

TEST_CASE("an interrupt stops innermost loops, whatever their extent is made of") {
  const auto stopped = [](const std::string& text, std::int64_t n, bool schedule) {
    std::atomic<bool> stop{false};
    Case c;
    c.symbols["n"] = n;
    c.jit.interrupt = &stop;
    c.jit.schedule = schedule;
    std::chrono::steady_clock::time_point asked;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
      asked = std::chrono::steady_clock::now();
      stop = true;
    });
    const std::string error = jit_error(text, c);
    const auto took = std::chrono::steady_clock::now();
    other.join();
    CHECK(error.find("interrupted") == 0);
    // 200 ms on an otherwise idle machine.
    CHECK(took - asked < std::chrono::milliseconds(1000));
  };
  const std::string head = "\n@T.prim_func\ndef kernel(A: T.Buffer((64,), \"float32\"), n: T.int64):\n";
  const std::string one = head + "    for i in range(n):\n        A[i % 64] = A[(i + 1) % 64] * T.float32(1.5)\n";
  const std::string fixed =
      head + "    for i in range(100000000000):\n        A[i % 64] = A[(i + 1) % 64] * T.float32(1.5)\n";
  const std::string inside = head +
                             "    for j in range(2):\n        for i, k in T.grid(n, 3):\n"
                             "            A[i % 64] = A[k] * T.float32(1.5)\n";
  const std::string reduction = R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int64):
    T.func_attr({"tirx.noalias": True})
    for j, k in T.grid(64, n):
        with T.sblock("sum"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                B[vj] = T.float32(0)
            B[vj] = B[vj] + A[vj]
)";
  for (const bool schedule : {true, false})
    for (const std::string& text : {one, fixed, inside, reduction}) {
      CAPTURE(text);
      stopped(text, std::int64_t(1) << 40, schedule);
    }
}

TEST_CASE("loops that are done in chunks do what they did") {
  Case c;
  for (const std::int64_t n : {0, 1, 65535, 65536, 65537, 200000}) {
    c.symbols["n"] = n;
    CHECK(both(elementwise("A[i] + B[i]", "float32", "float32", "float32"), c) == "");
    CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer((4,), "int64"), n: T.int64):
    A[0] = T.int64(0)
    for i in range(n):
        if i % 3 == 0:
            continue
        if i > 150000:
            break
        A[0] = A[0] + i
    for i in T.serial(-70000, 70000, step=7):
        A[1] = A[1] + i * i
)",
               c) == "");
  }
}

TEST_CASE("unrolling that is asked for is bounded, and changes no value") {
  Case c;
  const std::string text = R"(
@T.prim_func
def kernel(A: T.Buffer((32, 32, 32), "int32"), B: T.Buffer((32, 32, 32), "int32")):
    for i in T.unroll(32):
        for j in T.unroll(32):
            for k in T.unroll(32):
                B[i, j, k] = A[k, j, i] * 3 + i
)";
  const auto start = std::chrono::steady_clock::now();
  CHECK(both(text, c) == "");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));  // it took 48 seconds
}

TEST_CASE("compilation is cancelled, and the process goes on") {
  std::string body;
  for (int i = 0; i < 2000; ++i)  // seconds of work, even if the other thread is late
    body += "    for i in T.unroll(8):\n        A[(i * " + std::to_string(i + 3) + ") % 64] = A[i] * T.float32(1.5)\n";
  Text t("\n@T.prim_func\ndef kernel(A: T.Buffer((64,), \"float32\")):\n" + body);
  REQUIRE_MESSAGE(t.f, t.problem);
  auto jit = Jit::create({}).value();
  REQUIRE(jit->add(t.ctx, t.f, "kernel").ok());
  std::chrono::steady_clock::time_point asked;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    asked = std::chrono::steady_clock::now();
    support::request_cancel(support::CancelCause::Interrupt);
  });
  CHECK_THROWS_AS((void)jit->compile("kernel"), support::Cancelled);
  CHECK(std::chrono::steady_clock::now() - asked < std::chrono::seconds(5));
  other.join();
  support::clear_cancel();
  // The next one does not wait for it.
  CHECK(jit_error(kAdd, Case{}) == "");
}

TEST_CASE("a fatal error of LLVM's ends the compilation alone") {
  codegen::fail_next_compilation();
  CHECK(jit_error(kAdd, Case{}).find("LLVM stopped: injected") != std::string::npos);
  CHECK(jit_error(kAdd, Case{}) == "");
}

TEST_CASE("unchecked code: a wild access is a signal or found at the end, and names the kernel") {
  runtime::set_guarded_storage(true);
  Case c;
  c.jit.check_bounds = false;
  const auto text = [](const char* statement) {
    return std::string(
               "\n@T.prim_func\ndef kernel(A: T.Buffer((10,), \"float32\"), B: T.Buffer((16,), \"float32\"), k: "
               "T.int64):\n    ") +
           statement + "\n";
  };
  for (const std::int64_t k : {10, 15, -1}) {
    c.symbols["k"] = k;
    CHECK(jit_error(text("A[k] = T.float32(1)"), c).find("kernel `kernel` has written past the memory") == 0);
  }
  c.symbols["k"] = 16;
  CHECK(jit_error(text("A[0] = B[k]"), c).find("kernel `kernel` was stopped by an access to memory") == 0);
  CHECK(jit_error(text("B[k] = T.float32(1)"), c).find("kernel `kernel` was stopped by an access to memory") == 0);
  c.symbols["k"] = -2000;
  CHECK(jit_error(text("B[k] = T.float32(1)"), c).find("kernel `kernel` was stopped by an access to memory") == 0);
  // Allocations that an access may miss are not on the stack.
  const std::string local = R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((10,), "float32"), k: T.int64):
    with T.sblock("root"):
        B = T.sblock_alloc_buffer((10,), "float32")
        B[k] = T.float32(1)
        A[0] = B[0]
)";
  c.symbols["k"] = 12;
  CHECK(jit_error(local, c).find("kernel `kernel` has written past the memory") == 0);
  c.symbols["k"] = 9;
  CHECK(jit_error(local, c) == "");
  runtime::set_guarded_storage(false);
}

TEST_CASE("divisions, remainders and shifts out of the ordinary: both engines say the same") {
  for (const char* type : {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
    for (const char* op : {"A[i] // B[i]", "A[i] % B[i]", "T.truncdiv(A[i], B[i])", "T.truncmod(A[i], B[i])",
                           "T.shift_left(A[i], B[i])", "T.shift_right(A[i], B[i])"}) {
      Text t(elementwise(op, type, type, type));
      REQUIRE_MESSAGE(t.f, t.problem);
      auto signature = eval::signature_of(t.f, "kernel").value();
      auto jit = Jit::create({}).value();
      auto compiled = jit->add(t.ctx, t.f, "kernel");
      REQUIRE(compiled.ok());
      auto reference = eval::make_eval_kernel(t.f, signature, nullptr, nullptr);
      const bool divides = std::string(op).find("shift") == std::string::npos;
      const int bits = signature.params[0].dtype.bits;
      const std::int64_t low = std::int64_t(std::uint64_t(1) << (bits - 1));
      const std::int64_t special[] = {0,    1,        -1,   2,        -2, 7,  -7, low, low - 1,
                                      -low, bits - 1, bits, bits + 1, 63, 64, 65, 127};
      for (const std::int64_t a : special)
        for (const std::int64_t b : special) {
          std::vector<Value> args[2];
          std::string said[2];
          for (int engine = 0; engine < 2; ++engine) {
            for (int p = 0; p < 3; ++p) {
              auto tensor = runtime::Tensor::empty({1}, signature.params[0].dtype).value();
              runtime::store_int(tensor->data(), tensor->dtype(), p == 0 ? a : p == 1 ? b : 0);
              args[engine].push_back(Value(std::move(tensor)));
            }
            runtime::Kernel& kernel = engine == 0 ? *reference : **compiled;
            auto done = runtime::call_kernel(kernel, args[engine]);
            said[engine] = done.ok() ? std::to_string(runtime::load_as_int(args[engine][2].as_tensor().data(),
                                                                           signature.params[0].dtype))
                                     : done.error().message;
          }
          CAPTURE(type);
          CAPTURE(op);
          CAPTURE(a);
          CAPTURE(b);
          CHECK(said[0] == said[1]);
          if (divides && b == 0) CHECK(said[1] == "integer division by zero");
        }
    }
}
