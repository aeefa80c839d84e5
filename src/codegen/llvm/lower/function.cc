// The function around a kernel's code: entry, parameters, faults, helpers.
#include <fmt/format.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/llvm/lower/lowering.h"
#include "rldb/eval/coverage.h"
#include "rldb/ir/printer.h"
#include "rldb/schedule/schedule.h"

namespace rldb::codegen {

using runtime::ErrorKind;

void refuse(std::string why) { throw Refused{std::move(why)}; }

Lowering::Lowering(llvm::LLVMContext& context, const LowerOptions& options)
    : c_(context), options_(options), module_(std::make_unique<llvm::Module>("kernel", context)), b_(context) {}

Lowering::Block* Lowering::new_block(std::string_view name) { return llvm::BasicBlock::Create(c_, name, body_); }

std::string Lowering::where(const ir::Expr* e) const {
  std::string text = ir::print_expr(e);
  if (text.size() > 120) {
    text.resize(117);
    text += "...";
  }
  return "`" + text + "`";
}

llvm::FunctionCallee Lowering::helper(std::string_view name, llvm::Type* result, std::vector<llvm::Type*> params,
                                      bool pure) {
  if (options_.device) refuse(fmt::format("a device has no function `{}`", name));
  auto callee = module_->getOrInsertFunction(llvm::StringRef(name), llvm::FunctionType::get(result, params, false));
  if (auto* f = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    f->setDoesNotThrow();
    if (pure) {
      f->setDoesNotAccessMemory();
      f->setWillReturn();
    }
  }
  return callee;
}

Lowered Lowering::run(const ir::PrimFunc* f, const runtime::KernelSignature& signature) {
  facts_ = schedule::prove_bounds(f);
  unwritten_ = eval::allocations_left_unwritten(f);
  result_ = signature.result;
  make_entry(f, signature);
  begin_lines(f, signature.name);
  prepare_notes(f);
  find_parallel_loops(f);
  hoist_allocations(f);
  begin_empty_reductions(f);
  stmt(f->body);
  finish();
  end_lines();
  std::string problem;
  llvm::raw_string_ostream out(problem);
  if (llvm::verifyModule(*module_, &out)) refuse("the generated code is not valid: " + problem);
  return {std::move(module_), std::move(faults_)};
}

// Two functions: the exported entry unpacks the words, the internal one has pointers as parameters so that they can
// be `noalias`.
void Lowering::make_entry(const ir::PrimFunc* f, const runtime::KernelSignature& signature) {
  llvm::Type* ptr = b_.getPtrTy();
  llvm::Type* word = b_.getInt64Ty();
  noalias_ = schedule::is_noalias(f);

  std::vector<llvm::Type*> types;
  for (const auto& p : signature.params) {
    if (p.is_tensor || p.opaque)
      types.push_back(ptr);
    else
      types.push_back(p.dtype.is_float() ? b_.getDoubleTy() : word);
  }
  for (std::size_t i = 0; i < signature.variables.size(); ++i) types.push_back(word);
  types.push_back(ptr);
  body_ = llvm::Function::Create(llvm::FunctionType::get(b_.getInt32Ty(), types, false),
                                 llvm::GlobalValue::InternalLinkage, "body", *module_);
  body_->addFnAttr(llvm::Attribute::NoInline);
  body_->setDoesNotThrow();
  for (std::size_t i = 0; i < signature.params.size(); ++i) {
    llvm::Argument* a = body_->getArg(unsigned(i));
    a->setName(signature.params[i].name);
    if (signature.params[i].is_tensor && noalias_) a->addAttr(llvm::Attribute::NoAlias);
  }
  fault_ = body_->getArg(unsigned(types.size() - 1));
  fault_->setName("fault");
  body_->getArg(unsigned(types.size() - 1))->addAttr(llvm::Attribute::NoAlias);

  entry_ = llvm::Function::Create(llvm::FunctionType::get(b_.getInt32Ty(), {ptr, ptr, ptr}, false),
                                  llvm::GlobalValue::ExternalLinkage, kEntryName, *module_);
  entry_->setDoesNotThrow();
  b_.SetInsertPoint(llvm::BasicBlock::Create(c_, "entry", entry_));
  std::vector<Value*> args;
  for (std::size_t i = 0; i < signature.params.size(); ++i) {
    Value* at = b_.CreateConstInBoundsGEP1_64(word, entry_->getArg(0), i);
    args.push_back(b_.CreateLoad(types[i], at));
  }
  for (std::size_t i = 0; i < signature.variables.size(); ++i)
    args.push_back(b_.CreateLoad(word, b_.CreateConstInBoundsGEP1_64(word, entry_->getArg(1), i)));
  args.push_back(entry_->getArg(2));
  b_.CreateRet(b_.CreateCall(body_, args));

  b_.SetInsertPoint(llvm::BasicBlock::Create(c_, "entry", body_));
  bind_parameters(f, signature);
}

void Lowering::bind_parameters(const ir::PrimFunc* f, const runtime::KernelSignature& signature) {
  // The variables in the order of eval::signature_of: integer scalars and bare dims as they are met.
  std::size_t next = 0;
  const auto define = [&](const ir::Var* v) {
    if (vars_.contains(v)) return;
    if (next >= signature.variables.size()) refuse("its signature does not fit its parameters");
    Value* wide = body_->getArg(unsigned(signature.params.size() + next));
    wide->setName(signature.variables[next]);
    ++next;
    VarValue value;
    value.wide = wide;
    value.value = b_.CreateIntCast(wide, value_type(v->dtype()), v->dtype().is_int());
    if (v->dtype().is_bool()) value.value = b_.CreateICmpNE(wide, i64(0));
    vars_[v] = value;
  };
  for (const ir::PrimParam& p : f->params) {
    if (!p.buffer && p.var->dtype().is_integral()) define(p.var);
    if (!p.buffer) continue;
    for (const ir::Expr* d : p.buffer->shape)
      if (const auto* v = ir::as<ir::Var>(d)) {
        define(v);
        vars_[v].non_negative = true;
      }
  }
  if (next != signature.variables.size()) refuse("its signature does not fit its parameters");
  for (std::size_t i = 0; i < f->params.size(); ++i) {
    const ir::PrimParam& p = f->params[i];
    Value* arg = body_->getArg(unsigned(i));
    if (p.buffer) {
      bind_parameter_buffer(p.buffer, arg);
      pointers_[p.var] = pointers_[p.buffer->data];
    } else if (signature.params[i].opaque) {
      pointers_[p.var] = {arg, opaque_bytes(i)};
    } else if (p.var->dtype().is_float()) {
      vars_[p.var] = {convert(arg, DType::Float(64), p.var->dtype())};
    }
  }
}

// The size of the memory behind a bare handle is not among the words of a call.
Lowering::Value* Lowering::opaque_bytes(std::size_t param) {
  if (!options_.check_bounds) return nullptr;
  return b_.CreateCall(helper("rldb_bytes", b_.getInt64Ty(), {b_.getInt64Ty()}), {i64(std::int64_t(param))});
}

// The word of a returned scalar goes where a fault's first value would (runtime::KernelFault).
void Lowering::store_result(const ir::Expr* e) {
  const DType from = e->dtype();
  if (result_.is_void() || from.is_handle()) return;
  Value* v = value(e);
  Value* word = result_.is_float() ? b_.CreateBitCast(convert(v, from, DType::Float(64)), b_.getInt64Ty())
                                   : convert(v, from, DType::Int(64));
  b_.CreateStore(word, b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), fault_, 1));
}

