// The node of the ONNX model, or of the program of PyTorch, that a place is in. Users: observers of a profile, views of
// a stop.
#pragma once

#include <fmt/format.h>

#include <string>

#include "rldb/onnx/model.h"
#include "rldb/session/session.h"

namespace rldb::debug {

// Null: the session's program was no model, or no node is written there.
inline const onnx::Node* model_node_at(const session::Session& session, const source::Span& span) {
  const onnx::Translation* model = session.program() ? session.program()->onnx() : nullptr;
  return model ? model->find(span) : nullptr;
}

// Its label; empty: there is none.
inline std::string model_node_label(const session::Session& session, const source::Span& span) {
  const onnx::Node* node = model_node_at(session, span);
  return node ? node->label : std::string();
}

}  // namespace rldb::debug
