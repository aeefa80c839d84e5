// The names of the attributes of fusion.def: attr_name::Primitive is "Primitive".
#pragma once

#define RLDB_ATTR_NAME_ROWS "rldb/ir/attr_name/fusion.def"
#include "rldb/ir/attr_name/names.inc"
