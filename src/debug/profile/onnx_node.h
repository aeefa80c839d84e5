// The node of the ONNX model behind a program that a binding was translated from. Users: the observers of a profile.
#pragma once

#include <string>

#include "rldb/onnx/model.h"
#include "rldb/session/session.h"

namespace rldb::debug {

// Its label; empty: the program was no ONNX model, or no node is written there.
inline std::string onnx_node_at(const session::Session& session, const source::Span& span) {
  const onnx::Translation* model = session.program() ? session.program()->onnx() : nullptr;
  if (model && span)
    for (const onnx::Node& n : model->nodes)
      if (n.place.file == span.file && n.place.begin == span.begin) return n.label;
  return {};
}

}  // namespace rldb::debug
