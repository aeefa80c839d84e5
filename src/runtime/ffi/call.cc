// Calls of foreign functions with rldb's values, of rldb's functions from foreign code, and the errors of both.
#include "runtime/ffi/call.h"

#include <fmt/format.h>

#include "rldb/runtime/foreign_code.h"
#include "rldb/runtime/object_value.h"
#include "rldb/support/cancel.h"
#include "runtime/ffi/export.h"

namespace rldb::runtime::ffi {

namespace {

const Scope g_no_scope;
thread_local const Scope* t_scope = &g_no_scope;

// As in TVM's runtime: the error of a failed call waits in thread-local state.
thread_local Handle t_raised;
// The error of a callback, and the object that stands for it.
struct Passed {
  TVMFFIObject* object = nullptr;
  Error error;
};
thread_local std::optional<Passed> t_passed;
thread_local std::string t_misuse;
// Cancelled, or out of memory: thrown in a callback, to be thrown again behind the foreign frames.
thread_local std::exception_ptr t_thrown;

std::string_view view_of(const TVMFFIByteArray& b) {
  return b.data && readable(b.data, b.size) ? std::string_view(b.data, b.size) : std::string_view();
}

void set_raised(Handle error) {
  t_passed.reset();
  t_raised = std::move(error);
}

std::string error_line(const TVMFFIErrorCell& cell) {
  const std::string_view kind = view_of(cell.kind), message = view_of(cell.message);
  return kind.empty() ? std::string(message) : fmt::format("{}: {}", kind, message);
}

// The error that a failed call raised, and its causes.
Error raised_error(const std::string& name, int status) {
  const Handle raised = std::move(t_raised);
  t_raised = {};
  if (raised && t_passed && t_passed->object == raised.get()) {
    Error error = std::move(t_passed->error);
    t_passed.reset();
    return error;
  }
  t_passed.reset();
  if (!raised) return {ErrorKind::Raised, fmt::format("`{}`: status {} and no message", name, status), {}};
  const std::string why = why_not_object(raised.get(), kTVMFFIError);
  if (!why.empty()) return {ErrorKind::Raised, fmt::format("`{}` raised {}", name, why), {}};
  const auto* cell = &cell_of<TVMFFIErrorCell>(static_cast<const TVMFFIObject*>(raised.get()));
  Error error{ErrorKind::Raised, fmt::format("`{}`: {}", name, error_line(*cell)), {}};
  constexpr int kMaxCauses = 8;
  for (int i = 0; i < kMaxCauses && cell->cause_chain; ++i) {
    const auto* cause = static_cast<const TVMFFIObject*>(cell->cause_chain);
    if (!why_not_object(cause, kTVMFFIError).empty()) break;
    cell = &cell_of<TVMFFIErrorCell>(cause);
    error.notes.push_back("caused by " + error_line(*cell));
  }
  return error;
}

// The arguments of one call in the form of the ABI, and afterwards the check that they are still ours.
class Frame {
 public:
  ~Frame() {
    for (TVMFFIAny& any : owned_)
      if (any.type_index < kTVMFFIStaticObjectBegin || !is_freed(any.v_obj)) drop(any);
  }

  Result<support::Unit> pack(const std::string& name, PackedArgs args, TensorForm form) {
    any_.reserve(args.size());
    for (std::size_t i = 0; i < args.size(); ++i) {
      const Value& v = args[i];
      if (v.is(ValueKind::String)) {
        pack_text(v.as_string(), form);
        continue;
      }
      auto made = to_owned(v);
      if (!made.ok())
        return fail(made.error().kind, fmt::format("`{}`: argument {}: {}", name, i, made.error().message));
      owned_.push_back(*made);
      any_.push_back(*made);
      if (form == TensorForm::DLTensor && v.is(ValueKind::Tensor)) {
        any_.back().type_index = kTVMFFIDLTensorPtr;
        any_.back().v_ptr = TVMFFICellOf(made->v_obj);
      }
    }
    return support::Unit{};
  }

