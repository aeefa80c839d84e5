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

// Of a line of the model's listing, whose name is that of the model.
inline const onnx::Node* model_node_at(const session::Session& session, const std::string& file, std::uint32_t line) {
  const onnx::Translation* model = session.program() ? session.program()->onnx() : nullptr;
  const source::Buffer* listing = model && line > 0 ? session.sources().find(model->file) : nullptr;
  if (!listing || listing->name() != file) return nullptr;
  for (const std::vector<onnx::Node>* nodes : {&model->nodes, &model->inner})
    for (const onnx::Node& n : *nodes)
      if (listing->line_column(n.place.begin).line == line) return &n;
  return nullptr;
}

// Its label; empty: there is none.
inline std::string model_node_label(const session::Session& session, const source::Span& span) {
  const onnx::Node* node = model_node_at(session, span);
  return node ? node->label : std::string();
}

}  // namespace rldb::debug
