// Functions by name: those that plugins register, those of rldb's registry, and the helpers of libtvm_ffi that make and
// read containers, which a plugin in plain C has no other way to do.
#include <fmt/format.h>

#include <array>
#include <map>
#include <mutex>

#include "rldb/runtime/object_value.h"
#include "rldb/support/large_stack.h"
#include "rldb/support/text.h"
#include "runtime/ffi/backend.h"
#include "runtime/ffi/call.h"
#include "runtime/ffi/export.h"

namespace rldb::runtime::ffi {

namespace {

struct Globals {
  std::mutex mutex;
  std::map<std::string, Handle, std::less<>> functions;
};
// Never destroyed. A library that has registered functions stays loaded.
Globals& globals() {
  static auto* made = new Globals();
  return *made;
}

std::string_view view_of_name(const TVMFFIByteArray* name) {
  return name && name->data ? std::string_view(name->data, name->size) : std::string_view();
}

// ---- helpers on containers ----

Result<Value> container_error(std::string_view name, std::string_view what) {
  return fail(ErrorKind::TypeMismatch, fmt::format("`{}` takes {}", name, what));
}

Result<Value> make_tuple_of(PackedArgs args) { return Value::of_tuple({args.begin(), args.end()}); }

Result<Value> tuple_size(PackedArgs args) {
  if (args.size() != 1 || !args[0].is(ValueKind::Tuple)) return container_error("ffi.ArraySize", "an array");
  return Value::of_int(std::int64_t(args[0].as_tuple().fields.size()));
}

Result<Value> tuple_item(PackedArgs args) {
  if (args.size() != 2 || !args[0].is(ValueKind::Tuple) || !args[1].is(ValueKind::Int))
    return container_error("ffi.ArrayGetItem", "an array and an index");
  const auto& fields = args[0].as_tuple().fields;
  const std::int64_t i = args[1].as_int();
  if (i < 0 || std::size_t(i) >= fields.size())
    return fail(ErrorKind::OutOfBounds,
                fmt::format("index {} of an array of {}", i, support::counted(fields.size(), "item")));
  return fields[std::size_t(i)];
}

Result<Value> make_map_of(PackedArgs args) {
  if (args.size() % 2 != 0) return container_error("ffi.Map", "keys and values in turn");
  std::vector<std::pair<Value, Value>> items;
  for (std::size_t i = 0; i < args.size(); i += 2) items.emplace_back(args[i], args[i + 1]);
  return Value::of_object(support::make_ref<MapValue>(std::move(items)));
}

Result<Value> map_size(PackedArgs args) {
  const auto* map = args.size() == 1 ? object_in<MapValue>(args[0]) : nullptr;
  if (!map) return container_error("ffi.MapSize", "a map");
  return Value::of_int(std::int64_t(map->items.size()));
}

const Value* map_find(const MapValue& map, const Value& key) {
  for (const auto& [k, v] : map.items)
    if (k.kind() == key.kind() && compare(k, key, {0, 0, true}).empty()) return &v;
  return nullptr;
}

Result<Value> map_item(PackedArgs args) {
  const auto* map = args.size() == 2 ? object_in<MapValue>(args[0]) : nullptr;
  if (!map) return container_error("ffi.MapGetItem", "a map and a key");
  if (const Value* v = map_find(*map, args[1])) return *v;
  return fail(ErrorKind::OutOfBounds, fmt::format("key {} is not in the map", describe(args[1])));
}

Result<Value> map_count(PackedArgs args) {
  const auto* map = args.size() == 2 ? object_in<MapValue>(args[0]) : nullptr;
  if (!map) return container_error("ffi.MapCount", "a map and a key");
  return Value::of_int(map_find(*map, args[1]) ? 1 : 0);
}

Result<Value> make_shape_of(PackedArgs args) {
  std::vector<std::int64_t> dims;
  for (const Value& v : args) {
    if (!v.is(ValueKind::Int)) return container_error("ffi.Shape", "ints");
    dims.push_back(v.as_int());
  }
  return Value::of_shape(std::move(dims));
}

struct Helper {
  std::string_view name;
  Result<Value> (*code)(PackedArgs);
};
constexpr std::array kHelpers = {
    Helper{"ffi.Array", make_tuple_of}, Helper{"ffi.ArraySize", tuple_size}, Helper{"ffi.ArrayGetItem", tuple_item},
    Helper{"ffi.Map", make_map_of},     Helper{"ffi.MapSize", map_size},     Helper{"ffi.MapGetItem", map_item},
    Helper{"ffi.MapCount", map_count},  Helper{"ffi.Shape", make_shape_of},
};

int set_global(std::string_view name, Handle function, bool override, std::string metadata, std::string doc) {
  if (name.empty()) {
    raise("ValueError", "a global function needs a name");
    return -1;
  }
  if (const std::string why = why_not_object(function.get(), kTVMFFIFunction); !why.empty()) {
    raise("TypeError", fmt::format("global function `{}` is {}", name, why));
    return -1;
  }
  if (!cell_of<TVMFFIFunctionCell>(function.get()).safe_call) {
    raise("TypeError", fmt::format("global function `{}` has no code", name));
    return -1;
  }
  keep_library_of(reinterpret_cast<const void*>(code_of(function.get())));
  Globals& g = globals();
  {
    const std::lock_guard lock(g.mutex);
    const auto [at, added] = g.functions.emplace(name, function);
    if (!added) {
      // The same library again, in another session, is no conflict.
      const bool loading = current_scope().registered != nullptr;
      if (!override && !loading) {
        raise("RuntimeError", fmt::format("global function `{}` is registered already", name));
        return -1;
      }
      at->second = function;
    }
  }
  if (auto* list = current_scope().registered)
    list->push_back({std::string(name), std::move(function), std::move(metadata), std::move(doc)});
  return 0;
}

}  // namespace

Handle find_global(std::string_view name) {
  for (const Helper& h : kHelpers)
    if (h.name == name)
      return make_function(Value(support::make_ref<Function>(std::string(name), PackedFn(h.code))), call_value);
  if (const PackedRegistry* registry = current_scope().registry.get())
    if (const PackedInfo* info = registry->find(name)) return make_function(Value(info->function), call_value);
  Globals& g = globals();
  const std::lock_guard lock(g.mutex);
  const auto it = g.functions.find(name);
  return it == g.functions.end() ? Handle() : it->second;
}

extern "C" {

RLDB_FFI_EXPORT int TVMFFIFunctionCreate(void* self, TVMFFISafeCallType code, void (*deleter)(void*),
                                         TVMFFIObjectHandle* out) {
  if (!code || !out) {
    raise("ValueError", "a function needs code");
    return -1;
  }
  *out = make_c_function(self, code, deleter).give();
  return 0;
}

RLDB_FFI_EXPORT int TVMFFIFunctionCall(TVMFFIObjectHandle function, TVMFFIAny* args, std::int32_t count,
                                       TVMFFIAny* result) {
  auto* object = static_cast<TVMFFIObject*>(function);
  if (const std::string why = why_not_object(object, kTVMFFIFunction); !why.empty()) {
    raise("TypeError", fmt::format("cannot call {}", why));
    return -1;
  }
  // Functions that call each other through here would end the process, not the run.
  constexpr std::size_t kStackReserve = std::size_t(256) << 10;
  if (support::stack_left() < kStackReserve) {
    raise("RecursionError", "functions call each other too deeply: no stack is left");
    return -1;
  }
  return cell_of<TVMFFIFunctionCell>(object).safe_call(object, args, count, result);
}

RLDB_FFI_EXPORT int TVMFFIFunctionGetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle* out) {
  *out = find_global(view_of_name(name)).give();
  return 0;
}

RLDB_FFI_EXPORT int TVMFFIFunctionSetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle function,
                                            int allow_override) {
  return set_global(view_of_name(name), Handle::share(static_cast<TVMFFIObject*>(function)), allow_override != 0, {},
                    {});
}

RLDB_FFI_EXPORT int TVMFFIFunctionSetGlobalFromMethodInfo(const TVMFFIMethodInfo* info, int allow_override) {
  return set_global(view_of_name(&info->name), Handle::share(info->method.v_obj), allow_override != 0,
                    std::string(view_of_name(&info->metadata)), std::string(view_of_name(&info->doc)));
}
}

}  // namespace rldb::runtime::ffi
