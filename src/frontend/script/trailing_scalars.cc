#include "frontend/script/trailing_scalars.h"

#include <algorithm>

#include "frontend/script/value/expr.h"
#include "rldb/ir/op_attr/call_attr.h"

namespace rldb::frontend::script {

namespace {

Node keyword_value(Node call, std::string_view name) {
  for (Node a : call.child(Field::Arguments).children())
    if (a.is(Kind::KeywordArgument) && a.child(Field::Name).text() == name) return a.child(Field::Value);
  return {};
}

Node positional(Node call, std::size_t at) {
  for (Node a : call.child(Field::Arguments).children())
    if (!a.is(Kind::KeywordArgument) && at-- == 0) return a;
  return {};
}

// cls.f, Module.f, f
std::string_view kernel_name(Node callee) {
  const std::string_view text = callee.text();
  const std::size_t dot = text.rfind('.');
  return dot == std::string_view::npos ? text : text.substr(dot + 1);
}

// The outputs that the call allocates; those that reuse an argument are not parameters of their own.
std::size_t fresh_outputs(Node call) {
  std::size_t outputs = 1;
  for (const Node types : {keyword_value(call, "out_sinfo"), keyword_value(call, "out_ty"), positional(call, 2)})
    if (types.is(Kind::List) || types.is(Kind::Tuple)) outputs = types.count();
  const Node reused = keyword_value(call, op_attr::InplaceIndices);
  if (!reused) return outputs;
  if (reused.is(Kind::Integer)) return 0;
  std::size_t fresh = 0;
  for (Node index : reused.children()) fresh += index.is(Kind::Integer) ? 0 : 1;  // -1 is not a literal but a minus
  return fresh;
}

}  // namespace

void note_trailing_scalars(Reader& r, ModuleState& m, Node body) {
  if (body.text().find(kTirVars) == std::string_view::npos) return;
  const cst::Tree& tree = *body.tree();
  for (std::uint32_t i = body.index(); i < body.row().next; ++i) {
    const Node call(&tree, i);
    if (!call.is(Kind::Call) || !keyword_value(call, kTirVars)) continue;
    if (const Node callee = positional(call, 0))
      m.fresh_outputs.emplace(r.ctx.str(kernel_name(callee)), fresh_outputs(call));
  }
}

void scalars_before_outputs(Reader& r, std::string_view kernel, std::vector<ir::PrimParam>& params) {
  if (!r.module) return;
  const auto noted = r.module->fresh_outputs.find(kernel);
  if (noted == r.module->fresh_outputs.end()) return;
  const auto scalars = std::find_if(params.rbegin(), params.rend(), [](const ir::PrimParam& p) { return p.buffer; });
  const std::size_t buffers_end = std::size_t(params.rend() - scalars);
  if (noted->second > buffers_end) return;
  std::rotate(params.begin() + std::ptrdiff_t(buffers_end - noted->second), scalars.base(), params.end());
}

}  // namespace rldb::frontend::script
