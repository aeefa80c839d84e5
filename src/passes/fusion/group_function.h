// A group of bindings on its way to a function of its own.
//
// What the group reads and does not compute becomes a parameter, in the order of reading: variables under their names,
// constants and symbolic shapes as `param_0`, `param_1`, ... A tuple of which only fields are read becomes those
// fields. Symbolic variables that no parameter's type gives a value come last, in one shape `tir_vars`. The function
// has variables of its own throughout. Names, order and types are TVM's: the result is compared with its.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::passes {

// Variables that are bound to a shape without variables: a function that reads one has the shape itself.
using StaticShapes = std::unordered_map<const ir::Var*, const ir::Expr*>;

class GroupFunction {
 public:
  // `lift_constants`: constants become parameters; otherwise they stay in the function.
  GroupFunction(ir::Context& ctx, const StaticShapes& shapes, bool lift_constants)
      : ctx_(ctx), shapes_(shapes), lift_constants_(lift_constants) {}

  void append(const ir::Binding* b);
  // Somebody outside of the group reads the variable, which the group computes.
  void add_output(const ir::Var* v);
  const std::vector<const ir::Binding*>& bindings() const { return bindings_; }
  const std::vector<const ir::Var*>& outputs() const { return outputs_; }
  bool defines(const ir::Var* v) const { return defined_.count(v) > 0; }
  // `fused_add_exp`: of what the group calls.
  const std::string& name() const { return name_; }

  // Once everything is appended: finds the parameters. The rest needs it.
  void close();
  // What the function is called with: leaves, and fields of tuples.
  std::vector<const ir::Expr*> arguments() const;
  // Groups with equal keys make equal functions. Empty: the group holds something that keys do not cover.
  std::vector<std::uintptr_t> key(ir::Span<ir::NamedAttr> attrs) const;
  const ir::Function* make(ir::Span<ir::NamedAttr> attrs) const;

 private:
  struct Parameter {
    const ir::Expr* argument;
    std::string name;
    bool fields_only = false;               // a tuple that is read by field
    std::vector<std::int64_t> fields = {};  // in the order of reading
  };
  // A parameter of the function as it is made.
  struct Formal {
    const ir::Expr* argument;
    std::string name;
    const ir::Node* origin;
    const ir::Expr* tuple = nullptr;  // what `argument` is a field of, where the tuple is read by field
    bool is_dims = false;             // the shape of symbolic variables that comes last
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
  std::vector<const ir::Var*> symbols_;  // in the order of meeting
  std::unordered_set<const ir::Var*> seen_symbols_;
  std::vector<Formal> formals_;
};

}  // namespace rldb::passes
