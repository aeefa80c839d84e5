// A group of bindings on its way to a function of its own.
//
// Values that the group reads but does not compute become parameters, in the order of reading: variables under their
// own names, constants and symbolic shapes as `param_0`, `param_1`, ... A tuple of which only fields are read becomes
// those fields. Symbolic variables that no parameter's type binds come last, in one shape `tir_vars`. The function has
// its own variables throughout. Names, order and types are TVM's: the result is compared with TVM's.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::passes {

// Variables bound to a shape without variables: a function that reads one contains the shape itself.
using StaticShapes = std::unordered_map<const ir::Var*, const ir::Expr*>;

class GroupFunction {
 public:
  // `lift_constants`: constants become parameters; otherwise they stay in the function.
  GroupFunction(ir::Context& ctx, const StaticShapes& shapes, bool lift_constants)
      : ctx_(ctx), shapes_(shapes), lift_constants_(lift_constants) {}

  void append(const ir::Binding* b);
  // The variable, which the group computes, is read outside the group.
  void add_output(const ir::Var* v);
  const std::vector<const ir::Binding*>& bindings() const { return bindings_; }
  const std::vector<const ir::Var*>& outputs() const { return outputs_; }
  bool defines(const ir::Var* v) const { return defined_.count(v) > 0; }
  // `fused_add_exp`: from the operators that the group calls.
  const std::string& name() const { return name_; }

  // Call once everything is appended: finds the parameters. All members below require it.
  void close();
  // The arguments of the call: leaves, and fields of tuples.
  std::vector<const ir::Expr*> arguments() const;
  // Groups with equal keys make equal functions. Empty: the group contains something that keys do not cover.
  std::vector<std::uintptr_t> key(ir::Span<ir::NamedAttr> attrs) const;
  const ir::Function* make(ir::Span<ir::NamedAttr> attrs) const;

 private:
  struct Parameter {
    const ir::Expr* argument;
    std::string name;
    bool fields_only = false;               // a tuple that is read by field
    std::vector<std::int64_t> fields = {};  // in the order of reading
  };
  // A parameter of the function being made.
  struct Formal {
    const ir::Expr* argument;
    std::string name;
    const ir::Node* origin;
    const ir::Expr* tuple = nullptr;  // the tuple of which `argument` is a field, where the tuple is read by field
    bool is_dims = false;             // the shape of symbolic variables, which comes last
  };
  class BodyMaker;
  class KeyMaker;

  void append_call(const ir::Call* call);
  void read(const ir::Expr* e, bool whole);
  void read_shapes(const ir::Type* type);
  void add_symbols(const ir::Expr* value, const ir::Type* type);

  ir::Context& ctx_;
  const StaticShapes& shapes_;
  bool lift_constants_;
  std::string name_ = "fused";
  std::vector<const ir::Binding*> bindings_;
  std::vector<const ir::Var*> outputs_;
  std::unordered_set<const ir::Var*> is_output_;
  std::unordered_set<const ir::Var*> defined_;
  std::vector<Parameter> parameters_;
  std::unordered_map<const ir::Expr*, std::size_t> parameter_of_;
  int unnamed_ = 0;
  std::vector<const ir::Var*> inlined_;  // of shapes_
  std::vector<const ir::Var*> symbols_;  // in the order of their first use
  std::unordered_set<const ir::Var*> seen_symbols_;
  std::vector<Formal> formals_;
};

}  // namespace rldb::passes
