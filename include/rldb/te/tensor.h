// Tensor expressions: the contents of a tensor, defined element by element.
//
// A Graph owns tensors: placeholders, computes (one expression per element), reductions (a commutative reducer over
// reduce axes) and externs (a statement written over whole buffers). A body reads other tensors with `load`, so stages
// chain. Shapes may be symbolic. All indices are int64, as in the output of Relax legalisation. The idea is TVM's te.
// Users: operator legalisation; create_prim_func.h turns a Graph into a TensorIR function.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::te {

using ir::DType;
using ir::Expr;
using ir::Span;

struct Operation;

// One output of an operation.
struct TensorNode {
  const Operation* op;
  int index;  // which output
  std::string_view name;
  Span<const Expr*> shape;
  DType dtype;
  Span<const Expr*> axis_separators;  // of its buffer
  int ndim() const { return int(shape.size()); }
};
using Tensor = const TensorNode*;

enum class OperationKind : std::uint8_t { Placeholder, Compute, Reduce, Extern };

using Indices = std::span<const ir::Var* const>;
// Declarations about the memory of an extern's outputs and inputs; 0: as any buffer.
struct ExternMemory {
  int alignment = 0;           // in bytes, of its outputs, and of its inputs that are placeholders
  bool any_offset = false;     // its inputs that are placeholders may begin anywhere in their memory
  bool inputs_aligned = true;  // false: the alignment is that of outputs only
};
// Writes the body of an extern over the buffers of its inputs and outputs.
using ExternBody = std::function<const ir::Stmt*(std::span<const ir::Buffer* const> inputs,
                                                 std::span<const ir::Buffer* const> outputs)>;

struct Operation {
  OperationKind kind = OperationKind::Placeholder;
  std::string_view name;
  std::vector<Tensor> outputs;
  std::vector<ir::IterVar> axes;         // spatial
  std::vector<ir::IterVar> reduce_axes;  // Reduce
  std::vector<const Expr*> bodies;       // one per output; Reduce: the sources
  std::vector<const Expr*> place;        // Compute: where an element goes, in terms of the axes; empty: at its axes
  const ir::CommReducer* reducer = nullptr;
  const Expr* condition = nullptr;   // Reduce: elements for which it is false are skipped; null: none
  std::vector<ir::NamedAttr> attrs;  // become block annotations
  Tensor layout_free = nullptr;      // an input whose layout may be chosen: annotation layout_free_placeholders
  std::vector<Tensor> inputs;        // Extern; for others, the tensors that their bodies load
  ExternBody write;                  // Extern
  ExternMemory memory;               // Extern
};

class Graph {
 public:
  explicit Graph(ir::Context& ctx) : ctx_(ctx) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ir::Context& context() { return ctx_; }

  Tensor placeholder(std::span<const Expr* const> shape, DType dtype, std::string_view name);
  // `body` gets one int64 variable per axis.
  Tensor compute(std::span<const Expr* const> shape, const std::function<const Expr*(Indices)>& body,
                 std::string_view name = "compute", std::span<const ir::NamedAttr> attrs = {});
  // A tensor of `shape` that is written element by element over `domain`: each goes to `place` of its axes.
  Tensor scatter(std::span<const Expr* const> shape, std::span<const Expr* const> domain,
                 const std::function<const Expr*(Indices)>& body,
                 const std::function<std::vector<const Expr*>(Indices)>& place, std::string_view name);
  std::vector<Tensor> compute_multi(std::span<const Expr* const> shape,
                                    const std::function<std::vector<const Expr*>(Indices)>& body,
                                    std::string_view name);
  // A variable of int64; for an extent of int32 one of int32. Bodies convert that to int64, which is written out only
  // where it is a number and no index: TVM widens indices last.
  ir::IterVar reduce_axis(const Expr* extent, std::string_view name = "k");
  Tensor reduce(std::span<const Expr* const> shape, const std::function<const Expr*(Indices)>& source,
                std::span<const ir::IterVar> reduce_axes, const ir::CommReducer* reducer, std::string_view name,
                std::span<const ir::NamedAttr> attrs = {});
  std::vector<Tensor> reduce_multi(std::span<const Expr* const> shape,
                                   const std::function<std::vector<const Expr*>(Indices)>& sources,
                                   std::span<const ir::IterVar> reduce_axes, const ir::CommReducer* reducer,
                                   std::span<const std::string_view> names);
  // Declares that a schedule may choose the layout of `input`, which `t` reads.
  void mark_layout_free(Tensor t, Tensor input);
  // Declares where the axes of the memory of `t` begin, apart from the first.
  void set_axis_separators(Tensor t, Span<const Expr*> separators);
  struct OutputSpec {
    Span<const Expr*> shape;
    DType dtype;
  };
  std::vector<Tensor> extern_op(std::span<const OutputSpec> outputs, std::span<const Tensor> inputs, ExternBody body,
                                std::string_view name, ExternMemory memory = {});

  // t[indices], to be used in bodies.
  const Expr* load(Tensor t, std::span<const Expr* const> indices);
  const Expr* load(Tensor t, Indices indices);
  const Expr* load(Tensor t, std::initializer_list<const Expr*> indices);

  // Reducers over one value of the dtype.
  const ir::CommReducer* sum_reducer(DType t);
  const ir::CommReducer* prod_reducer(DType t);
  const ir::CommReducer* all_reducer();  // of bools: and
  const ir::CommReducer* min_reducer(DType t);
  const ir::CommReducer* max_reducer(DType t);

 private:
  Operation* make_operation(OperationKind kind, std::string_view name);
  Tensor make_output(Operation* op, std::span<const Expr* const> shape, DType dtype, std::string_view name);
  void make_axes(Operation* op, std::span<const Expr* const> shape);

  ir::Context& ctx_;
  std::deque<Operation> operations_;
  std::deque<TensorNode> tensors_;
};

// The tensor that a ProducerLoad reads.
inline Tensor tensor_of(const ir::ProducerLoad* load) { return static_cast<Tensor>(load->tensor); }

}  // namespace rldb::te
