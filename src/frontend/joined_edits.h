// Two edits as one. Users: documents, which wait out texts that cannot be read; trees, which put off what follows them.
#pragma once

#include "rldb/frontend/text_edit.h"

namespace rldb::frontend {

// `next` is an edit of the text that `first` led to.
TextEdit joined(const TextEdit& first, const TextEdit& next);

}  // namespace rldb::frontend
