// Printer: the one writer behind every function of ir/printer.h.
//
// Appends to one string, line by line; a line remembers the node it begins with. Lines that turn out to be needed above
// the text already written (`n = T.int64()`, `cls = Module`, header comments) are inserted once per function, so the
// whole is linear. Layout follows TVM's own output (its src/script/printer). Split over the files of this folder by
// subject.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/print/meta.h"
#include "ir/print/names.h"
#include "rldb/ir/context.h"
#include "rldb/ir/printer.h"

namespace rldb::ir::print_detail {

// Python's precedences that occur here.
enum Precedence : int { kAny = 0, kLambda = 1, kOr, kAnd, kNot, kCompare, kAdd, kMul, kAtom };

struct LineRecord {
  std::size_t begin;
  const Node* node;
};

// A place for inserting lines later: after the last line written so far.
struct Mark {
  std::size_t text;
  std::size_t line;
  int indent;
};

// The name that a variable or buffer requests.
inline std::string_view wanted(const Var* v) { return v->name.empty() ? std::string_view("v") : v->name; }
inline std::string_view wanted(const Buffer* b) { return b->name.empty() ? std::string_view("buffer") : b->name; }

inline bool is_int(const Expr* e, std::int64_t value) {
  const auto* n = as<IntImm>(e);
  return n != nullptr && n->value == value;
}

class Printer {
 public:
  Printer(const PrintOptions& options, const Module* module) : opt_(options), module_(module) {}

  // ---- whole things (printer.cc) ----
  std::string print_module();
  std::string print_lone_function(std::string_view name, const Expr* f);
  std::string finish(Decorator* decorator);
  std::string take() { return std::move(out_); }
  bool was_cut() const { return cut_; }
  // Beyond this many characters no type begins: `...` replaces the rest.
  void limit(std::size_t characters) { limit_ = characters; }
  // Fragments print names that are not defined in them unchanged.
  void begin_fragment(bool in_tir) {
    fragment_ = true;
    in_tir_ = in_tir;
  }

  // ---- lines ----
  void line(const Node* node);
  Mark mark() const { return {out_.size(), lines_.size(), indent_}; }
  void insert_lines(const Mark& at, const std::vector<std::string>& lines, bool pad_empty = false);
  void blank_line();
  // The text that `write` appends, removed from the output: for text that is written earlier, or in quotes, or twice.
  template <class Write>
  std::string captured(Write&& write) {
    std::size_t at = out_.size();
    write();
    std::string text = out_.substr(at);
    out_.resize(at);
    return text;
  }

  // ---- literals, attributes (print/literal.cc) ----
  void string_literal(std::string_view text);
  void float_literal(double v);
  void scalar_literal(DType dtype, double v);
  void int_literal(DType dtype, std::int64_t v);
  void dtype_literal(DType t);
  void attr(const Attr* a);
  void attr_dict(Span<NamedAttr> fields, std::string_view skip = {});
  void keyword_attrs(Span<NamedAttr> attrs, bool& first);
  void constant(const Constant* c);
  void tensor_reference(const Constant* c);
  void metadata_reference(std::string_view key, std::int64_t index);

  // ---- types (print/type.cc) ----
  void type(const Type* t);
  void dims(Span<const Expr*> values);  // comma separated, quoted where the place demands it
  void dim(const Expr* e);
  void vdevice(const VDevice* v);

  // ---- scalar expressions (print/expr.cc) ----
  void expr(const Expr* e, int min_precedence = kAny);
  void exprs(Span<const Expr*> items);
  void tuple(Span<const Expr*> items);     // (a, b), (a,), ()
  void sum(const Expr* a, const Expr* b);  // a + b as TVM's operators would fold it
  void var_use(const Var* v);
  void lambda(Span<const Var*> a, Span<const Var*> b, Span<const Expr*> results, bool always_tuple);
  void tir_call(const Call* call);
  void by_name(const Call* call, std::string_view name);
  void result_type(const Call* call);
  void buffer_use(const Buffer* b);
  void indices(Span<const Expr*> items);

