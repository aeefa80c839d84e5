// IPv4 only: addresses that are given out name 127.0.0.1.
#include "protocol/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rldb::protocol {

int listen_on_loopback(std::uint16_t port, std::uint16_t& chosen, std::string& why) {
  constexpr int kWaiting = 16;  // connections that are not accepted yet
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (fd >= 0) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || ::bind(fd, generic, size) != 0 || ::listen(fd, kWaiting) != 0 ||
      ::getsockname(fd, generic, &size) != 0) {
    why = std::strerror(errno);
    if (fd >= 0) ::close(fd);
    return -1;
  }
  chosen = ntohs(address.sin_port);
  return fd;
}

}  // namespace rldb::protocol
