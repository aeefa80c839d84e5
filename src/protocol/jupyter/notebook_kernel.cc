// The kernel behind frames: everything that it publishes is made and dropped, and nobody answers its questions.
#include "protocol/jupyter/kernel.h"
#include "rldb/protocol/notebook.h"

namespace rldb::protocol {

namespace {

ui::CommandLine on_the_evaluator(double timeout) {
  ui::CommandLine line;
  line.timeout = timeout;
  line.color = ui::Color::Never;
  line.options.engine = session::Engine::Vm;
  line.prompt.no_init = true;
  return line;
}

class NoListener : public jupyter::Client {
 public:
  void publish(std::string_view, Json content) override { (void)to_text(content); }
  std::optional<std::string> ask(const std::string&) override { return std::nullopt; }
  void publish_standard_streams() override {}
};

}  // namespace

struct NotebookKernel::State {
  State(std::string signing_key, double timeout)
      : key(std::move(signing_key)), kernel(on_the_evaluator(timeout), listener) {}
  std::string key;
  NoListener listener;
  jupyter::Kernel kernel;
};

NotebookKernel::NotebookKernel(std::string key, double timeout)
    : state_(std::make_unique<State>(std::move(key), timeout)) {}
NotebookKernel::~NotebookKernel() = default;

NotebookKernel::Frames NotebookKernel::request(std::string_view type, std::string_view content) const {
  jupyter::Message message;
  message.identities = {"client"};
  message.header = jupyter::new_header(type, "session");
  if (auto read = parse_bounded(content); read.ok() && read->is_object()) message.content = std::move(*read);
  return jupyter::frames_of(message, state_->key);
}

NotebookKernel::Frames NotebookKernel::answer(const Frames& frames) {
  const auto request = jupyter::message_of(frames, state_->key);
  if (!request.ok()) return {};
  auto content = state_->kernel.answer(*request);
  if (!content) return {};
  jupyter::Message reply;
  reply.identities = request->identities;
  reply.parent = request->header;
  reply.content = std::move(*content);
  return jupyter::frames_of(reply, state_->key);
}

}  // namespace rldb::protocol
