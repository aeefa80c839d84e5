// Calls in TensorIR: intrinsics by name, with the result's dtype where their text has it; functions of the module.
#include <array>

#include "ir/print/printer_impl.h"

namespace rldb::ir::print_detail {
namespace {

// Intrinsics that carry their result dtype as the first argument of their text, and the one that has it last.
constexpr std::array kDTypeFirst = {std::string_view("call_extern"),
                                    std::string_view("call_pure_extern"),
                                    std::string_view("call_llvm_intrin"),
                                    std::string_view("call_llvm_pure_intrin"),
                                    std::string_view("call_spirv_pure_glsl450"),
                                    std::string_view("reinterpret"),
                                    std::string_view("type_annotation"),
                                    std::string_view("min_value"),
                                    std::string_view("max_value"),
                                    std::string_view("infinity"),
                                    std::string_view("large_uint_imm"),
                                    std::string_view("get_active_lane_mask"),
                                    std::string_view("vectorlow"),
                                    std::string_view("vectorhigh"),
                                    std::string_view("vectorcombine"),
                                    std::string_view("ptx_mma"),
                                    std::string_view("ptx_mma_sp"),
                                    std::string_view("ptx_ldmatrix"),
                                    std::string_view("ptx_cp_async"),
                                    std::string_view("ptx_cp_async_bulk"),
                                    std::string_view("ptx_ldg32"),
                                    std::string_view("mma_store"),
                                    std::string_view("mma_fill")};

bool dtype_first(std::string_view name) {
  for (std::string_view n : kDTypeFirst)
    if (n == name) return true;
  return false;
}

std::string_view printed_intrinsic(std::string_view name) {
  if (name == "tvm_call_packed") return "call_packed";
  if (name == "tvm_call_cpacked") return "call_cpacked";
  if (name == "tvm_call_packed_lowered") return "call_packed_lowered";
  if (name == "tvm_call_cpacked_lowered") return "call_cpacked_lowered";
  return name;
}

}  // namespace

void Printer::tir_call(const Call* c) {
  bool first = true;
  const auto* op = as<Op>(c->callee);
  std::string_view name;
  if (op != nullptr) {
    name = op->name;
    if (name.starts_with("tirx.")) name.remove_prefix(5);
    if (name.starts_with("tir.")) name.remove_prefix(4);
    name = printed_intrinsic(name);
    t(name);
  } else if (const auto* g = as<GlobalVar>(c->callee)) {
    out_ += module_ != nullptr ? module_->name : std::string_view("Module");
    out_ += '.';
    out_ += g->name;
  } else if (const auto* ext = as<ExternFunc>(c->callee)) {
    t("call_extern");
    out_ += '(';
    comma(first);
    dtype_literal(c->dtype());
    comma(first);
    string_literal(ext->symbol);
    call_args(c->args, first);
    out_ += ')';
    return;
  } else {
    expr(c->callee, kAtom);
  }
  out_ += '(';
  if (op != nullptr && dtype_first(name)) {
    comma(first);
    if (const auto* p = as<PointerType>(c->type)) {
      pointer_type(p, true);
      out_ += ".ty";
    } else {
      dtype_literal(c->dtype());
    }
  }
  for (const Expr* e : c->args) {
    comma(first);
    expr(e);
  }
  if (name == "tvm_struct_get") {
    comma(first);
    if (as<PointerType>(c->type) != nullptr)
      out_ += "\"handle\"";
    else
      dtype_literal(c->dtype());
  }
  keyword_attrs(c->attrs, first);
  out_ += ')';
}

}  // namespace rldb::ir::print_detail
