// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string_view>

#include "Lutra_AtomicFile.hpp"
#include "Lutra_CliCommands.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_CliOutput.hpp"
#include "Lutra_CliText.hpp"
#include "Lutra_Communicator.hpp"
#include "Lutra_Error.hpp"

namespace lutra::Cli {
namespace {

int run(const Arguments& arguments, Communicator* ranks) {
  if (arguments.command == "solve")
    return ranks != nullptr ? run_solve_on_ranks(arguments, *ranks) : run_solve(arguments);
  if (arguments.command == "sequence") return run_sequence(arguments);
  if (arguments.command == "info") return run_info(arguments);
  if (arguments.command == "order") return run_order(arguments);
  if (arguments.command == "calibrate") return run_calibrate(arguments, ranks);
  if (arguments.command == "predict") return run_predict(arguments);
  if (arguments.command == "generate") return run_generate(arguments);
  if (arguments.command == "completion") return run_completion(arguments);
  return run_version(arguments);
}

bool computes(const Arguments& arguments) {
  return arguments.command != "version" && arguments.command != "generate" &&
         arguments.command != "completion";
}

int run_for_all(const Arguments& arguments, Communicator* ranks) {
  try {
    return run(arguments, ranks);
  } catch (...) {
    if (ranks == nullptr) throw;
    ranks->fail(arguments.command.c_str());
  }
}

// Prints a message on one rank only: rank 0, or rank 1 if rank 0 has stalled.
void say(const Communicator* ranks, const std::string& message) {
  const bool first_stalled = ranks != nullptr && ranks->failure() && ranks->failure()->rank == 0 &&
                             ranks->failure()->kind == FailureKind::timeout;
  if (ranks == nullptr || ranks->rank() == (first_stalled ? 1 : 0)) print_error(message);
}

int report_failures(const Arguments& arguments, Communicator* ranks) {
  try {
    return run_for_all(arguments, ranks);
  } catch (const FileError& error) {
    say(ranks, error.what());
    return exit_invalid_input;
  } catch (const InputError& error) {
    const std::string message = error.what();
    const bool of_matrix = message.starts_with("matrix: ");
    say(ranks, of_matrix ? about_file(error, arguments.files.front()).what() : counted_from_one(message));
    return exit_invalid_input;
  } catch (const OutOfMemoryError& error) {
    say(ranks, error.what());
    return exit_out_of_memory;
  } catch (const std::bad_alloc&) {
    say(ranks, "out of memory");
    return exit_out_of_memory;
  } catch (const RemoteError& error) {
    say(ranks, error.what());
    return error.failure().kind == FailureKind::out_of_memory ? exit_out_of_memory : exit_defect;
  } catch (const std::exception& error) {
    say(ranks, "internal error, please report it: " + counted_from_one(error.what()));
    return exit_defect;
  }
}

// Kokkos does not see the command line; it reads its environment variables. Its advice on thread binding is
// off unless KOKKOS_DISABLE_WARNINGS is set.
Kokkos::InitializationSettings kokkos_settings() {
  Kokkos::InitializationSettings settings;
  if (std::getenv("KOKKOS_DISABLE_WARNINGS") == nullptr) settings.set_disable_warnings(true);
  return settings;
}

// Discards standard output and standard error during its lifetime.
class Silence {
 public:
  Silence() {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
      m_saved[stream - STDOUT_FILENO] = ::dup(stream);
      ::dup2(nowhere, stream);
    }
    ::close(nowhere);
  }
  ~Silence() {
    std::cout.flush();
    std::cerr.flush();
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
      ::dup2(m_saved[stream - STDOUT_FILENO], stream);
      ::close(m_saved[stream - STDOUT_FILENO]);
    }
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  int m_saved[2];
};

int parse_and_run(int argc, char* argv[], Communicator* ranks) {
  std::optional<ParsedArguments> parsed;
  {
    std::optional<Silence> silence;  // only one rank reports errors or prints help
    if (ranks != nullptr && ranks->rank() != 0) silence.emplace();
    parsed.emplace(parse_arguments(argc, argv));
  }
  if (!parsed->arguments) return parsed->exit_status;
  if (ranks != nullptr && parsed->arguments->command != "solve" &&
      parsed->arguments->command != "calibrate") {  // rank 0 only
    if (ranks->rank() != 0) return exit_solved;
    ranks = nullptr;
  }
  std::optional<Kokkos::ScopeGuard> kokkos;  // initialized only if used, because starting a device is slow
  if (computes(*parsed->arguments)) kokkos.emplace(kokkos_settings());
  return report_failures(*parsed->arguments, ranks);
}

// Async-signal-safe handlers that end the program.
extern "C" void cancel_silently(int) {
  Impl::remove_unfinished_files();
  ::_exit(exit_cancelled);
}
extern "C" void cancel(int signal) {
  constexpr std::string_view message = "lutra: cancelled by a signal\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
  cancel_silently(signal);
}

// Installs handlers for the signals that ask a program to end. A hang-up ignored by nohup stays ignored.
// mpirun itself reports that it ends the other ranks after one has failed.
void cancel_on_signals() {
  const auto handler = MpiSession::is_launched() ? cancel_silently : cancel;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(signal, handler) == SIG_IGN) std::signal(signal, SIG_IGN);
}

}  // namespace
}  // namespace lutra::Cli

int main(int argc, char* argv[]) {
  namespace Cli = lutra::Cli;
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe ends a write, not the program
  std::signal(SIGXFSZ, SIG_IGN);  // nor does a file that would exceed the limit of the process
  Cli::cancel_on_signals();
  std::optional<lutra::MpiSession> mpi;  // initialized only on request, because starting MPI is slow
  std::optional<lutra::Communicator> ranks;
  int status = Cli::exit_invalid_input;
  try {
    if (lutra::MpiSession::is_launched()) {
      mpi.emplace(&argc, &argv);
      ranks.emplace();
    }
    status = Cli::parse_and_run(argc, argv, ranks ? &*ranks : nullptr);
  } catch (const lutra::InputError& error) {  // help that cannot be written, or ranks without MPI
    Cli::print_error(error.what());
  } catch (const std::exception& error) {  // no device, say
    Cli::print_error(std::string("cannot start: ") + error.what());
  }
  return ranks ? mpi->finish(status, &*ranks) : status;
}
