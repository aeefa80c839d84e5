// Terminal: a program in a pseudo-terminal of its own, with a home folder of its own, for tests of the prompt.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <optional>
#include <string>
#include <vector>

namespace rldb::pty {

// A folder below /tmp that is removed with the object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Terminal {
 public:
  // Runs `program` with `arguments` in `home`, which is both its working folder and the home for its files.
  Terminal(const std::string& program, const std::vector<std::string>& arguments, const std::string& home);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // How many bytes a write of keys has at most: with 1 the program sees them one by one, of every terminal from now on.
  static void set_piece(std::size_t bytes) { piece_ = bytes; }
  // Types keys; reads output meanwhile. False: the program has ended.
  bool send(const std::string& keys);
  // Reads until `text` has been output since the last `forget`, or the time is up.
  bool wait_for(const std::string& text, double seconds = 10);
  // The same for `text` after `first`.
  bool wait_for_after(const std::string& first, const std::string& text, double seconds = 10);
  // Reads output for that long.
  void read_for(double seconds);
  void forget() { said_.clear(); }
  const std::string& said() const { return said_; }
  void resize(unsigned short rows, unsigned short columns);
  void signal(int number);
  bool running();
  // Its wait status; waits up to that long for the end.
  std::optional<int> ended(double seconds = 10);
  // The modes of the terminal, and those it had before the program was started.
  termios modes() const;
  const termios& first_modes() const { return first_modes_; }

 private:
  bool pump(int milliseconds);
  void read_last_words();
  static std::size_t piece_;
  int master_ = -1;
  int slave_ = -1;  // kept open: the modes outlive the program
  pid_t child_ = 0;
  std::optional<int> status_;
  termios first_modes_{};
  std::string said_;
  bool heard_all_ = false;
};

bool same_modes(const termios& a, const termios& b);
std::string describe_status(int status);

}  // namespace rldb::pty
