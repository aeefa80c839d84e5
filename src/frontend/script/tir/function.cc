// @T.prim_func: header, parameters, the root block.
#include <fmt/format.h>

#include "frontend/script/module.h"
#include "frontend/script/relax/relax.h"
#include "frontend/script/symbols.h"
#include "frontend/script/tir/tir.h"
#include "frontend/script/trailing_scalars.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/types.h"
#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_script_function.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_relax.h"

namespace rldb::frontend::script {

namespace {

class FunctionReader {
 public:
  FunctionReader(Reader& r, Node function) : r_(r), node_(function) {
    fn_.dialect = Dialect::Tir;
    fn_.name = function.child(Field::Name).text();
    fn_.tir = &tir_;
    tir_.sequence = &stray_;
  }

  const ir::PrimFunc* run() {
    options_ = read_function_options(r_, node_);
    refuse_unknown_options(r_, node_);
    FunctionState* const before = std::exchange(r_.fn, &fn_);
    decide_flavour();
    collect_symbol_dtypes(r_, node_.child(Field::Body));
    read_parameters();
    const ir::Type* ret = r_.ctx.void_type();
    if (const Node annotation = node_.child(Field::ReturnType)) {
      ret = read_type(r_, annotation);
      if (!ret) ret = r_.ctx.void_type();
    }
    if (!stray_.statements.empty() || !stray_.wrappers.empty())
      r_.error(node_.child(Field::Parameters), diag::Misplaced, "a statement");
    const ir::Stmt* body = collect_sequence(r_, [&] { read_tir_statements(r_, node_.child(Field::Body)); });
    body = with_root(body);
    r_.fn = before;
    if (tir_.ret && !node_.child(Field::ReturnType)) ret = tir_.ret;
    add_global_symbol();
    scalars_before_outputs(r_, fn_.name, tir_.params);
    return r_.at(r_.ctx.prim_func(tir_.params, ret, body, fn_.attrs, tir_.s_tir), node_);
  }

 private:
  // Schedulable TensorIR or the low-level flavour: decided by the decorator, else by the module's, else by age.
  void decide_flavour() {
    const std::string_view text = node_.text();
    const bool new_blocks = text.find("T.sblock") != std::string_view::npos;
    const bool uses_old =
        text.find("T.block") != std::string_view::npos || text.find("with T.grid") != std::string_view::npos;
    tir_.old_blocks = !new_blocks && (uses_old || r_.imports.has_tir());
    tir_.mutable_names = !tir_.old_blocks && !r_.imports.has_tir() &&
                         (options_.s_tir || r_.imports.has_tirx() || new_blocks || (r_.module && r_.module->s_tir));
    if (options_.s_tir) {
      tir_.s_tir = *options_.s_tir;
    } else if (r_.module && r_.module->s_tir) {
      tir_.s_tir = true;
    } else if (r_.imports.has_tirx()) {
      tir_.s_tir = new_blocks || uses_old;
    } else {
      tir_.s_tir = r_.imports.has_tir() || uses_old || new_blocks || r_.rfc_spelling() ||
                   text.find(attr_name::NoAliasOld) != std::string_view::npos;
    }
  }

  void read_parameters() {
    std::vector<Node> params;
    for (Node p : node_.child(Field::Parameters).children()) {
      if (p.is(Kind::Parameter)) params.push_back(p);
      if (p.is(Kind::VariadicParameter)) {
        r_.error(p, diag::UnsupportedSyntax, "a variadic parameter");
        r_.note_lost_parameter();
      }
    }
    // Scalars first: a buffer's shape may name one that comes after it.
    std::vector<const ir::Var*> scalars(params.size(), nullptr);
    fn_.in_signature = true;
    for (std::size_t i = 0; i < params.size(); ++i) {
      const Node annotation = params[i].child(Field::Annotation);
      if (!annotation || is_buffer(annotation)) continue;
      const ir::Type* type = read_type(r_, annotation);
      const Node name = params[i].child(Field::Name);
      scalars[i] = define_scalar(name, type ? type : r_.ctx.pointer());
      // Uses of a parameter whose annotation had an error are not reported as well.
      if (type) continue;
      fn_.scope.define(name.text(), Val(), name.span());
      r_.note_lost_parameter();
    }
    collect_signature_symbols(r_, node_);
    for (std::size_t i = 0; i < params.size(); ++i) {
      const Node name = params[i].child(Field::Name);
      for (std::size_t k = 0; k < i; ++k)
        if (params[k].child(Field::Name).text() == name.text()) r_.error(name, diag::RepeatedParameter, name.text());
      const Node annotation = params[i].child(Field::Annotation);
      if (!annotation) {
        r_.error(name, diag::MissingAnnotation, name.text());
        r_.note_lost_parameter();
        tir_.params.push_back({define_scalar(name, r_.ctx.pointer()), nullptr});
      } else if (scalars[i]) {
        tir_.params.push_back({scalars[i], nullptr});
      } else {
        read_buffer_parameter(name, annotation);
      }
    }
    fn_.in_signature = false;
  }

