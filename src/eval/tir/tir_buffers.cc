// The memory of a kernel in progress: parameters, allocations, windows over them; the start of a call.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "eval/tir/tir_machine_impl.h"
#include "rldb/eval/access_watcher.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/runtime/fresh_memory.h"
#include "rldb/support/text.h"

namespace rldb::eval {

using ir::as;
using runtime::Error;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Value;
using runtime::ValueKind;
using support::Unit;

namespace {

std::int64_t product(const std::vector<std::int64_t>& dims) {
  std::int64_t n = 1;
  for (const std::int64_t d : dims)
    if (__builtin_mul_overflow(n, d, &n)) return -1;
  return n;
}

std::vector<std::int64_t> compact_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

constexpr std::int64_t kMaxAllocation = std::int64_t(1) << 40;

}  // namespace

Result<std::vector<std::int64_t>> TirMachine::Impl::dims(ir::Span<const ir::Expr*> exprs) const {
  std::vector<std::int64_t> out;
  for (const ir::Expr* e : exprs) {
    RLDB_TRY(const std::int64_t d, expr().integer(e));
    out.push_back(d);
  }
  return out;
}

Result<Unit> TirMachine::Impl::map_buffer(const ir::Buffer* b, Pointer at) {
  BufferValue v;
  v.buffer = b;
  v.dtype = b->dtype;
  v.storage = at.storage;
  v.byte_offset = at.byte_offset;
  v.end = at.end;
  RLDB_TRY(v.shape, dims(b->shape));
  if (b->strides.empty()) {
    v.strides = compact_strides(v.shape);
  } else {
    RLDB_TRY(v.strides, dims(b->strides));
  }
  if (b->elem_offset && !(as<ir::Var>(b->elem_offset) && !env.vars.find(b->elem_offset->id))) {
    RLDB_TRY(v.offset, expr().integer(b->elem_offset));
  }
  env.pointers[b->data] = at;
  env.buffers[b] = std::move(v);
  return Unit{};
}

Result<Unit> TirMachine::Impl::allocate_buffer(const ir::Buffer* b) {
  RLDB_TRY(const std::vector<std::int64_t> shape, dims(b->shape));
  RLDB_TRY(const std::vector<std::int64_t> extents, storage_extents(b, shape));
  RLDB_TRY(Pointer p, allocate_shared(b, b->scope, extents, b->dtype, b->name));
  RLDB_TRY_VOID(map_buffer(b, std::move(p)));
  return fill_begun(b->data);
}

Result<std::vector<std::int64_t>> TirMachine::Impl::storage_extents(const ir::Buffer* b,
                                                                    const std::vector<std::int64_t>& shape) const {
  const auto* free = as<ir::Var>(b->elem_offset);
  const bool moved = b->elem_offset && !(free && !env.vars.find(free->id)) && !ir::is_const(b->elem_offset, 0);
  if ((b->strides.empty() && !moved) || product(shape) < 0) return shape;
  std::vector<std::int64_t> strides = compact_strides(shape);
  if (!b->strides.empty()) {
    RLDB_TRY(strides, dims(b->strides));
    strides.resize(shape.size(), 1);
  }
  const auto too_large = [&] {
    return fail(ErrorKind::OutOfMemory, fmt::format("cannot allocate buffer `{}`: its size overflows", b->name));
  };
  std::int64_t last = 0, rows = 0;
  bool some = true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (strides[i] < 0)
      return fail(ErrorKind::Unsupported,
                  fmt::format("cannot allocate buffer `{}`: its stride {} is {}", b->name, i, strides[i]));
    some = some && shape[i] > 0;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &reach) || __builtin_add_overflow(last, reach, &last) ||
        (i == 0 && __builtin_mul_overflow(shape[0], strides[0], &rows)))
      return too_large();
  }
  std::int64_t count = some ? std::max(last + 1, rows) : 0;
  if (moved) {
    RLDB_TRY(const std::int64_t offset, expr().integer(b->elem_offset));
    if (offset < 0)
      return fail(ErrorKind::Unsupported,
                  fmt::format("cannot allocate buffer `{}`: its offset is {}", b->name, offset));
    if (__builtin_add_overflow(count, offset, &count)) return too_large();
  }
  return std::vector<std::int64_t>{count};
}

