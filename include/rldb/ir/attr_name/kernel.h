// The names of the attributes of kernel.def: attr_name::LayoutFreeBuffers is "layout_free_buffers".
#pragma once

#define RLDB_ATTR_NAME_ROWS "rldb/ir/attr_name/kernel.def"
#include "rldb/ir/attr_name/names.inc"
