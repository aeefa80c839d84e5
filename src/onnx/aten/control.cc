// Operators of higher order.
#include "onnx/ops/control.h"

#include "onnx/aten/aten.h"

namespace rldb::onnx::aten {

// Its arguments have no names: the condition, two graphs, and the operands of both.
Made conditional(NodeContext& c) {
  std::vector<const pb::GraphProto*> branches;
  Values operands;
  Value condition;
  Aten m(c);
  for (const Argument& a : c.arguments ? c.arguments->all : std::vector<Argument>()) {
    if (a.graph) {
      branches.push_back(a.graph);
    } else if (branches.empty()) {
      condition = m.self_value();
    } else {
      for (const Value& v : m.values(&a)) operands.push_back(v);
    }
  }
  RLDB_TRY_VOID(m.done(nullptr));
  if (branches.size() != 2) return refuse("it does not have two branches and a condition");
  return bodies::decided(c, condition, *branches[0], *branches[1], operands);
}

}  // namespace rldb::onnx::aten
