// Sorting kernels: the call is read off the TensorIR, the row off the shapes.
#include "debug/provenance/sorting_kernel.h"

#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/walk.h"

namespace rldb::debug {

using ir::as;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;
using support::Unit;

namespace {

// The only call of a kernel that stores nothing by itself.
const ir::Call* only_call(const ir::PrimFunc* f) {
  const ir::Call* found = nullptr;
  bool only = true;
  ir::walk(f->body, [&](const ir::Node* n) {
    if (as<ir::BufferStore>(n) || as<ir::WhileStmt>(n) || as<ir::ForStmt>(n)) only = false;
    const auto* call = as<ir::Call>(n);
    if (!call) return only;
    only = only && !found && ir::is_call_of(call, ir::intrin::TvmCallPacked);
    found = call;
    return false;
  });
  return only ? found : nullptr;
}

std::optional<std::size_t> parameter_of(const ir::PrimFunc* f, const ir::Expr* array) {
  const auto* call = as<ir::Call>(array);
  if (!call || !ir::is_call_of(call, ir::intrin::TvmStackMakeArray) || call->args.empty()) return std::nullopt;
  for (std::size_t i = 0; i < f->params.size(); ++i)
    if (f->params[i].buffer && f->params[i].buffer->data == call->args[0]) return i;
  return std::nullopt;
}

class SortingKernel : public KernelWrites {
 public:
  SortingKernel(SortingCall call, const std::vector<Value>& args) : call_(std::move(call)), args_(args) {}

  Result<Unit> visit(const MemoryPlace& place, const Moment* before, const Visit& f) override {
    if (before && !(Moment{0} < *before)) return Unit{};
    for (std::size_t i = call_.first_output; i < call_.arrays.size(); ++i) {
      const Tensor& out = args_[call_.arrays[i]].as_tensor();
      const std::int64_t offset = place.byte - std::int64_t(out.byte_offset());
      if (out.storage().get() != place.memory || offset < 0 || offset >= std::int64_t(out.byte_size())) continue;
      KernelWrite write;
      write.moment = {0};
      read_row(out, offset / std::int64_t(out.dtype().bytes()), write);
      (void)f(write);
      return Unit{};
    }
    return Unit{};
  }

 private:
  void read_row(const Tensor& out, std::int64_t position, KernelWrite& write) const {
    const Tensor& data = args_[call_.arrays[0]].as_tensor();
    const std::size_t axis = std::size_t(call_.axis);
    std::int64_t inner = 1;
    for (std::size_t d = axis + 1; d < out.shape().size(); ++d) inner *= out.shape()[d];
    const std::int64_t after = position % inner, row = position / inner / out.shape()[axis];
    for (std::int64_t k = 0; k < data.shape()[axis]; ++k)
      read(data, (row * data.shape()[axis] + k) * inner + after, ReadRole::Value, write);
    // How many of them count.
    for (std::size_t i = 1; i < call_.first_output; ++i)
      if (const Tensor& count = args_[call_.arrays[i]].as_tensor(); count.element_count() > row * inner + after)
        read(count, row * inner + after, ReadRole::Index, write);
  }
  static void read(const Tensor& t, std::int64_t position, ReadRole role, KernelWrite& write) {
    const std::int64_t byte = std::int64_t(t.byte_offset()) + position * std::int64_t(t.dtype().bytes());
    write.reads.push_back({{t.storage().get(), byte}, role, nullptr});
  }

  SortingCall call_;
  const std::vector<Value>& args_;
};

}  // namespace

std::optional<SortingCall> sorting_call(const ir::PrimFunc* f) {
  const ir::Call* call = only_call(f);
  const auto* name = call && !call->args.empty() ? as<ir::StringImm>(call->args[0]) : nullptr;
  if (!name || !name->value.starts_with("tvm.contrib.sort.")) return std::nullopt;
  SortingCall found;
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 1; i < call->args.size(); ++i) {
    if (const auto param = parameter_of(f, call->args[i]))
      found.arrays.push_back(*param);
    else if (const auto* imm = as<ir::IntImm>(call->args[i]))
      numbers.push_back(imm->value);
  }
  const bool top = name->value == "tvm.contrib.sort.topk";
  if (name->value == "tvm.contrib.sort.argsort_nms") found.first_output = 2;
  if (found.arrays.size() <= found.first_output || numbers.size() <= std::size_t(top)) return std::nullopt;
  const std::int64_t rank = std::int64_t(f->params[found.arrays[0]].buffer->shape.size());
  found.axis = numbers[top] < 0 ? numbers[top] + rank : numbers[top];
  return found.axis >= 0 && found.axis < rank ? std::optional(std::move(found)) : std::nullopt;
}

std::unique_ptr<KernelWrites> sorting_kernel(const ir::PrimFunc* f, const std::vector<Value>& args) {
  auto call = sorting_call(f);
  if (!call) return nullptr;
  for (const std::size_t i : call->arrays)
    if (i >= args.size() || !args[i].is(ValueKind::Tensor) ||
        args[i].as_tensor().shape().size() <= std::size_t(call->axis))
      return nullptr;
  return std::make_unique<SortingKernel>(*std::move(call), args);
}

}  // namespace rldb::debug