View Lowering::make_view(const ir::Buffer* b, const Memory& memory) {
  View v;
  v.base = memory.base;
  if (options_.check_bounds && !facts_.fits(b))
    v.limit = memory.bytes ? b_.CreateUDiv(memory.bytes, i64(std::int64_t(b->dtype.bytes()))) : i64(0);
  v.dtype = b->dtype;
  for (const ir::Expr* d : b->shape) v.shape.push_back(index(d));
  const std::size_t n = v.shape.size();
  v.strides.resize(n);
  v.compact = b->strides.empty();
  if (v.compact) {
    Value* stride = i64(1);
    for (std::size_t i = n; i-- > 0;) {
      v.strides[i] = stride;
      stride = b_.CreateMul(stride, v.shape[i], "", true, true);
    }
  } else {
    for (std::size_t i = 0; i < n; ++i) v.strides[i] = i < b->strides.size() ? index(b->strides[i]) : i64(1);
  }
  if (n > 0)
    if (const auto* last = llvm::dyn_cast<llvm::ConstantInt>(v.strides[n - 1])) v.last_stride = last->getSExtValue();
  return v;
}

void Lowering::bind_parameter_buffer(const ir::Buffer* b, Value* pointer) {
  memory_type(b->dtype.element());               // refuses formats that cannot be compiled
  const auto wide = restore_later(wide_, true);  // as the arguments were checked
  std::vector<Value*> shape;
  for (const ir::Expr* d : b->shape) shape.push_back(index(d));
  Value* compact = i64(1);
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (i < b->strides.size()) bind_dim(b->strides[i], compact, b->name, i);
    compact = b_.CreateMul(compact, shape[i], "", true, true);
  }
  if (const auto* v = ir::as<ir::Var>(b->elem_offset); v && !vars_.contains(v))
    vars_[v] = {llvm::ConstantInt::get(value_type(v->dtype()), 0), i64(0), nullptr, true};
  const Memory memory{pointer, b_.CreateMul(compact, i64(std::int64_t(b->dtype.bytes())), "", true, true)};
  pointers_[b->data] = memory;
  View made = make_view(b, memory);
  if (b->elem_offset) {
    const auto* zero = ir::as<ir::IntImm>(b->elem_offset);
    if (!zero || zero->value != 0) made.offset = index(b->elem_offset);
  }
  views_[b] = std::move(made);
}

