// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliInterrupt.hpp"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string_view>

#include "Lutra_AtomicFile.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_Communicator.hpp"

namespace lutra::Cli {
namespace {

/// The flag that the next SIGINT raises; null: it ends the program.
std::atomic<StopFlag*>& awaited_flag() {
  static std::atomic<StopFlag*> flag{nullptr};
  static_assert(std::atomic<StopFlag*>::is_always_lock_free);
  return flag;
}

void say(std::string_view message) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
}

/// Raises the flag that waits for SIGINT. @returns whether there was one
bool raises_flag(int signal) {
  StopFlag* const flag = signal == SIGINT ? awaited_flag().exchange(nullptr) : nullptr;
  if (flag != nullptr) flag->raise();
  return flag != nullptr;
}

// Async-signal-safe handlers.
extern "C" void cancel_silently(int signal) {
  if (raises_flag(signal)) return;
  Impl::remove_unfinished_files();
  ::_exit(exit_cancelled);
}
extern "C" void cancel(int signal) {
  if (raises_flag(signal)) return say("\nlutra: stopping; once more ends the program at once\n");
  say("lutra: cancelled by a signal\n");
  cancel_silently(signal);
}

}  // namespace

void cancel_on_signals() {
  awaited_flag();  // initialized before a handler may use it
  // mpirun itself reports that it ends the other ranks after one has failed.
  const auto handler = MpiSession::is_launched() ? cancel_silently : cancel;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(signal, handler) == SIG_IGN) std::signal(signal, SIG_IGN);
}

std::shared_ptr<StopFlag> interrupt_flag() {
  static const auto flag = std::make_shared<StopFlag>();
  return flag;
}

Interruptible::Interruptible() {
  awaited_flag() = interrupt_flag().get();
}

Interruptible::~Interruptible() {
  awaited_flag() = nullptr;
}

}  // namespace lutra::Cli
