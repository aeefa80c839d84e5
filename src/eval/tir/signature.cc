// The requirements of a PrimFunc on its callers, as data (runtime::KernelSignature).
#include <fmt/format.h>

#include <unordered_map>

#include "eval/tir/parts.h"
#include "rldb/eval/coverage.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/printer.h"
#include "rldb/source/diagnostic_codegen.h"

namespace rldb::eval {

using runtime::DimExpr;
using runtime::DimOp;
using runtime::DType;

namespace {

class SignatureMaker {
 public:
  explicit SignatureMaker(std::string_view name) { signature_.name = std::string(name); }

  ir::Result<runtime::KernelSignature> make(const ir::PrimFunc* f) {
    // Integer scalars and bare dims define variables, in any order; compound dims are over those.
    for (const ir::PrimParam& p : f->params) {
      if (!p.buffer && p.var->dtype().is_integral()) define(p.var);
      if (!p.buffer) continue;
      for (const ir::Expr* d : p.buffer->shape)
        if (const auto* v = ir::as<ir::Var>(d)) define(v);
    }
    for (const ir::PrimParam& p : f->params) {
      RLDB_TRY(runtime::KernelParam param, p.buffer ? tensor(p.buffer) : scalar(p.var));
      signature_.params.push_back(std::move(param));
    }
    const std::vector<bool> unwritten = may_leave_unwritten(f);
    for (std::size_t i = 0; i < unwritten.size(); ++i) signature_.params[i].may_leave_unwritten = unwritten[i];
    if (const auto* result = ir::as<ir::PrimType>(f->ret_type); result && !result->dtype.is_handle())
      signature_.result = result->dtype;
    return std::move(signature_);
  }

 private:
  void define(const ir::Var* v) {
    if (!indices_.emplace(v, signature_.variables.size()).second) return;
    signature_.variables.emplace_back(v->name);
    signature_.variable_dtypes.push_back(v->dtype());
  }

  ir::Result<runtime::KernelParam> scalar(const ir::Var* v) {
    runtime::KernelParam p;
    p.name = std::string(v->name);
    p.is_tensor = false;
    p.dtype = v->dtype();
    if (ir::as<ir::PointerType>(v->type) || v->dtype().is_handle()) {
      p.dtype = DType::Handle();
      p.opaque = true;
    } else if (const auto it = indices_.find(v); it != indices_.end()) {
      p.variable = int(it->second);
    }
    return p;
  }

  ir::Result<runtime::KernelParam> tensor(const ir::Buffer* b) {
    runtime::KernelParam p;
    p.name = std::string(b->name);
    p.dtype = b->dtype;
    for (const ir::Expr* d : b->shape) {
      DimExpr dim;
      dim.text = ir::print_expr(d);
      if (!append(d, dim.code, 0))
        return support::Failure(source::message(diag::KernelShape, signature_.name, b->name, dim.text));
      p.shape.push_back(std::move(dim));
    }
    return p;
  }

  bool append(const ir::Expr* e, std::vector<DimOp>& code, int depth) {
    if (depth > 200) return false;
    if (const auto* i = ir::as<ir::IntImm>(e)) {
      code.push_back({DimOp::Code::Const, i->value});
      return true;
    }
    if (const auto* v = ir::as<ir::Var>(e)) {
      const auto it = indices_.find(v);
      if (it == indices_.end()) return false;
      code.push_back({DimOp::Code::Var, std::int64_t(it->second)});
      return true;
    }
    if (const auto* c = ir::as<ir::CastExpr>(e)) return append(c->value, code, depth + 1);
    if (const auto* n = ir::as<ir::NotExpr>(e)) return append(n->a, code, depth + 1) && emit(code, DimOp::Code::Not);
    if (const auto* s = ir::as<ir::SelectExpr>(e))
      return append(s->cond, code, depth + 1) && append(s->true_value, code, depth + 1) &&
             append(s->false_value, code, depth + 1) && emit(code, DimOp::Code::Select);
    if (const auto* c = ir::as<ir::Call>(e)) {
      if (!is_call_of<ir::intrin::IfThenElse>(c)) return false;
      return append(c->args[0], code, depth + 1) && append(c->args[1], code, depth + 1) &&
             append(c->args[2], code, depth + 1) && emit(code, DimOp::Code::Select);
    }
    const auto* b = ir::as<ir::BinaryExpr>(e);
    const auto it = b ? kCodes.find(b->op()) : kCodes.end();
    if (it == kCodes.end()) return false;
    return append(b->a, code, depth + 1) && append(b->b, code, depth + 1) && emit(code, it->second);
  }

  static bool emit(std::vector<DimOp>& code, DimOp::Code op) {
    code.push_back({op, 0});
    return true;
  }

  static const std::unordered_map<ir::BinaryKind, DimOp::Code> kCodes;
  runtime::KernelSignature signature_;
  std::unordered_map<const ir::Var*, std::size_t> indices_;
};

const std::unordered_map<ir::BinaryKind, DimOp::Code> SignatureMaker::kCodes{
    {ir::BinaryKind::Add, DimOp::Code::Add},
    {ir::BinaryKind::Sub, DimOp::Code::Sub},
    {ir::BinaryKind::Mul, DimOp::Code::Mul},
    {ir::BinaryKind::Div, DimOp::Code::TruncDiv},
    {ir::BinaryKind::Mod, DimOp::Code::TruncMod},
    {ir::BinaryKind::FloorDiv, DimOp::Code::FloorDiv},
    {ir::BinaryKind::FloorMod, DimOp::Code::FloorMod},
    {ir::BinaryKind::Min, DimOp::Code::Min},
    {ir::BinaryKind::Max, DimOp::Code::Max},
    {ir::BinaryKind::EQ, DimOp::Code::Eq},
    {ir::BinaryKind::NE, DimOp::Code::Ne},
    {ir::BinaryKind::LT, DimOp::Code::Lt},
    {ir::BinaryKind::LE, DimOp::Code::Le},
    {ir::BinaryKind::GT, DimOp::Code::Gt},
    {ir::BinaryKind::GE, DimOp::Code::Ge},
    {ir::BinaryKind::And, DimOp::Code::And},
    {ir::BinaryKind::Or, DimOp::Code::Or},
};

}  // namespace

ir::Result<runtime::KernelSignature> signature_of(const ir::PrimFunc* f, std::string_view name) {
  return SignatureMaker(name).make(f);
}

}  // namespace rldb::eval
