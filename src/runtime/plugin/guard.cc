// Both ends of the guard process of a plugin: calls, shared tensors, objects that stay in the guard.
#include "runtime/plugin/guard.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>

#include "rldb/runtime/object_value.h"
#include "runtime/plugin/library.h"

namespace rldb::runtime {

namespace {

// The target of a call: a function of the library by its index, or an object that the guard keeps.
constexpr std::uint64_t kKeptTarget = std::uint64_t(1) << 63;

// ---- in the guard ----

// Where a tensor range is in the shared memory, and the guard's own copy of it.
struct Copy {
  Ref<Storage> storage;
  std::size_t at = 0;
};

Result<std::vector<Copy>> copy_in(WireReader& in, std::uint64_t total, SharedMemory& memory) {
  RLDB_TRY(const std::byte* const shared, memory.map(total));
  std::vector<Copy> copies(in.count());
  for (Copy& copy : copies) {
    copy.at = in.word();
    const std::uint64_t size = in.word();
    const auto type = std::int32_t(in.word()), id = std::int32_t(in.word());
    if (!in.good() || copy.at > total || size > total - copy.at) return fail(ErrorKind::Raised, "a bad request");
    RLDB_TRY(copy.storage, Storage::allocate(size, {type, id}));
    if (size > 0) std::memcpy(copy.storage->data(), shared + copy.at, size);
  }
  return copies;
}

class GuardServer {
 public:
  GuardServer(std::shared_ptr<PluginLibrary> library, SharedMemory& memory)
      : library_(std::move(library)), memory_(memory) {}

  // The bytes of the result.
  Result<std::string> serve(std::string_view request) {
    WireReader in(request);
    for (std::uint64_t n = in.count(); n > 0 && in.good(); --n) store_.drop(in.word());
    const std::uint64_t target = in.word();
    const std::uint64_t total = in.word();
    RLDB_TRY(const std::vector<Copy> copies, copy_in(in, total, memory_));
    std::vector<Ref<Storage>> storages;
    for (const Copy& copy : copies) storages.push_back(copy.storage);
    std::vector<Value> args(in.count());
    for (Value& v : args) v = get_argument(in, storages, store_);
    if (!in.done()) return fail(ErrorKind::Raised, "a bad request");
    RLDB_TRY(const Value result, call(target, args));
    WireWriter out;
    if (const std::string why = put_result(out, result, storages, store_); !why.empty())
      return fail(ErrorKind::Unsupported, fmt::format("{} cannot leave a guard process", why));
    if (total == 0) return out.bytes();
    RLDB_TRY(std::byte* const shared, memory_.map(total));
    for (const Copy& copy : copies)
      if (copy.storage->size() > 0) std::memcpy(shared + copy.at, copy.storage->data(), copy.storage->size());
    return out.bytes();
  }

