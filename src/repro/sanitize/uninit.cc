// Steps through kernels and looks up every load in the bytes that were written.
#include "repro/sanitize/uninit.h"

#include <fmt/format.h>

#include <cstring>
#include <unordered_set>

#include "repro/values.h"
#include "rldb/eval/access_watcher.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/printer.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

using runtime::PackedArgs;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr std::uint64_t kMostSteps = 50'000'000;

// The contents of tensors, put back at the end.
class Contents {
 public:
  explicit Contents(PackedArgs args) {
    for (const Value& v : args)
      for_each_tensor(v, [&](const Tensor& t) {
        kept_.push_back({v, t.data(), std::vector<std::byte>(t.data(), t.data() + t.byte_size())});
      });
  }
  ~Contents() {
    for (const Kept& k : kept_)
      if (!k.bytes.empty()) std::memcpy(k.at, k.bytes.data(), k.bytes.size());
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

 private:
  struct Kept {
    Value held;
    std::byte* at;
    std::vector<std::byte> bytes;
  };
  std::vector<Kept> kept_;
};

// The accesses of one run of a kernel.
class Accesses : public eval::AccessWatcher {
 public:
  struct Read {
    const ir::BufferLoad* load;
    std::vector<std::int64_t> element;
    const ir::Stmt* statement;
  };

  Accesses(WrittenBytes& written, const eval::TirMachine& machine) : written_(written), machine_(machine) {}
  ~Accesses() override { written_.drop_own(); }
  Accesses(const Accesses&) = delete;
  Accesses& operator=(const Accesses&) = delete;

  void loaded(const ir::BufferLoad* load, const std::byte* at, std::size_t bytes) override {
    if (busy_ || written_.is_written(at, bytes) || !seen_.insert(load->buffer).second) return;
    busy_ = true;  // indices may be loads themselves
    Read read{load, {}, machine_.current()};
    for (const ir::Expr* index : load->indices)
      if (const auto v = machine_.value_of(index); v.ok() && v->is(ValueKind::Int)) read.element.push_back(v->as_int());
    busy_ = false;
    reads_.push_back(std::move(read));
  }
  void stored(const std::byte* at, std::size_t bytes) override { written_.write(at, bytes); }
  void allocated(const std::byte* at, std::size_t bytes) override { written_.forget_own(at, bytes); }
  void passed(const Value& tensor) override {
    for_each_tensor(tensor, [&](const Tensor& t) { written_.write(t); });
  }

  // The first of each buffer.
  const std::vector<Read>& reads() const { return reads_; }

 private:
  WrittenBytes& written_;
  const eval::TirMachine& machine_;
  std::unordered_set<const ir::Buffer*> seen_;
  std::vector<Read> reads_;
  bool busy_ = false;
};

std::string text_of_read(const Accesses::Read& read) {
  ir::PrintOptions print;
  print.tensor_ir = true;
  if (const auto* store = ir::as<ir::BufferStore>(read.statement))
    return fmt::format("{}[...] = {}", store->buffer->name, ir::print_expr(store->value, print));
  return ir::print_expr(read.load, print);
}

}  // namespace

runtime::Result<support::Unit> UninitRecorder::calling(std::string_view name, const ir::PrimFunc* f, PackedArgs args) {
  if (by_element_ && f) step_through(name, f, args);
  if (by_element_ && !f) look_at_packed(name, args);
  return OverflowRecorder::calling(name, f, args);
}

void UninitRecorder::step_through(std::string_view name, const ir::PrimFunc* f, PackedArgs args) {
  const Contents contents(args);
  eval::TirMachine machine(f, &registry());
  Accesses accesses(written_, machine);
  machine.watch(&accesses);
  bool runs = machine.start(args).ok();
  for (std::uint64_t steps = 0; runs && machine.running(); ++steps) {
    support::poll();
    runs = steps < kMostSteps && machine.step().ok();
  }
  for (const Accesses::Read& read : accesses.reads()) {
    Finding found;
    found.kind = Finding::Kind::Unwritten;
    found.tensor = std::string(read.load->buffer->name);
    found.element = read.element;
    found.statement = text_of_read(read);
    tell(std::move(found), name);
  }
  if (runs) return;
  not_looked_at_.emplace(name);
  for (const Value& v : args) accesses.passed(v);
}

// A tensor of which a part was written; one without any may be meant for the result.
void UninitRecorder::look_at_packed(std::string_view name, PackedArgs args) {
  for (const Value& v : args)
    for_each_tensor(v, [&](const Tensor& t) {
      WrittenBytes::Gap gap = written_.gap_in(t);
      if (gap.element && gap.some) tell_gap(t, std::move(*gap.element), name);
    });
}

void UninitRecorder::tell_gap(const Tensor& t, std::vector<std::int64_t> element, std::string_view reader) {
  Finding found;
  found.kind = Finding::Kind::Unwritten;
  found.tensor = name_of(t);
  found.element = std::move(element);
  tell(std::move(found), reader);
}

void UninitRecorder::leave(const Value& result) {
  if (by_element_ && is_outermost())
    for_each_tensor(result, [&](const Tensor& t) {
      WrittenBytes::Gap gap = written_.gap_in(t);
      if (!gap.element) return;
      tell_gap(t, std::move(*gap.element), {});
      findings().back().reader = "return";
      written_.write(t);
    });
  OverflowRecorder::leave(result);
}

void UninitRecorder::fresh(const Value& memory) {
  if (by_element_) written_.forget(memory);
}

void UninitRecorder::called_packed(PackedArgs args, const Value& result) {
  if (!by_element_) return;
  const auto write = [&](const Tensor& t) { written_.write(t); };
  for (const Value& v : args) for_each_tensor(v, write);
  for_each_tensor(result, write);
}

}  // namespace rldb::repro