  bool is_buffer(Node annotation) {
    Node callee = annotation;
    if (annotation.is(Kind::Call)) callee = annotation.child(Field::Function);
    if (annotation.is(Kind::Subscript)) callee = annotation.child(Field::Object);
    const Path p = path_of(r_, callee);
    return p.space == Space::Tir && (p.rest == "Buffer" || p.rest == "buffer");
  }

  const ir::Var* define_scalar(Node name, const ir::Type* type) {
    if (!is_scalar_type(type)) {
      r_.error(name, diag::BadTirParameter, name.text());
      r_.note_lost_parameter();
      type = r_.ctx.pointer();
    }
    const ir::Var* v = r_.at(r_.ctx.var(name.text(), type), name);
    fn_.scope.define(v->name, Val::of(v), name.span());
    return v;
  }
  static bool is_scalar_type(const ir::Type* t) {
    return t->kind == ir::TypeKind::Prim || t->kind == ir::TypeKind::Pointer;
  }

  void read_buffer_parameter(Node name, Node annotation) {
    const ir::Buffer* b = nullptr;
    if (annotation.is(Kind::Call)) {
      CallNode call{annotation, annotation.child(Field::Function), annotation.child(Field::Arguments), Space::Tir,
                    "Buffer"};
      Arguments args(r_, call);
      b = over_memory(r_, read_buffer(r_, args, 0, name.text(), annotation));
      args.finish();
    } else if (annotation.is(Kind::Subscript)) {
      // OLD: T.Buffer[(n, 4), "float32"]
      CallNode call{annotation, annotation.child(Field::Object), Node(), Space::Tir, "Buffer"};
      Arguments args(r_, call);
      for (Node c : annotation.children())
        if (c.field() == Field::Index) args.all().push_back({{}, {}, c, std::nullopt, false});
      b = over_memory(r_, read_buffer(r_, args, 0, name.text(), annotation));
      args.finish();
    } else {
      r_.error(annotation, diag::MissingArgument, "shape", annotation.text());
    }
    if (!b) {
      // Uses of it are not reported as well.
      r_.note_lost_parameter();
      fn_.scope.define(name.text(), Val(), name.span());
      return;
    }
    r_.at(b, name);
    tir_.params.push_back({b->data, b});
    fn_.scope.define(b->name, Val::of(b), name.span());
  }

  // TVM: the root block is written as a comment; it is recreated when the function contains blocks.
  const ir::Stmt* with_root(const ir::Stmt* body) {
    if (!tir_.s_tir) return body;
    if (tir_.root_allocs.empty()) {
      if (!tir_.saw_block) return body;
      const auto* realize = ir::as<ir::SBlockRealize>(body);
      if (realize && realize->block->iter_vars.empty()) return tir_.open_root ? open_root(realize) : body;
    }
    ir::SBlock root{};
    root.name = "root";
    root.alloc_buffers = tir_.root_allocs;
    root.body = body;
    const ir::SBlock* block = r_.at(r_.ctx.sblock(root), node_);
    return r_.at(r_.ctx.realize({}, nullptr, block), node_);
  }

  // Regions of the root block are not inferred, as in TVM.
  const ir::Stmt* open_root(const ir::SBlockRealize* r) {
    const ir::Stmt* made = r_.ctx.realize(r->iter_values, r->predicate, tir_.open_root);
    r_.ctx.set_origin(made, r);
    return made;
  }

  void add_global_symbol() {
    const bool given = ir::find_attr(fn_.attrs, attr_name::GlobalSymbol) != nullptr;
    if (given && options_.is_private)
      r_.error(attribute_key(node_, attr_name::GlobalSymbol), diag::PrivateGlobalSymbol, fn_.name);
    if (!given && !options_.is_private)
      fn_.attrs.insert(fn_.attrs.begin(), r_.ctx.named(attr_name::GlobalSymbol, r_.ctx.attr(r_.ctx.str(fn_.name))));
  }

  Reader& r_;
  Node node_;
  FunctionState fn_;
  Sequence stray_;  // statements that are in a signature by mistake
  TirFunction tir_;
  FunctionOptions options_;
};

}  // namespace

const ir::PrimFunc* read_prim_func(Reader& r, Node function) { return FunctionReader(r, function).run(); }

}  // namespace rldb::frontend::script
