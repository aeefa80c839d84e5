// The node of the ONNX model behind a program that a binding was translated from. Users: the observers of a profile.
#pragma once

#include <string>

#include "rldb/onnx/model.h"
#include "rldb/session/session.h"

namespace rldb::debug {

// Its label; empty: the program was no ONNX model, or no node is written there.
inline std::string onnx_node_at(const session::Session& session, const source::Span& span) {
  const onnx::Translation* model = session.program() ? session.program()->onnx() : nullptr;
  const onnx::Node* node = model ? model->find(span) : nullptr;
  return node ? node->label : std::string();
}

}  // namespace rldb::debug