 private:
  Result<Value> call(std::uint64_t target, PackedArgs args) {
    if ((target & kKeptTarget) == 0) {
      if (target >= library_->functions().size()) return fail(ErrorKind::Raised, "a bad request");
      return library_->call(target, args);
    }
    const Value* f = store_.find(target & ~kKeptTarget);
    if (!f || !f->is(ValueKind::Function)) return fail(ErrorKind::Raised, "a bad request");
    const Value kept = *f;
    return kept.as_function().native(args);
  }
  std::shared_ptr<PluginLibrary> library_;
  SharedMemory& memory_;
  GuardStore store_;
};

std::string functions_bytes(const std::vector<PluginFunction>& functions) {
  WireWriter out;
  out.word(functions.size());
  for (const PluginFunction& f : functions)
    for (const std::string* text : {&f.name, &f.signature, &f.doc}) out.text(*text);
  return out.bytes();
}

bool read_functions(std::string_view bytes, std::vector<PluginFunction>& functions) {
  WireReader in(bytes);
  functions.resize(in.count());
  for (PluginFunction& f : functions)
    for (std::string* text : {&f.name, &f.signature, &f.doc}) *text = in.text();
  return in.done();
}

void serve_plugin(const std::string& path, const PluginSymbols& symbols, const RegistryRef& registry,
                  SharedMemory& memory, Channel& channel) {
  // Found by name: the functions of the session when the guard began, and its own, which are called in this process.
  PackedRegistry known;
  if (const PackedRegistry* of_session = registry.get()) known = *of_session;
  auto library = PluginLibrary::open(path, symbols, RegistryRef(known));
  if (!library.ok()) return send_error(channel, library.error());
  for (std::size_t i = 0; i < (*library)->functions().size(); ++i)
    known.register_function((*library)->functions()[i].name,
                            [own = *library, i](PackedArgs args) { return own->call(i, args); });
  std::fflush(nullptr);
  channel.send(Word::Done, functions_bytes((*library)->functions()));
  GuardServer server(*library, memory);
  Word word{};
  std::string request;
  while (channel.receive(word, request, nullptr) == Channel::Got::Message && word == Word::Call) {
    auto result = server.serve(request);
    std::fflush(nullptr);  // the plugin's output comes before any later output
    if (result.ok())
      channel.send(Word::Done, *result);
    else
      send_error(channel, result.error());
  }
}

}  // namespace

// ---- here ----

void PluginGuard::lose() {
  guard_.reset();
  ++objects_->generation;
  objects_->released.clear();
}

Result<support::Unit> PluginGuard::load(const Isolation& isolation) {
  if (guard_) return support::Unit{};
  if (!memory_) {
    RLDB_TRY(memory_, SharedMemory::create());
  }
  lose();
  RLDB_TRY(guard_, GuardProcess::start(
                       [this](Channel& channel) { serve_plugin(path_, symbols_, registry_, *memory_, channel); },
                       {memory_->fd()}));
  auto answer = await_answer(guard_, isolation, fmt::format("`{}`, being loaded,", path_));
  std::vector<PluginFunction> functions;
  if (answer.ok() && read_functions(*answer, functions)) {
    if (functions_.empty()) functions_ = std::move(functions);
    return support::Unit{};
  }
  lose();
  if (!answer.ok()) return support::Failure(std::move(answer).error());
  return fail(ErrorKind::Raised, fmt::format("`{}` overwrote memory of its guard process", path_));
}

Result<std::string> PluginGuard::ask(const Isolation& isolation, const std::string& name, std::string_view request) {
  if (!guard_->channel().send(Word::Call, request)) {
    lose();
    return fail(ErrorKind::Raised, fmt::format("`{}` cannot be reached in its guard process", name));
  }
  auto answer = await_answer(guard_, isolation, fmt::format("`{}`", name));
  if (!guard_) lose();
  return answer;
}

Result<Value> PluginGuard::call(const Isolation& isolation, std::size_t index, PackedArgs args) {
  // It may have died between two calls: this one has not begun, so it may go to a new guard.
  if (guard_ && guard_->has_ended()) lose();
  RLDB_TRY_VOID(load(isolation));
  return call_target(isolation, index, functions_[index].name, args);
}

Result<Value> PluginGuard::call_target(const Isolation& isolation, std::uint64_t target, const std::string& name,
                                       PackedArgs args) {
  const SharedRanges ranges(args);
  WireWriter request;
  request.word(objects_->released.size());
  for (const std::uint64_t id : objects_->released) request.word(id);
  request.word(target);
  request.word(ranges.bytes());
  request.word(ranges.ranges().size());
  for (const SharedRanges::Range& r : ranges.ranges()) {
    request.word(r.at);
    request.word(r.end - r.begin);
    request.word(std::uint64_t(r.storage->device().type));
    request.word(std::uint64_t(r.storage->device().id));
  }
  request.word(args.size());
  for (std::size_t i = 0; i < args.size(); ++i)
    if (const std::string why = put_argument(request, args[i], ranges, *objects_); !why.empty())
      return fail(
          ErrorKind::Unsupported,
          fmt::format("`{}`: argument {}: {} cannot be passed to a guard process (`isolate` is on)", name, i, why));
  objects_->released.clear();
  RLDB_TRY(std::byte* const shared, memory_->map(ranges.bytes()));
  ranges.copy_to(shared);
  auto answer = ask(isolation, name, request.bytes());
  if (!answer.ok()) {
    memory_->unmap();
    return support::Failure(std::move(answer).error());
  }
  const auto function = [self = self_, isolation](Ref<KeptObject> kept, const std::string& kept_name) {
    auto call = [self, isolation, id = kept->id(), kept, kept_name](PackedArgs all) -> Result<Value> {
      PluginGuard* guard = *self;
      if (!guard || !kept->alive(*guard->objects_) || !guard->guard_)
        return fail(ErrorKind::Raised, fmt::format("`{}` was lost with its guard process", kept_name));
      const bool with_itself = !all.empty() && object_in<KeptObject>(all.back()) == kept.get();
      return guard->call_target(isolation, id | kKeptTarget, kept_name, with_itself ? all.first(all.size() - 1) : all);
    };
    auto made = support::make_ref<Function>(kept_name, PackedFn(std::move(call)));
    made->captured.push_back(Value::of_object(std::move(kept)));  // by which put_argument knows it
    return Value(std::move(made));
  };
  WireReader in(*answer);
  Value result = ResultReader{ranges, objects_, function}.read(in);
  if (in.done()) ranges.copy_from(shared);
  memory_->unmap();
  if (in.done()) return result;
  lose();
  return fail(ErrorKind::Raised, fmt::format("`{}` overwrote memory of its guard process", name));
}

}  // namespace rldb::runtime