// A dimension that is a fresh variable is defined; anything else must agree.
void Lowering::bind_dim(const ir::Expr* e, Value* actual, std::string_view buffer, std::size_t dim) {
  const auto* v = ir::as<ir::Var>(e);
  if (v && (!vars_.contains(v) || match_defined_.contains(v))) {
    match_defined_.insert(v);
    vars_[v] = {b_.CreateIntCast(actual, value_type(v->dtype()), true), actual, nullptr, true};
    return;
  }
  Value* known = index(e);
  fault_if(
      b_.CreateICmpNE(known, actual), ErrorKind::ShapeMismatch,
      fmt::format("buffer `{}`, dimension {}: `{}` is {{}} but the value has {{}}", buffer, dim, ir::print_expr(e)),
      {known, actual});
}

// ---- faults ----

void Lowering::fault_always(ErrorKind kind, std::string text, std::vector<Value*> values) {
  FaultRow row{kind, std::move(text), {}};
  for (const ir::Var* v : scope_) {
    const auto it = vars_.find(v);
    if (values.size() >= kFaultValues || it == vars_.end() || !it->second.wide) continue;
    if (it->second.wide->getType()->isVectorTy()) continue;
    row.note += fmt::format("{}{} = {{}}", row.note.empty() ? "with " : ", ", v->name);
    values.push_back(it->second.wide);
  }
  for (std::size_t i = 0; i < values.size() && i < kFaultValues; ++i)
    b_.CreateStore(values[i], b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), fault_, 1 + i));
  faults_.push_back(std::move(row));
  b_.CreateStore(i64(std::int64_t(faults_.size())), fault_);
  b_.CreateRet(b_.getInt32(1));
}

void Lowering::fault_if(Value* bad, ErrorKind kind, std::string text, std::vector<Value*> values) {
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(bad); known && known->isZero()) return;
  Block* stop = new_block("fault");
  Block* go = new_block("ok");
  llvm::MDBuilder md(c_);
  b_.CreateCondBr(bad, stop, go, md.createBranchWeights(1, 1u << 20));
  b_.SetInsertPoint(stop);
  fault_always(kind, std::move(text), std::move(values));
  b_.SetInsertPoint(go);
}

// A helper has already left the Error with the caller.
void Lowering::fault_from_helper(Value* bad) {
  Block* stop = new_block("fault");
  Block* go = new_block("ok");
  llvm::MDBuilder md(c_);
  b_.CreateCondBr(bad, stop, go, md.createBranchWeights(1, 1u << 20));
  b_.SetInsertPoint(stop);
  b_.CreateRet(b_.getInt32(2));
  b_.SetInsertPoint(go);
}

}  // namespace rldb::codegen
