#include "rldb/runtime/isolate.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "rldb/runtime/plugin.h"
#include "rldb/support/cancel.h"
#include "runtime/helpers.h"

using namespace rldb::runtime;
using namespace rldb::runtime::testing;

namespace {

const std::string kHostile = RLDB_HOSTILE_PLUGIN;
const DType kF32 = DType::Float(32);

struct Kept : Output {
  void write(std::string_view t) override { text += t; }
  std::string text;
};

// An active isolation, and its requirements.
struct Room {
  Room() {
    isolation->on = &on;
    isolation->interrupt = &interrupt;
    isolation->output = &output;
  }
  bool on = true;
  std::atomic<bool> interrupt{false};
  Kept kept;
  Output* output = &kept;
  std::shared_ptr<Isolation> isolation = std::make_shared<Isolation>();
};

struct Hostile : Room {
  Hostile() {
    const auto names = load_plugin(registry, kHostile, isolation);
    REQUIRE_MESSAGE(names.ok(), (names.ok() ? "" : names.error().message));
  }
  Result<Value> call(std::string_view name, std::vector<Value> args = {}) {
    return registry.find(name)->function->native(args);
  }
  std::string error(std::string_view name, std::vector<Value> args = {}) {
    const auto result = call(name, std::move(args));
    return result.ok() ? "no error" : result.error().message;
  }
  PackedRegistry registry;
};

// A kernel made from a C++ function.
class FakeKernel : public Kernel {
 public:
  using Body = std::function<Result<Value>(PackedArgs)>;
  explicit FakeKernel(Body body) : body_(std::move(body)) {
    signature_.name = "fake";
    signature_.params.push_back({"A", true, kF32, {}, -1, true});
  }
  const KernelSignature& signature() const override { return signature_; }
  void prepare() override {
    ++prepared;
    if (cancels) throw rldb::support::Cancelled(rldb::support::CancelCause::Interrupt);
  }
  Result<Value> run(PackedArgs args, std::span<const std::int64_t>) override { return body_(args); }
  int prepared = 0;
  bool cancels = false;