Result<Pointer> TirMachine::Impl::allocate(const std::vector<std::int64_t>& shape, DType dtype, std::string_view name) {
  const std::int64_t count = product(shape);
  if (count < 0 || count > kMaxAllocation)
    return fail(ErrorKind::OutOfMemory,
                fmt::format("cannot allocate buffer `{}`: its shape is negative or too large", name));
  RLDB_TRY(runtime::Ref<runtime::Storage> storage, runtime::Storage::allocate(std::size_t(count) * dtype.bytes()));
  const std::size_t bytes = storage->size();
  if (poisoned_memory && bytes > 0) std::memset(storage->data(), runtime::kFreshByte, bytes);
  if (watcher) watcher->allocated(storage->data(), bytes);
  return Pointer{std::move(storage), 0, bytes};
}

Result<Pointer> TirMachine::Impl::allocate_shared(const ir::Node* of, std::string_view scope,
                                                  const std::vector<std::int64_t>& shape, DType dtype,
                                                  std::string_view name) {
  Pointer* shared = shared_memory(of, scope);
  if (shared && shared->storage) return *shared;
  RLDB_TRY(Pointer made, allocate(shape, dtype, name));
  if (shared) *shared = made;
  return made;
}

Result<Unit> TirMachine::Impl::match_region(const ir::MatchBufferRegion& m) {
  RLDB_TRY(BufferValue source, expr().buffer(m.source.buffer));
  BufferValue v;
  v.buffer = m.buffer;
  v.dtype = m.buffer->dtype;
  v.storage = source.storage;
  v.byte_offset = source.byte_offset;
  v.end = source.end;
  v.offset = source.offset;
  std::vector<std::int64_t> extents;
  for (std::size_t i = 0; i < m.source.region.size(); ++i) {
    RLDB_TRY(const std::int64_t min, expr().integer(m.source.region[i].min));
    RLDB_TRY(const std::int64_t extent, expr().integer(m.source.region[i].extent));
    if (min < 0 || extent < 0 || min + extent > source.shape[i])
      return fail(ErrorKind::OutOfBounds,
                  fmt::format("match_buffer of `{}`, dimension {}: {}:{} is not within its extent {}",
                              m.source.buffer->name, i, min, min + extent, source.shape[i]));
    v.offset += min * source.strides[i];
    extents.push_back(extent);
  }
  // Leading dimensions of extent 1 may be omitted in the target.
  const std::size_t skipped = extents.size() - std::min(extents.size(), m.buffer->shape.size());
  for (std::size_t i = 0; i < m.buffer->shape.size(); ++i) {
    const std::int64_t extent = extents[skipped + i];
    const std::int64_t stride = source.strides[skipped + i];
    note_matched(m.buffer->shape[i]);
    if (i < m.buffer->strides.size()) note_matched(m.buffer->strides[i]);
    if (auto bad = bind_dim(m.buffer->shape[i], extent, m.buffer->name, i); !bad.ok()) return bad;
    v.shape.push_back(extent);
    v.strides.push_back(stride);
    if (i < m.buffer->strides.size()) {
      if (auto bad = bind_dim(m.buffer->strides[i], stride, m.buffer->name, i); !bad.ok()) return bad;
    }
  }
  if (const auto* offset = as<ir::Var>(m.buffer->elem_offset)) env.vars.set(offset->id, of_int(v.offset));
  env.pointers[m.buffer->data] = Pointer{v.storage, v.byte_offset, v.end};
  env.buffers[m.buffer] = std::move(v);
  return Unit{};
}

void TirMachine::Impl::note_matched(const ir::Expr* e) {
  if (const auto* v = as<ir::Var>(e); v && !env.vars.find(v->id)) matched.insert(v);
}

Result<Unit> TirMachine::Impl::bind_dim(const ir::Expr* e, std::int64_t value, std::string_view buffer,
                                        std::size_t dim) {
  const auto* v = as<ir::Var>(e);
  if (v && (!env.vars.find(v->id) || matched.contains(v))) {
    env.vars.set(v->id, of_int(value));
    return Unit{};
  }
  RLDB_TRY(const std::int64_t known, expr().integer(e));
  if (known == value) return Unit{};
  return fail(ErrorKind::ShapeMismatch, fmt::format("buffer `{}`, dimension {}: `{}` is {} but the value has {}",
                                                    buffer, dim, ir::print_expr(e), known, value));
}

// ---- starting ----

