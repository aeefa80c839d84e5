// The weights of a model beside its graph. Protobuf would copy the bytes of each initialiser twice, into memory of
// small pages: here the bytes of the file are walked first, large data is left out of what protobuf parses, and copied
// once, into the tensor. Inside the room only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/model.h"

namespace rldb::onnx {

struct ApartWeight {
  int initialiser;         // its place in the graph's list
  std::string_view bytes;  // of the file
};
struct ApartModel {
  std::string rest;  // the file without these bytes
  std::vector<ApartWeight> weights;
};

// nullopt: there is nothing to gain, or the file is not in the form that writers give it; protobuf is to read all of
// it.
std::optional<ApartModel> weights_apart(std::string_view file);

// Makes tensors of them, in `model.weights`. Data that is not right goes back to its initialiser, whose reader says
// why.
void take_weights(Model& model, const ApartModel& apart);

}  // namespace rldb::onnx
