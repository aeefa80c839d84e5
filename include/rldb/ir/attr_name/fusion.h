// The names of the attributes in fusion.def, as constants: attr_name::Primitive.
#pragma once

#define RLDB_ATTR_NAME_ROWS "rldb/ir/attr_name/fusion.def"
#include "rldb/ir/attr_name/names.inc"