Result<Unit> TirMachine::Impl::start(runtime::PackedArgs args) {
  if (args.size() != f->params.size())
    return fail(ErrorKind::ArgumentCount, fmt::format("the kernel takes {}, {} given",
                                                      support::counted(f->params.size(), "argument"), args.size()));
  env = {};
  stack.clear();
  grid.reset();
  steps = 0;
  // Scalars and bare dims first: other dims may be expressions over them.
  for (std::size_t i = 0; i < args.size(); ++i) {
    const ir::PrimParam& p = f->params[i];
    if (p.buffer) {
      if (auto bad = bind_bare_dims(p.buffer, args[i]); !bad.ok()) return bad;
    } else if (args[i].is(ValueKind::Tensor)) {
      env.pointers[p.var] = Pointer::to(args[i].as_tensor());
    } else {
      const DType t = p.var->dtype();
      const Scalar v = args[i].is(ValueKind::Float) ? of_float(args[i].as_float()) : of_int(args[i].as_int());
      env.vars.set(p.var->id, convert(v, args[i].is(ValueKind::Float) ? DType::Float(64) : DType::Int(64),
                                      t.is_void() ? DType::Int(64) : t));
    }
  }
  for (std::size_t i = 0; i < args.size(); ++i) {
    const ir::Buffer* b = f->params[i].buffer;
    if (!b) continue;
    const runtime::Tensor& t = args[i].as_tensor();
    for (std::size_t d = 0; d < b->shape.size(); ++d)
      if (auto bad = bind_dim(b->shape[d], t.shape()[d], b->name, d); !bad.ok()) return bad;
    const std::vector<std::int64_t> strides = compact_strides(t.shape());
    for (std::size_t d = 0; d < b->strides.size() && d < strides.size(); ++d)
      if (auto bad = bind_dim(b->strides[d], strides[d], b->name, d); !bad.ok()) return bad;
    if (const auto* offset = as<ir::Var>(b->elem_offset)) env.vars.set(offset->id, of_int(0));
    if (auto bad = map_buffer(b, Pointer::to(t)); !bad.ok()) return bad;
    env.pointers[f->params[i].var] = Pointer::to(t);
  }
  const bool some_empty = std::any_of(args.begin(), args.end(), [](const Value& v) {
    return v.is(ValueKind::Tensor) && v.as_tensor().byte_size() == 0;
  });
  begun.clear();
  if (some_empty) {
    if (auto bad = begin_empty_reductions(); !bad.ok()) return bad;
  }
  push(f->body);
  settle();
  return Unit{};
}

// The results of reductions over no elements (rldb/eval/empty_reduction.h), which the loops do not write.
Result<Unit> TirMachine::Impl::begin_empty_reductions() {
  for (const EmptyReduction& r : empty_reductions(f)) {
    bool empty = false;
    for (const ir::Expr* extent : r.extents) {
      RLDB_TRY(const std::int64_t n, expr().integer(extent));
      empty = empty || n <= 0;
    }
    if (!empty) continue;
    begun.emplace(r.buffer->data, r);
    RLDB_TRY_VOID(fill_begun(r.buffer->data));
  }
  return Unit{};
}

Result<Unit> TirMachine::Impl::fill_begun(const ir::Var* data) {
  const auto found = begun.find(data);
  const auto at = env.pointers.find(data);
  if (found == begun.end() || at == env.pointers.end() || !at->second.storage) return Unit{};
  const DType t = found->second.buffer->dtype;
  RLDB_TRY(const Scalar one, expr().eval(found->second.value));
  const Pointer& memory = at->second;
  for (std::size_t i = memory.byte_offset; i + t.bytes() <= memory.end; i += t.bytes()) {
    store(memory.storage->data() + i, t, one);
    if (watcher) watcher->stored(memory.storage->data() + i, t.bytes());
  }
  return Unit{};
}

Result<Unit> TirMachine::Impl::bind_bare_dims(const ir::Buffer* b, const Value& arg) {
  if (!arg.is(ValueKind::Tensor))
    return fail(ErrorKind::TypeMismatch,
                fmt::format("parameter `{}` expects a tensor, but {} was given", b->name, runtime::describe(arg)));
  const runtime::Tensor& t = arg.as_tensor();
  if (t.shape().size() != b->shape.size() || t.dtype() != b->dtype)
    return fail(ErrorKind::TypeMismatch,
                fmt::format("parameter `{}` expects rank {} and {}, but {} was given", b->name, b->shape.size(),
                            runtime::to_string(b->dtype), runtime::describe(arg)));
  for (std::size_t d = 0; d < b->shape.size(); ++d)
    if (const auto* v = as<ir::Var>(b->shape[d]); v && !env.vars.find(v->id)) env.vars.set(v->id, of_int(t.shape()[d]));
  return Unit{};
}

}  // namespace rldb::eval
