// The core of a process: its memory, mapped files and threads as an ELF file has them. Parts that the core leaves out
// because they are those of a file are read from that file.
#pragma once

#include <memory>
#include <string>

#include "attach/foreign.h"

namespace rldb::attach {

struct CoreFile {
  std::unique_ptr<Memory> memory;
  Mappings mappings;
  std::vector<LiveThread> threads;   // the one that got the signal first
  int signal = 0;                    // that ended the process; 0: none
  bool is_cut = false;               // some of its memory is not in the file
  std::vector<std::string> missing;  // files that are not there, or are not those of the process
};

// `bytes` is the file's contents, and `problem` says why it is none that can be read.
std::optional<CoreFile> read_core(std::shared_ptr<const std::string> bytes, std::string& problem);

class Core final : public Foreign {
 public:
  Core(std::string path, CoreFile core, Image image, std::vector<std::string> others);
  std::string name() const override { return "the core `" + path_ + "`"; }
  void detach() override { open_ = false; }
  bool attached() const override { return open_; }
  vm::Outcome run(vm::MachineState state, const vm::StopSet* stops, std::uint64_t budget) override;

 private:
  std::string path_;
  int signal_;
  bool open_ = true;
};

}  // namespace rldb::attach
