// Compiling and linking; arguments for a run.
#include "rldb/relay/run/program.h"

#include <fmt/format.h>

#include "relay/run/kernel_maker.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/relay/ops/infer.h"
#include "rldb/relay/passes/pass.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/cancel.h"

namespace rldb::relay_run {

using runtime::ErrorKind;
using runtime::ValueKind;

Program::~Program() = default;

std::shared_ptr<relay::Evaluator> make_evaluator(relay::Context& ctx, const session::Options& options) {
  return std::make_shared<KernelMaker>(ctx, options, nullptr);
}

bool Program::link(source::Diagnostics& out) {
  relay_vm::Environment env;
  env.primitives = &primitives_;
  env.interrupt = &support::cancel_flag();
  auto linked = relay_vm::Program::link(exe_, env);
  if (!linked.ok()) {
    out.add({}, source::message(diag::RunFailed, linked.error().message));
    return false;
  }
  linked_ = std::move(linked).value();
  return true;
}

std::unique_ptr<Program> Program::compile(relay::Context& ctx, const relay::Module* m, const session::Options& options,
                                          runtime::Output* output, source::Diagnostics& out, std::string_view entry,
                                          const relay::TextNames* names) {
  relay::TextNames named = names ? *names : relay::TextNames();
  relay::PassEnv env{ctx, out, entry, &named};
  const relay::Module* prepared = relay::prepare_for_vm(env, m);
  if (!prepared) return nullptr;
  relay::Typing typing;
  source::Diagnostics ignored;
  // Callers that inspect the program require names.
  const bool typed = names && relay::infer_types(ctx, prepared, typing, ignored);
  relay::TypeOfVariable types;
  if (typed) types = [&](const relay::Var* v) { return typing.of(v); };
  auto compiled = relay::compile_vm(ctx, prepared, out, &named, types);
  if (!compiled) return nullptr;
  std::unique_ptr<Program> program(new Program);
  program->ctx_ = &ctx;
  program->maker_ = std::make_shared<KernelMaker>(ctx, options, output);
  for (const relay::Kernel& k : compiled->kernels) program->primitives_.set(k.name, program->maker_->primitive(k));
  program->kernels_ = std::move(compiled->kernels);
  program->exe_ = std::make_shared<const relay_bytecode::Executable>(std::move(compiled->executable));
  return program->link(out) ? std::move(program) : nullptr;
}

namespace {

std::optional<relay::KernelKind> kernel_kind(std::string_view number) {
  for (const relay::KernelKind k : {relay::KernelKind::Compute, relay::KernelKind::Shape,
                                    relay::KernelKind::ShapeFromData, relay::KernelKind::Copy})
    if (number == std::to_string(int(k))) return k;
  return std::nullopt;
}

}  // namespace

// Primitives in a file that we wrote include their definition. Otherwise they are identified by name.
void Program::primitives_of(const relay_bytecode::Executable& exe) {
  for (const auto& [index, attributes] : exe.primitive_attributes) {
    const auto text = [&](std::string_view key) {
      const auto found = attributes.find(std::string(key));
      return found == attributes.end() ? std::string() : found->second;
    };
    const std::string kind = text(relay::kernel_attr::Kind);
    const std::optional<relay::KernelKind> known = kernel_kind(kind);
    if (!known) continue;
    relay::Kernel kernel{*known, exe.primitives[std::size_t(index)]};
    if (kernel.kind != relay::KernelKind::Copy) {
      kernel.function = maker_->read_function(text(relay::kernel_attr::Function));
      if (!kernel.function) continue;
    }
    primitives_.set(kernel.name, maker_->primitive(kernel));
    kernels_.push_back(std::move(kernel));
  }
}

std::unique_ptr<Program> Program::open(relay_bytecode::Executable exe, const session::Options& options,
                                       runtime::Output* output, source::Diagnostics& out) {
  std::unique_ptr<Program> program(new Program);
  program->own_ = std::make_unique<relay::Context>();
  program->ctx_ = program->own_.get();
  program->maker_ = std::make_shared<KernelMaker>(*program->own_, options, output);
  program->primitives_of(exe);
  program->primitives_.set_fallback(
      [maker = program->maker_.get()](std::string_view name) { return maker->primitive_by_name(name); });
  program->exe_ = std::make_shared<const relay_bytecode::Executable>(std::move(exe));
  return program->link(out) ? std::move(program) : nullptr;
}

namespace {

runtime::Result<Value> scalar_of(const Value& v, runtime::DType dtype) {
  RLDB_TRY(auto t, runtime::Tensor::empty({}, dtype));
  if (v.is(ValueKind::Float))
    runtime::store_double(t->data(), dtype, v.as_float());
  else if (dtype.is_float())
    runtime::store_double(t->data(), dtype, double(v.as_int()));
  else
    runtime::store_int(t->data(), dtype, v.as_int());
  return Value(t);
}

runtime::Result<Value> made_up(const relay::Type* type, const session::Options& options, std::uint64_t seed) {
  if (const auto* tuple = relay::as<relay::TupleType>(type)) {
    std::vector<Value> fields;
    for (const relay::Type* f : tuple->fields) {
      RLDB_TRY(Value v, argument(Value(), f, options, seed + fields.size() + 1));
      fields.push_back(std::move(v));
    }
    return Value::of_tuple(std::move(fields));
  }
  const auto* tensor = relay::as<relay::TensorType>(type);
  if (!tensor)
    return runtime::fail(ErrorKind::ArgumentCount, fmt::format("nothing can be made up for a parameter of type `{}`",
                                                               type ? relay::print_type(type) : "unknown"));
  std::vector<std::int64_t> shape;
  for (const relay::Dim& d : tensor->shape)
    shape.push_back(d.kind == relay::DimKind::Known ? d.value : options.default_dim);
  return runtime::random_tensor(std::move(shape), tensor->dtype, seed);
}

}  // namespace

runtime::Result<Value> argument(const Value& given, const relay::Type* type, const session::Options& options,
                                std::uint64_t seed) {
  if (given.is_null()) return made_up(type, options, seed);
  const auto* tensor = relay::as<relay::TensorType>(type);
  switch (given.kind()) {
    case ValueKind::Int:
    case ValueKind::Bool:
      return scalar_of(given, tensor                     ? tensor->dtype
                              : given.is(ValueKind::Int) ? runtime::DType::Int(32)
                                                         : runtime::DType::Bool());
    case ValueKind::Float:
      return scalar_of(given, tensor ? tensor->dtype : runtime::DType::Float(32));
    case ValueKind::Tensor:
      return given;
    case ValueKind::Tuple: {
      const auto* tuple = relay::as<relay::TupleType>(type);
      std::vector<Value> fields;
      for (const Value& f : given.as_tuple().fields) {
        const std::size_t i = fields.size();
        RLDB_TRY(Value v, argument(f, tuple && i < tuple->fields.size() ? tuple->fields[i] : nullptr, options, seed));
        fields.push_back(std::move(v));
      }
      return Value::of_tuple(std::move(fields));
    }
    case ValueKind::Null:
    case ValueKind::DType:
    case ValueKind::String:
    case ValueKind::Shape:
    case ValueKind::Function:
    case ValueKind::Storage:
    case ValueKind::Object:
      break;
  }
  return runtime::fail(ErrorKind::TypeMismatch, fmt::format("a {} is not a Relay value", to_string(given.kind())));
}

}  // namespace rldb::relay_run
