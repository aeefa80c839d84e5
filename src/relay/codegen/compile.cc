// Compiles the module: tables shared by its functions, then function by function.
#include "rldb/relay/codegen/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_set>

#include "relay/codegen/function_compiler.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/relay/vm/object.h"
#include "rldb/support/check.h"

namespace rldb::relay {

namespace {

// The operators of a primitive function, in creation order.
std::vector<const OpInfo*> operators(const Function* f) {
  std::vector<const Expr*> open{f->body};
  std::unordered_set<const Expr*> seen;
  std::vector<std::pair<std::uint32_t, const OpInfo*>> found;
  while (!open.empty()) {
    const Expr* e = open.back();
    open.pop_back();
    if (!seen.insert(e).second) continue;
    if (const auto* c = as<Call>(e))
      if (const auto* o = as<Op>(c->callee)) found.push_back({c->id, o->info});
    for_each_operand(e, [&](const Expr* x) { open.push_back(x); });
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const OpInfo*> out;
  for (const auto& [id, info] : found) out.push_back(info);
  return out;
}

// TVM's naming: operators joined by `_`, cut at 80 characters.
std::string joined_name(const Function* f) {
  std::string name;
  for (const OpInfo* o : operators(f)) name += "_" + std::string(o->name);
  std::replace(name.begin(), name.end(), '.', '_');
  return name.substr(0, 80);
}

}  // namespace

Tables::Tables(Context& ctx, const Module* m, const DevicePlan& plan, CompiledModule& made, source::Diagnostics& out)
    : ctx(ctx), exe(made.executable), out(out), plan(plan), module_(m), kernels_(made.kernels) {
  exe.devices.clear();
  for (const PlannedDevice& d : plan.devices()) exe.devices.push_back({d.device.type, d.device.id, d.memory_scope});
  for (const Definition& d : m->functions) functions_.emplace(d.name->name, std::int64_t(functions_.size()));
  for (const TypeDefinition* t : m->types)
    for (const Constructor* c : t->constructors)
      exe.constructors[relay_vm::constructor_tag(t->name, c->index)] = {std::string(t->name), std::string(c->name)};
}

std::int64_t Tables::function(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? -1 : found->second;
}

std::size_t Tables::add_constant(runtime::Value tensor, std::size_t device) {
  exe.constants.push_back({std::move(tensor), "", std::int64_t(device)});
  return exe.constants.size() - 1;
}

namespace {

// Shapes, sizes, scalars: constants that programs repeat. The elements of larger tensors are not compared.
constexpr std::size_t kSmall = 64;

std::string key_of(const runtime::Tensor& t) {
  std::string key = fmt::format("{} {}:", to_string(t.dtype()), fmt::join(t.shape(), ","));
  key.append(reinterpret_cast<const char*>(t.data()), t.byte_size());
  return key;
}

}  // namespace

std::size_t Tables::constant(const runtime::Tensor* tensor, std::size_t device) {
  const auto [found, first] = tensors_.try_emplace({tensor, device}, exe.constants.size());
  if (!first) return found->second;
  if (tensor->byte_size() <= kSmall) {
    const auto [same, is_new] = small_.try_emplace(fmt::format("{} {}", device, key_of(*tensor)), exe.constants.size());
    if (!is_new) return found->second = same->second;
  }
  // The Context keeps the tensor too.
  return add_constant(runtime::Value(support::Ref<runtime::Tensor>(const_cast<runtime::Tensor*>(tensor))), device);
}

std::size_t Tables::add_kernel(const std::string& key, std::string name, Kernel kernel) {
  const auto [found, first] = by_key_.try_emplace(key, kernels_.size());
  if (!first) return found->second;
  if (const int n = names_[name]++; n > 0) name += fmt::format("_{}", n);
  kernel.name = name;
  exe.primitives.push_back(name);
  auto& attributes = exe.primitive_attributes[std::int64_t(kernels_.size())];
  attributes[std::string(kernel_attr::Kind)] = std::to_string(int(kernel.kind));
  if (kernel.function) attributes[std::string(kernel_attr::Function)] = print_expr(kernel.function);
  kernels_.push_back(std::move(kernel));
  return kernels_.size() - 1;
}

std::size_t Tables::compute(const Function* f) {
  return add_kernel("compute " + print_expr(f), "vm_mod_fused" + joined_name(f), {KernelKind::Compute, "", f});
}

std::size_t Tables::shape_of_result(const Function* f, bool from_values) {
  const KernelKind kind = from_values ? KernelKind::ShapeFromData : KernelKind::Shape;
  return add_kernel(fmt::format("shape {} ", int(kind)) + print_expr(f), "vm_mod_shape_func" + joined_name(f),
                    {kind, "", f});
}

std::size_t Tables::copy() { return add_kernel("copy", "vm_mod_copy_to", {KernelKind::Copy, ""}); }

std::optional<CompiledModule> compile_vm(Context& ctx, const Module* m, source::Diagnostics& out,
                                         const TextNames* names, TypeOfVariable types) {
  CompiledModule made;
  const std::size_t before = out.error_count();
  const auto plan = DevicePlan::of(ctx, m, out);
  if (!plan) return std::nullopt;
  Tables tables(ctx, m, *plan, made, out);
  tables.names = names;
  tables.types = std::move(types);
  for (const Definition& d : m->functions) FunctionCompiler(tables, d).run();
  if (out.error_count() > before) return std::nullopt;
  const auto verified = relay_bytecode::verify(made.executable);
  RLDB_CHECK(verified.ok(), verified.ok() ? "" : verified.error().message);
  return made;
}

}  // namespace rldb::relay
