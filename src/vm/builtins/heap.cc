// The shape heap: matching shapes against it, making shapes from it. Error texts are TVM's, with notes that name the
// symbol, its value and what bound it, from debug info.
#include "vm/builtins/args.h"

namespace rldb::vm {
namespace {

using bytecode::MakeShapeCode;
using bytecode::MatchShapeCode;

struct Heap {
  std::int64_t* data = nullptr;
  std::int64_t size = 0;
  std::int64_t* slot(std::int64_t i) const { return i >= 0 && i < size ? data + i : nullptr; }
};

Result<Heap> heap_argument(const Args& a, std::size_t i) {
  if (a[i].is_null()) return Heap{};
  if (!a[i].is(ValueKind::Tensor)) return a.wrong(i, "the shape heap");
  runtime::Tensor& t = a[i].as_tensor();
  if (t.dtype() != DType::Int(64)) return a.wrong(i, "the shape heap");
  return Heap{reinterpret_cast<std::int64_t*>(t.data()), t.element_count()};
}

support::Failure<Error> no_slot(const Args& a, std::int64_t slot, const Heap& heap) {
  return a.fail(ErrorKind::OutOfBounds, fmt::format("slot {} of a shape heap of {} slots", slot, heap.size));
}

// TVM's context string may end in a blank, and may be missing.
std::string context(const std::string& text) {
  std::size_t end = text.find_last_not_of(' ');
  return end == std::string::npos ? std::string() : text.substr(0, end + 1) + " ";
}

// The origin of the old value: "symbol `n` is 2, bound by parameter `x`, dimension 0", "`n * 2` is 4, computed from
// ...".
std::string slot_note(const CallSite& site, std::int64_t slot, std::int64_t value) {
  const bytecode::SlotDebug* s = site.program.executable().debug.slot(site.function, slot);
  if (!s) return fmt::format("shape heap slot {} holds {}", slot, value);
  std::string note =
      s->is_variable ? fmt::format("symbol `{}` is {}", s->text, value) : fmt::format("`{}` is {}", s->text, value);
  if (!s->bound_by.empty()) note += (s->is_variable ? ", bound by " : ", ") + s->bound_by;
  return note;
}

// One (code, v) pair against one dimension or scalar. `what` is "shape[0]" or "value".
struct MatchError {
  std::string text;  // TVM's words after the context
  std::vector<std::string> notes;
};

Result<support::Unit> match_one(const CallSite& site, const Args& a, const Heap& heap, std::int64_t code,
                                std::int64_t v, std::int64_t actual, const std::string& what,
                                const std::string& err_context, std::string_view got) {
  auto mismatch = [&](std::string_view rule, std::int64_t expected, std::string note) -> support::Failure<Error> {
    Error e{ErrorKind::ShapeMismatch,
            fmt::format("{}match_cast error,  {} mismatch to {} ({} vs. {})", context(err_context), what, rule, actual,
                        expected),
            {}};
    e.notes.push_back(std::move(note));
    e.notes.push_back(fmt::format("{} is {}", got, actual));
    return support::Failure(std::move(e));
  };
  switch (MatchShapeCode(code)) {
    case MatchShapeCode::AssertEqualToImm:
      if (actual == v) return support::Unit{};
      return mismatch("specified constant.", v, fmt::format("the constant is {}", v));
    case MatchShapeCode::StoreToHeap: {
      std::int64_t* slot = heap.slot(v);
      if (!slot) return no_slot(a, v, heap);
      *slot = actual;
      return support::Unit{};
    }
    case MatchShapeCode::NoOp:
      return support::Unit{};
    case MatchShapeCode::AssertEqualToLoad: {
      std::int64_t* slot = heap.slot(v);
      if (!slot) return no_slot(a, v, heap);
      if (*slot == actual) return support::Unit{};
      return mismatch("a previous populated value.", *slot, slot_note(site, v, *slot));
    }
  }
  return a.fail(ErrorKind::Unsupported, fmt::format("unknown match code {}", code));
}

// Checks `ndim` pairs starting at argument `first`; `rest` arguments follow them.
Result<support::Unit> check_pairs(const Args& a, std::int64_t ndim, std::size_t first, std::size_t rest) {
  if (ndim >= 0 && std::uint64_t(ndim) <= a.size() && first + 2 * std::size_t(ndim) + rest == a.size())
    return support::Unit{};
  return a.fail(ErrorKind::ArgumentCount, fmt::format("{} arguments do not fit rank {}", a.size(), ndim));
}

}  // namespace

Result<Value> builtin_AllocShapeHeap(const CallSite&, PackedArgs args) {
  RLDB_ARGS(AllocShapeHeap);
  RLDB_TRY(std::int64_t size, a.integer(1));
  RLDB_TRY(auto tensor, runtime::Tensor::empty({size}, DType::Int(64)));
  std::fill_n(reinterpret_cast<std::int64_t*>(tensor->data()), size, 0);
  return Value(tensor);
}

Result<Value> builtin_MatchShape(const CallSite& site, PackedArgs args) {
  RLDB_ARGS(MatchShape);
  const std::vector<std::int64_t>* shape = nullptr;
  if (a[0].is(ValueKind::Tensor)) {
    shape = &a[0].as_tensor().shape();
  } else {
    RLDB_TRY(shape, a.shape(0));
  }
  RLDB_TRY(Heap heap, heap_argument(a, 1));
  RLDB_TRY(std::int64_t ndim, a.integer(2));
  RLDB_TRY_VOID(check_pairs(a, ndim, 3, 1));
  const Value& err = a[a.size() - 1];
  auto err_text = [&] { return err.is(ValueKind::String) ? err.as_string() : std::string(); };
  if (std::int64_t(shape->size()) != ndim) {
    return runtime::fail(ErrorKind::ShapeMismatch, fmt::format("{}match_cast shape size mismatch. ({} vs. {})",
                                                               context(err_text()), shape->size(), ndim));
  }
  for (std::int64_t i = 0; i < ndim; ++i) {
    RLDB_TRY(std::int64_t code, a.integer(std::size_t(3 + 2 * i)));
    RLDB_TRY(std::int64_t v, a.integer(std::size_t(4 + 2 * i)));
    std::int64_t actual = (*shape)[std::size_t(i)];
    // The common cases without building any text.
    if (code == std::int64_t(MatchShapeCode::NoOp)) continue;
    if (code == std::int64_t(MatchShapeCode::AssertEqualToImm) && actual == v) continue;
    RLDB_TRY_VOID(match_one(site, a, heap, code, v, actual, fmt::format("shape[{}]", i), err_text(),
                            fmt::format("dimension {} of {}", i, describe(a[0]))));
  }
  return Value();
}

Result<Value> builtin_MatchPrimValue(const CallSite& site, PackedArgs args) {
  RLDB_ARGS(MatchPrimValue);
  RLDB_TRY(std::int64_t actual, a.integer(0));
  RLDB_TRY(Heap heap, heap_argument(a, 1));
  RLDB_TRY(std::int64_t code, a.integer(2));
  RLDB_TRY(std::int64_t v, a.integer(3));
  RLDB_TRY_VOID(match_one(site, a, heap, code, v, actual, "", a.text(4), "the value"));
  return Value();
}

namespace {

Result<std::int64_t> make_one(const Args& a, const Heap& heap, std::int64_t code, std::int64_t v) {
  switch (MakeShapeCode(code)) {
    case MakeShapeCode::UseImm:
      return v;
    case MakeShapeCode::LoadShape: {
      std::int64_t* slot = heap.slot(v);
      if (!slot) return no_slot(a, v, heap);
      return *slot;
    }
  }
  return a.fail(ErrorKind::Unsupported, fmt::format("unknown make code {}", code));
}

}  // namespace

Result<Value> builtin_MakeShape(const CallSite&, PackedArgs args) {
  RLDB_ARGS(MakeShape);
  RLDB_TRY(Heap heap, heap_argument(a, 0));
  RLDB_TRY(std::int64_t ndim, a.integer(1));
  RLDB_TRY_VOID(check_pairs(a, ndim, 2, 0));
  std::vector<std::int64_t> dims;
  dims.reserve(std::size_t(ndim));
  for (std::int64_t i = 0; i < ndim; ++i) {
    RLDB_TRY(std::int64_t code, a.integer(std::size_t(2 + 2 * i)));
    RLDB_TRY(std::int64_t v, a.integer(std::size_t(3 + 2 * i)));
    RLDB_TRY(std::int64_t dim, make_one(a, heap, code, v));
    dims.push_back(dim);
  }
  return Value::of_shape(std::move(dims));
}

Result<Value> builtin_MakePrimValue(const CallSite&, PackedArgs args) {
  RLDB_ARGS(MakePrimValue);
  RLDB_TRY(Heap heap, heap_argument(a, 0));
  RLDB_TRY(std::int64_t code, a.integer(1));
  RLDB_TRY(std::int64_t v, a.integer(2));
  RLDB_TRY(std::int64_t value, make_one(a, heap, code, v));
  return Value::of_int(value);
}

// ---- checks ----

namespace {

support::Failure<Error> check_failed(const std::string& err_context, std::string text) {
  return runtime::fail(ErrorKind::TypeMismatch, context(err_context) + std::move(text));
}

std::string kind_name(const Value& v) { return std::string(to_string(v.kind())); }

}  // namespace

Result<Value> builtin_CheckTensorInfo(const CallSite&, PackedArgs args) {
  RLDB_ARGS(CheckTensorInfo);
  std::size_t last = a.size() - 1;
  if (!a[0].is(ValueKind::Tensor)) return check_failed(a.text(last), "expect a Tensor but get " + kind_name(a[0]));
  const runtime::Tensor& t = a[0].as_tensor();
  RLDB_TRY(std::int64_t ndim, a.integer(1));
  if (ndim != -1 && t.ndim() != ndim)
    return check_failed(a.text(last), fmt::format("expect Tensor with ndim {} but get {}", ndim, t.ndim()));
  if (a.size() == 3 || a[2].is_null()) return Value();
  RLDB_TRY(DType dtype, a.dtype(2));
  if (!dtype.is_void() && t.dtype() != dtype)
    return check_failed(a.text(last),
                        fmt::format("expect Tensor with dtype {} but get {}", to_string(dtype), to_string(t.dtype())));
  return Value();
}

Result<Value> builtin_CheckShapeInfo(const CallSite&, PackedArgs args) {
  RLDB_ARGS(CheckShapeInfo);
  if (!a[0].is(ValueKind::Shape)) return check_failed(a.text(2), "expect a Shape but get " + kind_name(a[0]));
  RLDB_TRY(std::int64_t ndim, a.integer(1));
  std::size_t actual = a[0].as_shape().size();
  if (ndim != -1 && std::int64_t(actual) != ndim)
    return check_failed(a.text(2), fmt::format("expect Shape with ndim {} but get {}", ndim, actual));
  return Value();
}

Result<Value> builtin_CheckPrimValueInfo(const CallSite&, PackedArgs args) {
  RLDB_ARGS(CheckPrimValueInfo);
  RLDB_TRY(DType dtype, a.dtype(1));
  ValueKind kind = a[0].kind();
  bool good = false;
  if (dtype.is_bool())
    good = kind == ValueKind::Bool || kind == ValueKind::Int;
  else if (dtype.is_int() || dtype.is_uint())
    good = kind == ValueKind::Int || kind == ValueKind::Bool;
  else if (dtype.is_float())
    good = kind == ValueKind::Float;
  else
    good = dtype.is_handle() || dtype.is_void();
  if (good) return Value();
  return check_failed(a.text(2), fmt::format("expect dtype {} but get {}", to_string(dtype), kind_name(a[0])));
}

Result<Value> builtin_CheckTupleInfo(const CallSite&, PackedArgs args) {
  RLDB_ARGS(CheckTupleInfo);
  if (!a[0].is(ValueKind::Tuple)) return check_failed(a.text(2), "expect a Tuple but get " + kind_name(a[0]));
  RLDB_TRY(std::int64_t size, a.integer(1));
  std::size_t actual = a[0].as_tuple().fields.size();
  if (std::int64_t(actual) != size)
    return check_failed(a.text(2), fmt::format("expect a Tuple with {} elements,  but get a Tuple "
                                               "with {} elements.",
                                               size, actual));
  return Value();
}

Result<Value> builtin_CheckFuncInfo(const CallSite&, PackedArgs args) {
  RLDB_ARGS(CheckFuncInfo);
  if (a[0].is(ValueKind::Function)) return Value();
  return check_failed(a.text(1), "expect a Function but get " + kind_name(a[0]));
}

}  // namespace rldb::vm