  // ---- Relax (print/relax.cc, print/call.cc) ----
  void function(std::string_view name, const Function* f, bool global);
  void extern_func(const ExternFunc* f);
  void collect_named_voids(const Function* f);
  void seq_blocks(const SeqExpr* s);
  void block(const BindingBlock* b);
  void binding(const Binding* b);
  void binding_value(const Binding* b);
  void value(const Expr* e);  // an expression that is a Relax value
  void values(Span<const Expr*> items);
  void if_binding(const Binding* b, const If* e);
  void branch(const SeqExpr* s, std::string_view name, const Binding* b);
  void match_cast(const Binding* b);
  void call(const Call* c);
  void call_relax_op(const Call* c, std::string_view op);
  void call_with_out_type(const Call* c, std::string_view op);
  void call_out_types(const Call* c);
  void call_rfc_output(const Type* t);
  void call_args(Span<const Expr*> args, bool& first);
  void call_ty_args(const Call* c, bool& first);
  void callee(const Expr* e);
  void comma(bool& first) {
    if (!first) out_ += ", ";
    first = false;
  }

  // ---- TensorIR (print/prim.cc, print/stmt.cc) ----
  void prim_func(std::string_view name, const PrimFunc* f);
  void stmt(const Stmt* s, bool without_with);
  void body(const Stmt* s);
  void region(const BufferRegion& r);

  std::string out_;

 private:
  bool current() const { return opt_.syntax == Syntax::Current; }
  bool rfc() const { return opt_.syntax == Syntax::Rfc; }
  void t(std::string_view name) {  // T.name
    used_tir_ = true;
    out_ += "T.";
    out_ += name;
  }
  void r(std::string_view name) {  // R.name
    used_relax_ = true;
    out_ += "R.";
    out_ += name;
  }
  void i(std::string_view name) {
    used_ir_ = true;
    out_ += "I.";
    out_ += name;
  }

  std::string_view define(const Var* v) { return names_.define(v, wanted(v)); }
  std::string_view define(const Buffer* b) { return names_.define(b, wanted(b)); }

  // printer.cc
  void reserve_names();
  void reserve_callees(const Expr* f);
  void module_members();
  void extern_member(std::string_view name, const ExternFunc* f);
  void opaque_member(const OpaqueFunc* f);
  void global_infos();
  std::vector<std::string> header_lines() const;
  std::vector<std::string> type_var_lines(const std::vector<std::string>& names);
  void member(std::string_view name, const Expr* f);
  void metadata_trailer();

  // print/relax.cc
  struct Signature {
    std::vector<const Var*> symbols;     // symbolic variables that the signature defines, in order
    std::vector<std::string> type_vars;  // their names, sorted: lines above the function
  };
  void collect_symbols(std::span<const Type* const> types, const std::unordered_set<const Node*>& params,
                       Signature& out);
  void define_symbols(Signature& s);
  void leave_symbols(const Signature& s);
  void generics(const Signature& s);
  void keep_type_vars(Signature& s);
  void decorator_options(std::initializer_list<std::string_view> options);
  void func_attr(const Node* f, std::string_view name, Span<NamedAttr> attrs);
  void function_decorator(const Function* f, bool global);
  void require_alias();
  void prelude(std::string text);
  void finish_local(const Mark& at, const Signature& s);
  bool annotation_shown(const Binding* b) const;

  // print/operator.cc
  std::string_view sugar(const BinaryExpr* e) const;  // " + ", or empty when the node form must be written
  int precedence(const Expr* e) const;
  void binary(const BinaryExpr* e);
  void node_form(std::string_view name, const Expr* a, const Expr* b);

  // print/expr.cc
  bool is_bare_scalar(const Expr* e) const;
  void define_undefined(const Var* v);
  bool too_deep();

  // print/prim.cc
  void prim_params(const PrimFunc* f, Signature& s);
  using MatchedParam = std::pair<const PrimParam*, std::string>;  // a handle of the old form, and its name
  void prim_params_old(const PrimFunc* f, std::vector<MatchedParam>& to_match);
  void match_parameter(const MatchedParam& matched);
  void prim_return_type(const PrimFunc* f);
  void collect_env_threads(const PrimFunc* f);

  // print/buffer.cc
  void param_buffer(const Buffer* b);
  void buffer_shape(const Buffer* b, bool param, bool always_dtype, bool& first);
  void buffer_arguments(const Buffer* b, bool with_data, bool& first);
  void buffer_keywords(const Buffer* b, bool param, bool with_data, bool& first);
  void buffer_dims(Span<const Expr*> dims, bool param);
  void buffer_dim(const Expr* e, bool param);
  void declare_fresh(const Buffer* b);
  void define_buffer(const Buffer* b);
  void var_creation(const Var* v);
  void variable_lines(const std::vector<const Var*>& fresh);
  void declare_undefined(const Buffer* b);
  void sblock_alloc(const Buffer* b);
  void alloc_stmt(const AllocBuffer* s);
  void decl_stmt(const DeclBuffer* s);
  void allocate_stmt(const AllocateStmt* s);
  void allocate_const_stmt(const AllocateConstStmt* s);