  // Empty, or what the callee did to an argument. `result`: owns a reference of its own.
  std::string misuse(const TVMFFIAny& result) const {
    for (std::size_t i = 0; i < any_.size(); ++i) {
      const TVMFFIObject* object = object_at(i);
      if (!object) continue;
      if (is_freed(object)) return fmt::format("released argument {} more often than it retained it", i);
      const bool returned = result.type_index >= kTVMFFIStaticObjectBegin && result.v_obj == object;
      if (returned && strong_count(object) < 2) return fmt::format("returned argument {} without retaining it", i);
    }
    return {};
  }

  const TVMFFIAny* data() const { return any_.data(); }

 private:
  // A text is an object where objects are used, so that it is one for a parameter of any object type too.
  void pack_text(const std::string& text, TensorForm form) {
    TVMFFIAny any{};
    if (form == TensorForm::DLTensor && text.find('\0') == std::string::npos) {
      any.type_index = kTVMFFIRawStr;
      any.v_c_str = text.c_str();
    } else {
      any = any_of(make_text(text, kTVMFFIStr));
      owned_.push_back(any);
    }
    any_.push_back(any);
  }

  const TVMFFIObject* object_at(std::size_t i) const {
    const TVMFFIAny& any = any_[i];
    if (any.type_index == kTVMFFIDLTensorPtr) return static_cast<const TVMFFIObject*>(any.v_ptr) - 1;
    return any.type_index >= kTVMFFIStaticObjectBegin ? any.v_obj : nullptr;
  }
  std::vector<TVMFFIAny> any_;
  std::vector<TVMFFIAny> owned_;
};

struct Outcome {
  int status = 0;
  std::string thrown;  // what an exception said
};

Outcome call_guarded(TVMFFISafeCallType code, void* self, const TVMFFIAny* args, std::int32_t count,
                     TVMFFIAny* result) {
  try {
    return {code(self, args, count, result), {}};
  } catch (const std::exception& e) {
    // The ABI forbids it, but a plugin in C++ that forgets must not take the session down.
    return {-1, fmt::format("threw an exception: {}", e.what())};
  } catch (...) {
    return {-1, "threw an exception"};
  }
}

Result<Value> unpack(const std::string& name, TVMFFIAny& result) {
  auto value = to_value(result);
  const bool object = result.type_index >= kTVMFFIStaticObjectBegin && why_not_object(result.v_obj).empty();
  if (object) drop(result);
  if (value.ok()) return value;
  return fail(value.error().kind, fmt::format("`{}` returned {}", name, value.error().message));
}

}  // namespace

const Scope& current_scope() { return *t_scope; }

EnterScope::EnterScope(const Scope& scope) : outer_(std::exchange(t_scope, &scope)) {}
EnterScope::~EnterScope() { t_scope = outer_; }

void raise(std::string_view kind, std::string_view message) { set_raised(make_error(kind, message, "")); }

void raise(Error error) {
  Handle made = make_error("RuntimeError", error.message, "");
  TVMFFIObject* object = made.get();
  set_raised(std::move(made));
  t_passed = Passed{object, std::move(error)};
}

void note_misuse(std::string what) {
  if (t_misuse.empty()) t_misuse = std::move(what);
}

Result<Value> call_foreign(const Scope& scope, TVMFFISafeCallType code, void* self, PackedArgs args, TensorForm form) {
  const EnterScope enter(scope);
  Frame frame;
  RLDB_TRY_VOID(frame.pack(scope.name, args, form));
  TVMFFIAny result{};
  set_raised({});
  const Outcome outcome = call_guarded(code, self, frame.data(), std::int32_t(args.size()), &result);
  foreign_code_has_run();
  if (t_thrown) std::rethrow_exception(std::exchange(t_thrown, nullptr));
  std::string noted = std::exchange(t_misuse, {});
  const auto failed = [&](std::string_view what) {
    return fail(ErrorKind::Raised, fmt::format("`{}` {}", scope.name, what));
  };
  if (std::string what = frame.misuse(outcome.status == 0 ? result : TVMFFIAny{}); !what.empty()) return failed(what);
  if (!noted.empty()) return failed(noted);
  if (!outcome.thrown.empty()) return failed(outcome.thrown);
  if (outcome.status != 0) return support::Failure(raised_error(scope.name, outcome.status));
  return unpack(scope.name, result);
}

int call_value(void* self, const TVMFFIAny* args, std::int32_t count, TVMFFIAny* result) {
  try {
    const Value* known = value_in(static_cast<const TVMFFIObject*>(self));
    if (!known || !known->is(ValueKind::Function)) {
      note_misuse("called a function that was freed");
      raise("TypeError", "a function that was freed");
      return -1;
    }
    const Value function = *known;
    const Function& f = function.as_function();
    std::vector<Value> values;
    for (std::int32_t i = 0; i < count; ++i) {
      auto value = to_value(args[i]);
      if (!value.ok()) {
        raise({value.error().kind, fmt::format("`{}`: argument {}: {}", f.name, i, value.error().message), {}});
        return -1;
      }
      values.push_back(*std::move(value));
    }
    values.insert(values.end(), f.captured.begin(), f.captured.end());
    auto made = f.native ? f.native(values)
                         : Result<Value>(fail(ErrorKind::UnknownFunction,
                                              fmt::format("function `{}` cannot be called from here", f.name)));
    auto any = made.ok() ? to_owned(*made) : Result<TVMFFIAny>(support::Failure(std::move(made).error()));
    if (any.ok()) {
      if (result) *result = *any;
      if (!result) drop(*any);
      return 0;
    }
    raise(std::move(any).error());
  } catch (...) {
    // Cancelled, or out of memory: not through foreign frames.
    t_thrown = std::current_exception();
    raise("KeyboardInterrupt", "the work was cancelled");
  }
  return -1;
}

// ---- exported ----

extern "C" {

RLDB_FFI_EXPORT void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message) {
  raise(kind ? kind : "", message ? message : "");
}

RLDB_FFI_EXPORT void TVMFFIErrorSetRaisedFromCStrParts(const char* kind, const char** parts, std::int32_t count) {
  std::string message;
  for (std::int32_t i = 0; i < count; ++i) {
    if (parts[i]) message += parts[i];
  }
  raise(kind ? kind : "", message);
}

RLDB_FFI_EXPORT void TVMFFIErrorSetRaised(TVMFFIObjectHandle error) {
  auto* object = static_cast<TVMFFIObject*>(error);
  if (const std::string why = why_not_object(object, kTVMFFIError); !why.empty())
    return note_misuse(fmt::format("raised {}", why));
  // One that was moved out and is put back stands for the same error.
  std::optional<Passed> passed = std::move(t_passed);
  set_raised(Handle::share(object));
  if (passed && passed->object == object) t_passed = std::move(passed);
}

RLDB_FFI_EXPORT void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle* result) { *result = t_raised.give(); }

