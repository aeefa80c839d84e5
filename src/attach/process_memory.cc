// A process through /proc: its memory, mappings, threads and names.
#include "attach/process_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <utility>

namespace rldb::attach {

ProcessMemory::~ProcessMemory() {
  if (file_ >= 0) ::close(file_);
}

bool ProcessMemory::read(Address at, void* to, std::size_t size) const {
  iovec mine{to, size};
  iovec its{reinterpret_cast<void*>(at), size};
  if (::process_vm_readv(process_, &mine, 1, &its, 1, 0) == ssize_t(size)) return true;
  if (file_ < 0) file_ = ::open(fmt::format("/proc/{}/mem", process_).c_str(), O_RDONLY | O_CLOEXEC);
  for (std::size_t done = 0; file_ >= 0;) {
    const ssize_t n = ::pread(file_, static_cast<char*>(to) + done, size - done, off_t(at + done));
    if (n <= 0) return false;
    done += std::size_t(n);
    if (done == size) return true;
  }
  return false;
}

// `7f00-7f10 rw-p 00001000 08:01 123   /lib/x.so`
Mappings mappings_of(pid_t process) {
  Mappings found;
  std::ifstream file(fmt::format("/proc/{}/maps", process));
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string range, flags, offset, device, inode;
    in >> range >> flags >> offset >> device >> inode >> std::ws;
    const std::size_t dash = range.find('-');
    if (dash == std::string::npos || flags.size() < 4) continue;
    Mapping m;
    std::from_chars(range.data(), range.data() + dash, m.begin, 16);
    std::from_chars(range.data() + dash + 1, range.data() + range.size(), m.end, 16);
    std::from_chars(offset.data(), offset.data() + offset.size(), m.offset, 16);
    m.writable = flags[0] == 'r' && flags[1] == 'w';
    std::getline(in, m.path);
    if (m.path.starts_with('[')) m.path.clear();
    constexpr std::string_view kDeleted = " (deleted)";
    if (m.path.ends_with(kDeleted)) m.path.resize(m.path.size() - kDeleted.size());
    found.push_back(std::move(m));
  }
  return found;
}

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads;
  DIR* folder = ::opendir(fmt::format("/proc/{}/task", process).c_str());
  if (!folder) return threads;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    pid_t id = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), id).ec == std::errc() && id > 0) threads.push_back(id);
  }
  ::closedir(folder);
  return threads;
}

// `202 0x7f.. 0x80 0x0 0x0 0x0 0x0 0x7ffd.. 0x7f..`, `-1 0x7ffd.. 0x7f..`: the last two are stack pointer and pc.
Address stack_pointer_of(pid_t process, pid_t thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/syscall", process, thread));
  std::string word, last, before;
  while (file >> word) before = std::exchange(last, word);
  Address at = 0;
  if (before.starts_with("0x")) std::from_chars(before.data() + 2, before.data() + before.size(), at, 16);
  return at;
}

pid_t own_id(pid_t process, pid_t thread) {
  constexpr std::string_view kKey = "NSpid:";
  std::ifstream file(fmt::format("/proc/{}/task/{}/status", process, thread));
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kKey)) continue;
    std::istringstream in(line.substr(kKey.size()));
    pid_t id = thread;
    while (in >> id) continue;
    return id;
  }
  return thread;
}

pid_t process_of(pid_t thread) {
  constexpr std::string_view kKey = "Tgid:";
  std::ifstream file(fmt::format("/proc/{}/status", thread));
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kKey)) continue;
    std::istringstream in(line.substr(kKey.size()));
    pid_t id = thread;
    in >> id;
    return id;
  }
  return thread;
}

std::string command_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/comm", process));
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace rldb::attach
