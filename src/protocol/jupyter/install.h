// The kernel specification, by which Jupyter finds and starts the kernel.
// Source: jupyter-client.readthedocs.io, "Making kernels for Jupyter".
#pragma once

#include <string>

namespace rldb::protocol::jupyter {

// The folder into which `install` writes, below a prefix; an empty prefix: the user's own folder of Jupyter. Empty:
// there is no home folder.
std::string spec_folder(const std::string& prefix);
// kernel.json. `program`: the path of rldb.
std::string spec_text(const std::string& program);

}  // namespace rldb::protocol::jupyter
