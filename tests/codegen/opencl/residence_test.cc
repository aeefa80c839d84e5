// Tensors stay on the device: which copies a call makes, counted by runtime/device.h.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "codegen/opencl/on_device.h"
#include "rldb/runtime/clear.h"
#include "rldb/runtime/device_error.h"
#include "rldb/runtime/shared_memory.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/runtime/tensor_place.h"

using namespace rldb;
using namespace rldb::codegen::testing;
using runtime::Value;

namespace {

constexpr const char* kAdd =
    "from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n"
    "def add(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
    "    for tx in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
    "        with T.sblock(\"b\"):\n"
    "            vi = T.axis.spatial(64, tx)\n"
    "            B[vi] = A[vi] + T.float32(1)\n";
// Adds in place, and reads the element that I says.
constexpr const char* kInPlace =
    "from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n"
    "def gather(I: T.Buffer((64,), \"int32\"), A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
    "    for tx in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
    "        with T.sblock(\"b\"):\n"
    "            vi = T.axis.spatial(64, tx)\n"
    "            B[vi] = B[vi] + A[I[vi]]\n";

struct Traffic {
  std::size_t in = 0, out = 0;
  bool operator==(const Traffic&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Traffic& t) { return out << t.in << " in, " << t.out << " out"; }

Traffic traffic() {
  for (const runtime::DeviceUse& use : runtime::device_uses())
    if (use.device.type == 4) return {use.copies_in, use.copies_out};
  return {};
}

std::shared_ptr<runtime::Kernel> kernel_in(KernelText& t) {
  REQUIRE(t.problem == "");
  auto kernel = codegen::opencl_kernel(t.ctx, t.functions[0].second, t.functions[0].first, {});
  REQUIRE_MESSAGE(kernel.ok(), kernel.error().text);
  return *kernel;
}

Value literal(const char* text) { return runtime::parse_value_literal(text).value(); }
Value fresh() { return Value(runtime::Tensor::empty({64}, runtime::DType::Float(32)).value()); }
std::string run(runtime::Kernel& kernel, std::vector<Value> args) {
  auto done = runtime::call_kernel(kernel, args);
  return done.ok() ? "" : done.error().message;
}
std::string place(const Value& v) { return runtime::place_of(v); }
constexpr const char* kBoth = "cpu and opencl:0";
void write(const Value& v, int i, float x) { reinterpret_cast<float*>(v.as_tensor().data())[i] = x; }
std::size_t bytes_on_device() {
  for (const runtime::DeviceUse& use : runtime::device_uses())
    if (use.device.type == 4) return use.bytes;
  return 0;
}

}  // namespace

TEST_CASE("opencl: results stay on the device, and inputs are copied once") {
  if (!has_device()) return;
  KernelText t(kAdd);
  const auto add = kernel_in(t);
  const Value a = literal("64xf32=arange"), b = fresh(), c = fresh();
  runtime::reset_device_traffic();
  CHECK(run(*add, {a, b}) == "");
  CHECK(run(*add, {b, c}) == "");
  CHECK(run(*add, {a, b}) == "");
  CHECK(traffic() == Traffic{1, 0});
  CHECK(place(a) == kBoth);
  CHECK(place(b) == "opencl:0");
  CHECK(b.as_tensor().at(3) == 4);
  CHECK(c.as_tensor().at(63) == 65);
  CHECK(traffic() == Traffic{1, 2});
  CHECK(place(c) == kBoth);
}

TEST_CASE("opencl: what the host writes is copied again") {
  if (!has_device()) return;
  KernelText t(kAdd);
  const auto add = kernel_in(t);
  const Value a = literal("64xf32=zeros"), b = fresh();
  runtime::reset_device_traffic();
  CHECK(run(*add, {a, b}) == "");
  write(a, 5, 7);
  CHECK(place(a) == "cpu");
  CHECK(run(*add, {a, b}) == "");
  CHECK(b.as_tensor().at(5) == 8);
  CHECK(traffic() == Traffic{2, 1});
  // A result that the host changes.
  write(b, 6, 1);
  CHECK(b.as_tensor().at(5) == 8);
  CHECK(run(*add, {b, a}) == "");
  CHECK(a.as_tensor().at(5) == 9);
  CHECK(a.as_tensor().at(6) == 2);
}

TEST_CASE("opencl: parts of one storage, and copies of it") {
  if (!has_device()) return;
  KernelText t(kAdd);
  const auto add = kernel_in(t);
  auto storage = runtime::Storage::allocate(2048).value();
  const auto part = [&](std::size_t at) {
    return Value(runtime::Tensor::view(storage, at, {64}, runtime::DType::Float(32)).value());
  };
  const Value a = part(0), b = part(1024), odd = part(1500);
  runtime::reset_device_traffic();
  CHECK(run(*add, {a, b}) == "");  // of zeros that nobody wrote
  CHECK(run(*add, {b, a}) == "");
  CHECK(run(*add, {a, odd}) == "");  // a place where no part of memory may begin
  CHECK(run(*add, {odd, a}) == "");
  CHECK(traffic() == Traffic{0, 0});
  CHECK(a.as_tensor().at(0) == 4);
  CHECK(odd.as_tensor().at(63) == 3);
  CHECK(b.as_tensor().at(0) == 1);
  CHECK(traffic() == Traffic{0, 1});
  const auto copy = storage->clone().value();
  CHECK(runtime::load_as_double(copy->peek(), runtime::DType::Float(32)) == 4);
}

TEST_CASE("opencl: tensors whose address foreign code has are copied at each call") {
  if (!has_device()) return;
  KernelText t(kAdd);
  const auto add = kernel_in(t);
  const Value a = literal("64xf32=zeros"), b = fresh();
  CHECK(run(*add, {a, b}) == "");
  CHECK(run(*add, {b, a}) == "");
  {
    const Value pinned[] = {a};
    const runtime::Pinned pin(pinned);
    auto* at = reinterpret_cast<float*>(a.as_tensor().storage()->host_memory());
    CHECK(at[1] == 2);
    at[1] = 5;
    CHECK(run(*add, {a, b}) == "");
    CHECK(b.as_tensor().at(1) == 6);
    CHECK(run(*add, {b, a}) == "");
    CHECK(at[1] == 7);
  }
  CHECK(run(*add, {a, b}) == "");
  CHECK(b.as_tensor().at(1) == 8);
}

TEST_CASE("opencl: memory that checkpoints share keeps what it had") {
  if (!has_device()) return;
  runtime::set_shared_from(1);
  KernelText add_text(kAdd), gather_text(kInPlace);
  const auto add = kernel_in(add_text), gather = kernel_in(gather_text);
  const Value a = literal("64xf32=zeros"), b = fresh(), zeros = literal("64xi32=zeros");
  CHECK(run(*add, {a, b}) == "");  // b is on the device only
  const auto kept = runtime::share(b.as_tensor().storage()).value();
  CHECK(place(b) == "opencl:0");
  CHECK(runtime::place_of(Value(kept)) == "opencl:0");
  const auto first = [](const runtime::Storage& s) {
    return runtime::load_as_double(s.peek(), runtime::DType::Float(32));
  };
  CHECK(run(*gather, {zeros, a, b}) == "");  // in place: b += a[0]
  CHECK(run(*add, {b, a}) == "");
  CHECK(run(*gather, {zeros, a, b}) == "");
  CHECK(first(*kept) == 1);
  CHECK(b.as_tensor().at(0) == 3);
  // A kernel reads what is shared, and the host writes it.
  const auto again = runtime::share(b.as_tensor().storage()).value();
  CHECK(run(*add, {b, a}) == "");
  CHECK(runtime::own(*b.as_tensor().storage()).ok());
  write(b, 0, 10);
  CHECK(run(*add, {b, a}) == "");
  CHECK(a.as_tensor().at(0) == 11);
  CHECK(first(*again) == 3);
  runtime::set_shared_from(64 * 1024);
}

TEST_CASE("opencl: memory of the device is freed, and given up when there is no more") {
  if (!has_device()) return;
  KernelText t(kAdd);
  const auto add = kernel_in(t);
  const std::size_t before = bytes_on_device();
  {
    std::vector<Value> chain;
    for (int i = 0; i < 12; ++i) chain.push_back(fresh());
    // Room for three tensors of 256 bytes, and the record of faults.
    runtime::set_memory_limit(before + 1000);
    for (int i = 1; i < 12; ++i) CHECK(run(*add, {chain[i - 1], chain[i]}) == "");
    CHECK(bytes_on_device() <= before + 1000);
    CHECK(place(chain[1]) == "cpu");
    CHECK(place(chain[11]) == "opencl:0");
    runtime::set_memory_limit(~std::size_t(0));
    for (int i = 0; i < 12; ++i) CHECK(chain[i].as_tensor().at(7) == i);
  }
  CHECK(bytes_on_device() == before);
}

TEST_CASE("opencl: memory is cleared where its bytes are") {
  if (!has_device()) return;
  KernelText t(kAdd);
  const auto add = kernel_in(t);
  auto storage = runtime::Storage::allocate(2048).value();
  const auto part = [&](std::size_t at, std::int64_t n) {
    return Value(runtime::Tensor::view(storage, at, {n}, runtime::DType::Float(32)).value());
  };
  const Value a = part(0, 64), b = part(1024, 64), all = part(0, 512), c = fresh();
  runtime::reset_device_traffic();
  CHECK(run(*add, {a, b}) == "");
  CHECK(run(*add, {b, a}) == "");
  CHECK(runtime::clear(b.as_tensor()).ok());
  CHECK(place(b) == "opencl:0");
  CHECK(run(*add, {b, c}) == "");
  CHECK(traffic() == Traffic{0, 0});
  CHECK(c.as_tensor().at(5) == 1);
  CHECK(a.as_tensor().at(5) == 2);
  CHECK(b.as_tensor().at(5) == 0);
  CHECK(place(a) == kBoth);
  CHECK(runtime::clear(a.as_tensor()).ok());  // both have it
  CHECK(place(a) == kBoth);
  CHECK(a.as_tensor().at(5) == 0);
  write(b, 5, 3);
  CHECK(runtime::clear(a.as_tensor()).ok());  // only the host has the other part
  CHECK(place(a) == "cpu");
  CHECK(b.as_tensor().at(5) == 3);
  CHECK(runtime::clear(all.as_tensor()).ok());
  CHECK(place(b) == kBoth);
  runtime::reset_device_traffic();
  CHECK(run(*add, {b, c}) == "");
  CHECK(traffic() == Traffic{0, 0});
  CHECK(c.as_tensor().at(5) == 1);
  CHECK(b.as_tensor().at(5) == 0);
}

TEST_CASE("opencl: a fault changes nothing, wherever the bytes are") {
  if (!has_device()) return;
  KernelText add_text(kAdd), gather_text(kInPlace);
  const auto add = kernel_in(add_text), gather = kernel_in(gather_text);
  const Value good = literal("64xi32=zeros");
  const Value ones = literal("64xf32=ones");
  const Value wrong = literal("64xi32=zeros");
  for (int i = 0; i < 64; i += 2) reinterpret_cast<std::int32_t*>(wrong.as_tensor().data())[i] = 100;
  for (const bool on_device : {false, true}) {
    INFO(on_device);
    const Value b = fresh();
    if (on_device)
      CHECK(run(*add, {ones, b}) == "");
    else
      std::fill_n(reinterpret_cast<float*>(b.as_tensor().data()), 64, 2.0f);
    CHECK(run(*gather, {wrong, ones, b}).find("access out of bounds: `A`, index 0 is 100") == 0);
    CHECK(place(b) == (on_device ? "opencl:0" : "cpu"));
    for (int i = 0; i < 64; ++i) CHECK(b.as_tensor().at(i) == 2);
    CHECK(run(*gather, {good, ones, b}) == "");
    CHECK(b.as_tensor().at(63) == 3);
  }
}

TEST_CASE("opencl: what only the device has is kept for a call that is interrupted, without tests of bounds") {
  if (!has_device()) return;
  KernelText add_text(kAdd), gather_text(kInPlace);
  REQUIRE(gather_text.problem == "");
  static std::atomic<bool> interrupt;
  interrupt = false;
  codegen::GpuOptions options;
  options.check_bounds = false;
  options.interrupt = &interrupt;
  const auto add = kernel_in(add_text);
  auto gather =
      codegen::opencl_kernel(gather_text.ctx, gather_text.functions[0].second, gather_text.functions[0].first, options);
  REQUIRE(gather.ok());
  const Value ones = literal("64xf32=ones"), zeros = literal("64xi32=zeros"), b = fresh();
  CHECK(run(*add, {ones, b}) == "");
  CHECK(run(**gather, {zeros, ones, b}) == "");
  runtime::reset_device_traffic();
  const std::size_t before = bytes_on_device();
  CHECK(run(**gather, {zeros, ones, b}) == "");
  for (const runtime::DeviceUse& use : runtime::device_uses())
    if (use.device.type == 4) CHECK(use.peak >= before + 256);
  interrupt = true;
  const std::string stopped = run(**gather, {zeros, ones, b});
  interrupt = false;
  if (stopped.empty()) return;  // it had ended before
  CHECK(b.as_tensor().at(5) == 4);
}

TEST_CASE("opencl: tensors are dropped on another thread while kernels run") {
  if (!has_device()) return;
  KernelText t(kAdd);
  const auto add = kernel_in(t);
  const std::size_t before = bytes_on_device();
  for (int round = 0; round < 20; ++round) {
    std::vector<Value> dropped;
    for (int i = 0; i < 8; ++i) dropped.push_back(fresh());
    const Value a = literal("64xf32=ones"), b = fresh();
    for (const Value& v : dropped) CHECK(run(*add, {a, v}) == "");
    std::thread other([&] { dropped.clear(); });
    for (int i = 0; i < 8; ++i) CHECK(run(*add, {a, b}) == "");
    other.join();
    CHECK(b.as_tensor().at(3) == 2);
  }
  CHECK(bytes_on_device() == before);
}

namespace {

// A copy on a device that has gone.
class Gone : public runtime::DeviceCopy {
 public:
  runtime::Device device() const override { return {4, 0}; }
  bool fetch() override {
    if (!mended) runtime::note_device_error({runtime::ErrorKind::Raised, "the device is gone", {}});
    return mended;
  }
  bool mended = false;
};

}  // namespace

TEST_CASE("bytes that do not come from a device are not shown, nor copied") {
  const Value v = fresh();
  auto* gone = new Gone;
  v.as_tensor().storage()->set_device_copy(support::Ref<runtime::DeviceCopy>(gone));
  gone->set_current(runtime::DeviceCopy::Current::Device);
  CHECK(runtime::read_back(Value::of_tuple({v})).error().message == "the device is gone");
  CHECK(runtime::format_value(v).find("<not readable: the device is gone>") != std::string::npos);
  CHECK_FALSE(v.as_tensor().storage()->clone().ok());
  CHECK_FALSE(runtime::take_device_error());  // each was told to who asked
  (void)v.as_tensor().peek();
  CHECK(runtime::take_device_error());
  gone->mended = true;
  CHECK(runtime::read_back(v).ok());
  CHECK(runtime::format_value(v).find("not readable") == std::string::npos);
}