 private:
  KernelSignature signature_;
  Body body_;
};

float* floats(const Value& v) { return reinterpret_cast<float*>(v.as_tensor().data()); }

void interrupt_soon(Room& room) {
  std::thread([&room] {
    ::usleep(50'000);
    room.interrupt = true;
  }).detach();
}

}  // namespace

TEST_CASE("isolated plugin: what behaves works as it does without") {
  Hostile h;
  const Value x(tensor({3}, kF32, {1, 2, 3}));
  REQUIRE(h.call("adds_one", {x}).ok());
  CHECK(elements(x) == std::vector<double>{2, 3, 4});
  CHECK(h.call("same", {x, x})->as_int() == 1);
  CHECK(h.call("same", {x, Value(tensor({3}, kF32, {1, 2, 3}))})->as_int() == 0);
  // One guard: state is kept from call to call.
  CHECK(h.call("counts")->as_int() == 1);
  CHECK(h.call("counts")->as_int() == 2);
  CHECK(h.error("raises") == "`raises`: ValueError: as asked");
  CHECK(h.error("counts", {Value(*Storage::allocate(8))}) ==
        "`counts`: argument 0: a storage cannot be passed to a guard process (`isolate` is on)");
  // A view in the middle of a storage, and an empty tensor.
  const Value middle(Tensor::view(x.as_tensor().storage(), 4, {1}, kF32).value());
  REQUIRE(h.call("adds_one", {middle}).ok());
  CHECK(elements(x) == std::vector<double>{2, 4, 4});
  CHECK(h.call("adds_one", {Value(tensor({0}, kF32, {}))}).ok());
}

TEST_CASE("isolated plugin: a crash, an abort and an exit are errors, and the next call has a new guard") {
  Hostile h;
  const Value x(tensor({1}, kF32, {7}));
  REQUIRE(h.call("counts").ok());
  CHECK(h.error("crash", {x}) == "`crash` crashed with SIGSEGV (an access to memory that is not its own)");
  CHECK(elements(x) == std::vector<double>{7});
  CHECK(h.call("counts")->as_int() == 1);
  CHECK(h.error("aborts") == "`aborts` crashed with SIGABRT (it aborted)");
  CHECK(h.error("exits") == "`exits` ended its process with exit code 3");
  CHECK(h.error("leaves_a_child") == "`leaves_a_child` ended its process with exit code 4");
  REQUIRE(h.call("adds_one", {x}).ok());
  CHECK(elements(x) == std::vector<double>{8});
}

TEST_CASE("isolated plugin: one that crashes while it is loaded is refused") {
  Room room;
  PackedRegistry registry;
  ::setenv("RLDB_HOSTILE_LOAD", "1", 1);
  const auto names = load_plugin(registry, kHostile, room.isolation);
  ::unsetenv("RLDB_HOSTILE_LOAD");
  REQUIRE(!names.ok());
  CHECK(names.error().message ==
        "`" + kHostile + "`, being loaded, crashed with SIGSEGV (an access to memory that is not its own)");
  CHECK(registry.names().empty());
  CHECK(load_plugin(registry, kHostile, room.isolation).ok());
}

TEST_CASE("isolated plugin: one that hangs is ended by an interrupt") {
  Hostile h;
  interrupt_soon(h);
  const auto result = h.call("hangs");
  REQUIRE(!result.ok());
  CHECK(result.error().kind == ErrorKind::Interrupted);
  CHECK(result.error().message == "interrupted in `hangs`");
  h.interrupt = false;
  CHECK(h.call("counts")->as_int() == 1);
}

TEST_CASE("isolated plugin: nonsense on the socket is the end of the guard, not of the session") {
  Hostile h;
  CHECK(h.error("babbles") != "no error");
  CHECK(h.call("counts")->as_int() == 1);
  CHECK(h.error("closes") != "no error");
  CHECK(h.call("counts")->as_int() == 1);
}

TEST_CASE("isolated plugin: the option is read at each call") {
  Hostile h;
  CHECK(h.call("counts")->as_int() == 1);
  h.on = false;
  CHECK(h.call("counts")->as_int() == 1);  // now loaded in this process
  CHECK(h.call("counts")->as_int() == 2);
  h.on = true;
  CHECK(h.call("counts")->as_int() == 2);  // the guard is still there
}

TEST_CASE("isolated kernel: what it writes arrives when it ends well") {
  Room room;
  auto inner = std::make_shared<FakeKernel>([&](PackedArgs args) -> Result<Value> {
    floats(args[0])[0] = float(::getpid());
    (*room.isolation->output)->write("said\n");
    return Value::of_float(-1.5);
  });
  const auto kernel = isolated_kernel(inner, room.isolation);
  const Value x(tensor({1}, kF32, {1}));
  const Value args[] = {x};
  const auto result = kernel->run(args, {});
  REQUIRE(result.ok());
  CHECK(result->as_float() == -1.5);
  CHECK(floats(x)[0] != 1);
  CHECK(floats(x)[0] != float(::getpid()));
  CHECK(room.kept.text == "said\n");
  CHECK(inner->prepared == 1);
  inner->cancels = true;
  CHECK(kernel->run(args, {}).error().kind == ErrorKind::Interrupted);
  room.on = false;
  REQUIRE(kernel->run(args, {}).ok());
  CHECK(floats(x)[0] == float(::getpid()));
}

TEST_CASE("isolated kernel: a call that fails leaves its arguments alone") {
  Room room;
  const Value x(tensor({1}, kF32, {1}));
  const Value args[] = {x};
  const auto run = [&](FakeKernel::Body body) {
    const auto result = isolated_kernel(std::make_shared<FakeKernel>(std::move(body)), room.isolation)->run(args, {});
    CHECK(floats(x)[0] == 1);
    return result.ok() ? "no error" : result.error().message;
  };
  CHECK(run([](PackedArgs a) -> Result<Value> {
          floats(a[0])[0] = 5;
          ::raise(SIGSEGV);
          return Value();
        }) == "kernel `fake` crashed with SIGSEGV (an access to memory that is not its own)");
  CHECK(run([](PackedArgs a) -> Result<Value> {
          floats(a[0])[0] = 5;
          return fail(ErrorKind::OutOfBounds, "said by the kernel");
        }) == "said by the kernel");
  CHECK(run([](PackedArgs) -> Result<Value> { throw std::runtime_error("thrown"); }) == "thrown");
  interrupt_soon(room);
  CHECK(run([](PackedArgs) -> Result<Value> {
          for (;;) ::pause();
        }) == "interrupted in kernel `fake`");
}

TEST_CASE("isolated plugin: many tensors, large ones, many calls") {
  Hostile h;
  const Value large(tensor({1 << 20}, kF32, std::vector<double>(1 << 20, 1)));
  for (int i = 0; i < 20; ++i) REQUIRE(h.call("adds_one", {large}).ok());
  CHECK(large.as_tensor().at((1 << 20) - 1) == 21);
  const std::size_t before = memory_in_use();
  for (int i = 0; i < 300; ++i) REQUIRE(h.call("adds_one", {Value(tensor({1}, kF32, {1}))}).ok());
  CHECK(memory_in_use() == before);
}
