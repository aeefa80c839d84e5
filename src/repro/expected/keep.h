// The values of a run of a translated model, by their names in the model. Room-private.
#pragma once

#include "rldb/onnx/model.h"
#include "rldb/session/session.h"

namespace rldb::repro {

struct KeptValues {
  onnx::Tensors values;  // of nodes
  session::RunResult run;
};
// The values that a run gave until it failed are there too; the failure is diagnosed.
KeptValues keep_values(session::Session& session, const onnx::Translation& model,
                       const std::vector<runtime::Value>& arguments, source::Diagnostics& out);

}  // namespace rldb::repro
