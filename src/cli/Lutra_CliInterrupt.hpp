// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIINTERRUPT_HPP
#define LUTRA_CLIINTERRUPT_HPP

#include <memory>

#include "Lutra_RunControl.hpp"

namespace lutra::Cli {

/// Installs handlers for the signals that ask a program to end. They end it with exit_cancelled; the first
/// SIGINT within an Interruptible only asks the solver to stop, so that there is a report. A hang-up ignored
/// by nohup stays ignored.
void cancel_on_signals();

/// Flag that such a SIGINT raises.
std::shared_ptr<StopFlag> interrupt_flag();

/// Extent of work that stops when the flag is raised; one at a time.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
};

}  // namespace lutra::Cli

#endif