RLDB_FFI_EXPORT int TVMFFIErrorCreateWithCauseAndExtraContext(const TVMFFIByteArray* kind,
                                                              const TVMFFIByteArray* message,
                                                              const TVMFFIByteArray* backtrace,
                                                              TVMFFIObjectHandle cause, TVMFFIObjectHandle context,
                                                              TVMFFIObjectHandle* out) {
  const auto text = [](const TVMFFIByteArray* b) { return b ? view_of(*b) : std::string_view(); };
  *out = make_error(text(kind), text(message), text(backtrace), Handle::share(static_cast<TVMFFIObject*>(cause)),
                    Handle::share(static_cast<TVMFFIObject*>(context)))
             .give();
  return 0;
}

RLDB_FFI_EXPORT int TVMFFIErrorCreate(const TVMFFIByteArray* kind, const TVMFFIByteArray* message,
                                      const TVMFFIByteArray* backtrace, TVMFFIObjectHandle* out) {
  return TVMFFIErrorCreateWithCauseAndExtraContext(kind, message, backtrace, nullptr, nullptr, out);
}

RLDB_FFI_EXPORT const TVMFFIByteArray* TVMFFIBacktrace(const char* file, int line, const char* function, int) {
  thread_local std::string text;
  thread_local TVMFFIByteArray bytes;
  text.clear();
  if (file) text = fmt::format("  File \"{}\", line {}, in {}\n", file, line, function ? function : "<unknown>");
  bytes = {text.data(), text.size()};
  return &bytes;
}

RLDB_FFI_EXPORT int TVMFFIEnvCheckSignals() {
  if (!support::cancel_flag().load(std::memory_order_relaxed)) return 0;
  raise({ErrorKind::Interrupted, fmt::format("interrupted in `{}`", current_scope().name), {}});
  return -1;
}
}

}  // namespace rldb::runtime::ffi
