// Values and stacks of another process, read from a memory that the test makes: whatever is in it, reading ends.
#include "attach/values.h"

#include <doctest/doctest.h>

#include <cstring>
#include <map>

#include "attach/stacks.h"
#include "rldb/bytecode/builder.h"
#include "rldb/bytecode/library_program.h"

namespace rldb::attach {

namespace {

using runtime::Value;

class MadeMemory : public Memory {
 public:
  bool read(Address at, void* to, std::size_t size) const override {
    auto it = parts_.upper_bound(at);
    if (it == parts_.begin()) return false;
    --it;
    const std::uint64_t offset = at - it->first;
    if (offset > it->second.size() || size > it->second.size() - offset) return false;
    std::memcpy(to, it->second.data() + offset, size);
    return true;
  }
  template <class T>
  void put(Address at, const T& what) {
    parts_[at].assign(reinterpret_cast<const char*>(&what), sizeof what);
  }

 private:
  std::map<Address, std::string> parts_;
};

template <class Cell>
struct Object {
  TVMFFIObject head;
  Cell cell;
};

template <class T>
T* at(Address address) {
  return reinterpret_cast<T*>(address);
}

TVMFFIAny any_of(std::int32_t type, Address object) {
  TVMFFIAny v{};
  v.type_index = type;
  v.v_uint64 = object;
  return v;
}

struct Read {
  MadeMemory memory;
  bytecode::Executable program;
  RemoteWatched watched{0, 0, 0x5000, 0x6000};
  std::string text(const TVMFFIAny& v) { return runtime::format_value(ValueReader(memory, program, watched).read(v)); }
};

}  // namespace

TEST_CASE("a tensor of another process is a copy") {
  Read r;
  Object<DLTensor> t{};
  t.head.type_index = kTVMFFITensor;
  t.cell.data = at<void>(0x2000);
  t.cell.device.device_type = 1;
  t.cell.ndim = 1;
  t.cell.dtype = {2, 32, 1};
  t.cell.shape = at<std::int64_t>(0x3000);
  r.memory.put(0x1000, t);
  r.memory.put(0x2000, std::array<float, 3>{1, 2, 3});
  r.memory.put(0x3000, std::int64_t(3));
  const TVMFFIAny v = any_of(kTVMFFITensor, 0x1000);
  CHECK(r.text(v) == "Tensor[(3,), \"float32\"]\n[1. 2. 3.]");

  SUBCASE("its elements are not there") {
    r.memory.put(0x2000, std::array<float, 2>{1, 2});
    CHECK(r.text(v) == "Tensor[(3), \"float32\"], whose elements cannot be read");
  }
  SUBCASE("it is huge") {
    r.memory.put(0x3000, std::int64_t(1) << 40);
    CHECK(r.text(v) == "Tensor[(1099511627776), \"float32\"], not read: 4194304 MiB");
  }
  SUBCASE("its shape is negative") {
    r.memory.put(0x3000, std::int64_t(-3));
    CHECK(r.text(v) == "Tensor[(-3), \"float32\"], of an impossible shape");
  }
  SUBCASE("its rank is none") {
    t.cell.ndim = 1 << 30;
    r.memory.put(0x1000, t);
    CHECK(r.text(v) == "a tensor that cannot be read");
  }
  SUBCASE("its dtype is none") {
    t.cell.dtype = {99, 7, 0};
    r.memory.put(0x1000, t);
    CHECK(r.text(v) == "a tensor of an unknown dtype");
  }
}

TEST_CASE("values that hold themselves, or lead nowhere") {
  Read r;
  Object<TVMFFISeqCell> tuple{};
  tuple.head.type_index = kTVMFFIArray;
  tuple.cell.data = at<void>(0x2000);
  tuple.cell.size = 1;
  r.memory.put(0x1000, tuple);
  r.memory.put(0x2000, any_of(kTVMFFIArray, 0x1000));
  CHECK(r.text(any_of(kTVMFFIArray, 0x1000)).starts_with("tuple(1)\n[0] tuple(1)"));
  tuple.cell.size = std::int64_t(1) << 40;
  r.memory.put(0x1000, tuple);
  CHECK(r.text(any_of(kTVMFFIArray, 0x1000)) == "a tuple of 1099511627776 values, not read");
  CHECK(r.text(any_of(kTVMFFITensor, 0x9000)) == "an object at 0x9000 that cannot be read");
  CHECK(r.text(any_of(kTVMFFITensor, 0)) == "an object at 0x0 that cannot be read");
  CHECK(r.text(any_of(99, 1)).find("an object at 0x1") == 0);
  CHECK(r.text(any_of(33, 1)) == "a value of type 33 at 0x1");
}

namespace {

// A program of one function with one instruction, in a process with one thread.
struct Process {
  MadeMemory memory;
  Image image;
  Process() {
    bytecode::ExecutableBuilder b;
    b.begin_function("main", {"x"});
    b.ret(bytecode::RegName(0));
    b.end_function();
    image.program = std::make_shared<const bytecode::Executable>(b.finish());
    image.at = 0x100;
    image.watched = 0x200;
    memory.put(0x200, RemoteWatched{0, 0x300, 0, 0});
    memory.put(0x300, RemoteTrail{0, 7, 0x400, 0, 0, 1, 0});
    memory.put(0x400, RemoteFrame{0, 0x100, 0, 0, 0x500, 1, 1});
    memory.put(0x500, any_of(kTVMFFIInt, 42));
  }
};

}  // namespace

TEST_CASE("the stack of a thread") {
  Process p;
  const Stacks stacks(p.memory, p.image);
  const auto all = stacks.all();
  REQUIRE(all.size() == 1);
  CHECK(all[0].thread == 7);
  CHECK(all[0].frames.size() == 1);
  CHECK(stacks.of(7, 0).frames.size() == 1);
  CHECK(stacks.of(8, 0x300).frames.empty());

  SUBCASE("frames in a circle") {
    p.memory.put(0x400, RemoteFrame{0x400, 0x100, 0, 0, 0x500, 1, 1});
    CHECK(stacks.all()[0].frames.size() <= 100'000);
  }
  SUBCASE("threads in a circle") {
    p.memory.put(0x300, RemoteTrail{0x300, 7, 0x400, 0, 0, 1, 0});
    CHECK(stacks.all().size() <= 100'000);
  }
  SUBCASE("a function that there is not") {
    p.memory.put(0x400, RemoteFrame{0, 0x100, 5, 0, 0x500, 1, 1});
    CHECK(stacks.all().empty());
  }
  SUBCASE("an instruction that there is not") {
    p.memory.put(0x400, RemoteFrame{0, 0x100, 0, 99, 0x500, 1, 1});
    CHECK(stacks.all().empty());
  }
  SUBCASE("another number of registers") {
    p.memory.put(0x400, RemoteFrame{0, 0x100, 0, 0, 0x500, std::int64_t(1) << 40, 1});
    CHECK(stacks.all().empty());
  }
}

TEST_CASE("the program of a library leaves large constants out") {
  bytecode::Executable exe = *Process().image.program;
  auto large = runtime::Tensor::empty({1000}, runtime::DType::Float(32));
  REQUIRE(large.ok());
  exe.constants = {Value(*large), Value::of_int(3), Value::null()};
  const auto bytes = bytecode::library_program(exe);
  REQUIRE(bytes.ok());
  CHECK(bytes->size() < 4000);
  const auto again = bytecode::load_library_program(*bytes);
  REQUIRE(again.ok());
  CHECK(runtime::describe(again->constants[0]) == "Tensor[(1000,), \"float32\"]");
  CHECK(again->constants[1].as_int() == 3);
  CHECK(runtime::describe(again->constants[2]) == "null");
}

}  // namespace rldb::attach