  // print/type.cc
  void quoted(const Expr* e, bool quote);
  void shape_of(const TensorType* x);
  void tensor_type(const TensorType* x);
  void tensor_type_rfc(const TensorType* x);
  void distributed_type(const DTensorType* x);
  void callable_type(const FuncType* f);
  void parameter_type(const Type* t);
  void pointer_type(const PointerType* t, bool as_value);

  // print/stmt.cc
  void bind_stmt(const BindStmt* s);
  void attr_stmt(const AttrStmt* s, bool without_with);
  void assert_stmt(const AssertStmt* s);
  void message_part(std::string_view part);
  void store(const BufferStore* s);
  void launch_or_attr(const AttrStmt* s, const Var*& defined);
  void define_env_thread(const AttrStmt* s);
  void if_stmt(const IfThenElse* s);
  void evaluate(const Evaluate* s);
  void nested(const Stmt* s);

  // print/loop.cc
  void for_stmt(const ForStmt* s);
  void grid(const std::vector<const ForStmt*>& loops);
  void loop_header(const ForStmt* s);

  // print/block.cc
  bool has_implicit_root(const PrimFunc* f) const;
  void sblock(const SBlock* b, const SBlockRealize* realize);
  void axes(const SBlock* b, const SBlockRealize* realize);
  void axis(const IterVar& v, const Expr* value, const Node* node);
  void regions(const Node* node, std::string_view name, Span<BufferRegion> list);
  bool has_open_offset(const SBlock* block, const Buffer* b) const;
  void match_region(const MatchBufferRegion& m);
  bool remappable(const IterVar& v, const Expr* value) const;

  struct FunctionState {
    Mark at{};
    std::vector<std::string> prelude;
    bool alias_written = false;
    std::size_t depth = 0;
    FunctionState* outer = nullptr;  // of the function around a local one
  };

  const PrintOptions& opt_;
  const Module* module_;
  std::vector<LineRecord> lines_;
  int indent_ = 0;
  int depth_ = 0;
  std::size_t limit_ = ~std::size_t(0);
  bool cut_ = false;  // something was nested too deeply to print
  Names names_;
  FunctionState* function_ = nullptr;  // the innermost function being printed
  bool fragment_ = false;
  bool in_tir_ = false;
  bool in_signature_ = false;
  bool in_dataflow_ = false;
  bool declares_by_use_ = false;  // in the pattern of an R.match_shape
  bool used_ir_ = false;
  bool used_tir_ = false;
  bool used_relax_ = false;
  bool used_typing_ = false;
  bool has_python_ = false;
  std::unordered_set<const Node*> type_vars_;     // printed as TypeVars (or in strings): cannot be computed with
  std::unordered_set<const Node*> symbols_;       // symbolic variables of Relax that have a name
  std::unordered_set<const Node*> later_params_;  // scalar parameters that the signature has not reached
  std::unordered_set<const Node*> named_voids_;   // void variables that are read, or leave a dataflow block
  std::unordered_set<const Node*> met_;           // PrimFunc: variables that the signature has named so far
  std::unordered_set<const Node*> open_offsets_;  // PrimFunc: implied by offset_factor alone
  std::unordered_set<const Node*> env_threads_;   // thread variables used by several launches
  std::unordered_map<const Var*, const ForStmt*> loops_;
  std::vector<std::string> module_type_vars_;
  std::unordered_set<std::string> module_type_var_set_;
  MetaList constants_;     // values of expressions
  MetaList attr_tensors_;  // values of attributes
};

inline bool is_number(const Expr* e) { return isa<IntImm>(e) || isa<FloatImm>(e); }

// The symbolic variables of a buffer's shape, strides and offset.
std::vector<const Var*> buffer_vars(const Buffer* b);

// Whether RFC 0089 can express this match_cast: it asserts a shape, and nothing more that the value's type lacks.
bool matches_shape_only(const Binding* b);

// Whether its type is a packed function's default, so that its name suffices.
bool is_plain_extern(const ExternFunc* f);

inline constexpr int kMaxDepth = 1000;  // of nested expressions, types, statements

}  // namespace rldb::ir::print_detail
