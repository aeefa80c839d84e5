// Two edits as one. Users: documents, which wait out texts that cannot be read.
#pragma once

#include "rldb/frontend/document.h"

namespace rldb::frontend {

// `next` is an edit of the text that `first` led to.
TextEdit joined(const TextEdit& first, const TextEdit& next);

}  // namespace rldb::frontend
