// Annotations -> ir::Type, in every spelling: R.Tensor((n, 4), "float32"), R.Tensor[(n, 4), "float32"], R.Shape,
// R.Prim, R.Any / R.Object, R.Tuple, R.Callable, R.DTensor, T.int64, T.handle(...), None.
#pragma once

#include "frontend/script/value/calls.h"

namespace rldb::frontend::script {

// Null after a report.
const ir::Type* read_type(Reader& r, Node n);
// The type denoted by a bare name (R.Tensor, T.int64); null without a report when it denotes none.
const ir::Type* type_of_path(Reader& r, const Val& path);
const ir::Type* type_of_string(Reader& r, const Val& string, Node at);
// R.Tensor[...], R.Tuple[...], T.let[...]: a subscript of a namespace's name.
Val type_subscript(Reader& r, const Path& object, Node n);
// "cuda:0:global" or an opaque I.vdevice(...); null after a report.
const ir::VDevice* read_vdevice(Reader& r, const Val& v, Node at);

}  // namespace rldb::frontend::script
