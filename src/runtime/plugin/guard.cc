// Both ends of the guard process of a plugin: values as bytes, calls, shared tensors.
#include "runtime/plugin/guard.h"

#include <fmt/format.h>

#include <bit>
#include <cstdio>
#include <cstring>

#include "runtime/plugin/library.h"
#include "runtime/plugin/wire.h"

namespace rldb::runtime {

namespace {

// ---- values as bytes ----

void put_dtype(WireWriter& out, DType t) {
  out.word(std::uint64_t(t.code) | std::uint64_t(t.bits) << 8 | std::uint64_t(std::uint16_t(t.lanes)) << 16);
}

DType get_dtype(WireReader& in) {
  const std::uint64_t v = in.word();
  const DType t{TypeCode(v & 0xff), std::uint8_t(v >> 8), std::int16_t(std::uint16_t(v >> 16))};
  // A function returns void if it sets a dtype of zeros; every other known dtype reads back as itself.
  if (v >> 32 == 0 && (t.is_void() || (t.lanes != 0 && parse_dtype(to_string(t)) == t))) return t;
  in.fail();
  return DType::Void();
}

void put_tensor(WireWriter& out, const Tensor& t, const SharedRanges& ranges) {
  const std::size_t range = ranges.index_of(t.storage().get());
  out.word(range);
  out.word(t.byte_offset() - ranges.ranges()[range].begin);
  put_dtype(out, t.dtype());
  out.word(t.shape().size());
  for (const std::int64_t d : t.shape()) out.word(std::uint64_t(d));
}

// False: a kind that cannot be sent.
bool put_value(WireWriter& out, const Value& v, const SharedRanges* ranges) {
  out.word(std::uint64_t(v.kind()));
  switch (v.kind()) {
    case ValueKind::Null:
      return true;
    case ValueKind::Int:
    case ValueKind::Bool:
      out.word(std::uint64_t(v.as_int()));
      return true;
    case ValueKind::Float:
      out.word(std::bit_cast<std::uint64_t>(v.as_float()));
      return true;
    case ValueKind::DType:
      put_dtype(out, v.as_dtype());
      return true;
    case ValueKind::String:
      out.text(v.as_string());
      return true;
    case ValueKind::Tensor:
      if (!ranges) return false;
      put_tensor(out, v.as_tensor(), *ranges);
      return true;
    case ValueKind::Shape:
    case ValueKind::Tuple:
    case ValueKind::Function:
    case ValueKind::Storage:
    case ValueKind::Object:
      return false;
  }
  return false;
}

Value get_tensor(WireReader& in, const std::vector<Ref<Storage>>& storages) {
  const std::uint64_t range = in.word();
  const std::uint64_t offset = in.word();
  const DType dtype = get_dtype(in);
  std::vector<std::int64_t> shape(in.count());
  for (std::int64_t& d : shape) d = std::int64_t(in.word());
  if (in.good() && range < storages.size()) {
    auto tensor = Tensor::view(storages[range], offset, std::move(shape), dtype);
    if (tensor.ok()) return Value(std::move(tensor).value());
  }
  in.fail();
  return Value();
}

Value get_value(WireReader& in, const std::vector<Ref<Storage>>& storages) {
  const std::uint64_t kind = in.word();
  if (kind > std::uint64_t(ValueKind::Object)) in.fail();
  if (!in.good()) return Value();
  switch (ValueKind(kind)) {
    case ValueKind::Null:
      return Value();
    case ValueKind::Int:
      return Value::of_int(std::int64_t(in.word()));
    case ValueKind::Bool:
      return Value::of_bool(in.word() != 0);
    case ValueKind::Float:
      return Value::of_float(std::bit_cast<double>(in.word()));
    case ValueKind::DType:
      return Value::of_dtype(get_dtype(in));
    case ValueKind::String:
      return Value::of_string(std::string(in.text()));
    case ValueKind::Tensor:
      return get_tensor(in, storages);
    case ValueKind::Shape:
    case ValueKind::Tuple:
    case ValueKind::Function:
    case ValueKind::Storage:
    case ValueKind::Object:
      break;
  }
  in.fail();
  return Value();
}

// ---- in the guard ----

// Where a tensor range is in the shared memory, and the guard's own copy of it.
struct Copy {
  Ref<Storage> storage;
  std::size_t at = 0;
};

Result<std::vector<Copy>> copy_in(WireReader& in, SharedMemory& memory) {
  const std::uint64_t total = in.word();
  RLDB_TRY(const std::byte* const shared, memory.map(total));
  std::vector<Copy> copies(in.count());
  for (Copy& copy : copies) {
    copy.at = in.word();
    const std::uint64_t size = in.word();
    if (!in.good() || copy.at > total || size > total - copy.at) return fail(ErrorKind::Raised, "a bad request");
    RLDB_TRY(copy.storage, Storage::allocate(size));
    if (size > 0) std::memcpy(copy.storage->data(), shared + copy.at, size);
  }
  return copies;
}

Result<Value> serve_call(const PluginLibrary& library, std::string_view request, SharedMemory& memory) {
  WireReader in(request);
  const std::size_t index = in.word();
  RLDB_TRY(const std::vector<Copy> copies, copy_in(in, memory));
  std::vector<Ref<Storage>> storages;
  for (const Copy& copy : copies) storages.push_back(copy.storage);
  std::vector<Value> args(in.count());
  for (Value& v : args) v = get_value(in, storages);
  if (!in.done()) return fail(ErrorKind::Raised, "a bad request");
  auto result = library.call(index, args);
  if (!result.ok()) return result;
  const std::uint64_t total = WireReader(request.substr(8)).word();
  if (total == 0) return result;
  RLDB_TRY(std::byte* const shared, memory.map(total));
  for (const Copy& copy : copies)
    if (copy.storage->size() > 0) std::memcpy(shared + copy.at, copy.storage->data(), copy.storage->size());
  return result;
}

void serve(const std::string& path, const std::vector<std::string>& names, SharedMemory& memory, Channel& channel) {
  auto library = PluginLibrary::open(path, names);
  if (!library.ok()) return send_error(channel, library.error());
  std::fflush(nullptr);
  channel.send(Word::Done, {});
  Word word{};
  std::string request;
  while (channel.receive(word, request, nullptr) == Channel::Got::Message && word == Word::Call) {
    auto result = serve_call(**library, request, memory);
    std::fflush(nullptr);  // the plugin's output comes before any later output
    if (!result.ok()) {
      send_error(channel, result.error());
      continue;
    }
    WireWriter out;
    put_value(out, *result, nullptr);
    channel.send(Word::Done, out.bytes());
  }
}

}  // namespace

// ---- here ----

Result<support::Unit> PluginGuard::load(const Isolation& isolation) {
  if (guard_) return support::Unit{};
  if (!memory_) {
    RLDB_TRY(memory_, SharedMemory::create());
  }
  RLDB_TRY(guard_,
           GuardProcess::start([this](Channel& channel) { serve(path_, names_, *memory_, channel); }, {memory_->fd()}));
  auto answer = await_answer(guard_, isolation, fmt::format("`{}`, being loaded,", path_));
  if (answer.ok()) return support::Unit{};
  guard_.reset();
  return support::Failure(std::move(answer).error());
}

Result<std::string> PluginGuard::ask(const Isolation& isolation, std::size_t index, std::string_view request) {
  RLDB_TRY_VOID(load(isolation));
  if (!guard_->channel().send(Word::Call, request)) {
    // It died between two calls: this one has not begun, so it may go to a new guard.
    guard_.reset();
    RLDB_TRY_VOID(load(isolation));
    if (!guard_->channel().send(Word::Call, request))
      return fail(ErrorKind::Raised, fmt::format("`{}` cannot be reached in its guard process", names_[index]));
  }
  return await_answer(guard_, isolation, fmt::format("`{}`", names_[index]));
}

Result<Value> PluginGuard::call(const Isolation& isolation, std::size_t index, PackedArgs args) {
  const SharedRanges ranges(args);
  WireWriter request;
  request.word(index);
  request.word(ranges.bytes());
  request.word(ranges.ranges().size());
  for (const SharedRanges::Range& r : ranges.ranges()) {
    request.word(r.at);
    request.word(r.end - r.begin);
  }
  request.word(args.size());
  for (std::size_t i = 0; i < args.size(); ++i)
    if (!put_value(request, args[i], &ranges)) return cannot_pass(names_[index], i, args[i]);
  // The guard exists first: it finds the memory at its size.
  RLDB_TRY_VOID(load(isolation));
  RLDB_TRY(std::byte* const shared, memory_->map(ranges.bytes()));
  ranges.copy_to(shared);
  auto answer = ask(isolation, index, request.bytes());
  if (!answer.ok()) {
    memory_->unmap();
    return support::Failure(std::move(answer).error());
  }
  WireReader in(*answer);
  Value result = get_value(in, {});
  if (in.done()) ranges.copy_from(shared);
  memory_->unmap();
  if (in.done()) return result;
  guard_.reset();
  return fail(ErrorKind::Raised, fmt::format("`{}` overwrote memory of its guard process", names_[index]));
}

}  // namespace rldb::runtime
