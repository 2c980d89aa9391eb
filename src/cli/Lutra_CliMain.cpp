// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <optional>

#include "Lutra_CliCommands.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_CliOutput.hpp"
#include "Lutra_Error.hpp"

namespace lutra::Cli {
namespace {

int run(const Arguments& arguments) {
  if (arguments.command == "solve") return run_solve(arguments);
  if (arguments.command == "sequence") return run_sequence(arguments);
  if (arguments.command == "info") return run_info(arguments);
  if (arguments.command == "predict") return run_predict(arguments);
  if (arguments.command == "generate") return run_generate(arguments);
  return run_version(arguments);
}

bool computes(const Arguments& arguments) {
  return arguments.command != "version" && arguments.command != "generate";
}

int report_failures(const Arguments& arguments) {
  try {
    return run(arguments);
  } catch (const InputError& error) {
    print_error(error.what());
    return exit_invalid_input;
  } catch (const OutOfMemoryError& error) {
    print_error(error.what());
    return exit_out_of_memory;
  } catch (const std::bad_alloc&) {
    print_error("out of memory");
    return exit_out_of_memory;
  } catch (const std::exception& error) {
    print_error(std::string("internal error, please report it: ") + error.what());
    return exit_defect;
  }
}

// The command line is Lutra's alone; Kokkos reads its environment variables. Its advice on thread binding is
// off unless KOKKOS_DISABLE_WARNINGS says otherwise.
Kokkos::InitializationSettings kokkos_settings() {
  Kokkos::InitializationSettings settings;
  if (std::getenv("KOKKOS_DISABLE_WARNINGS") == nullptr) settings.set_disable_warnings(true);
  return settings;
}

}  // namespace
}  // namespace lutra::Cli

int main(int argc, char* argv[]) {
  namespace Cli = lutra::Cli;
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe ends a write, not the program
  try {
    const Cli::ParsedArguments parsed = Cli::parse_arguments(argc, argv);
    if (!parsed.arguments) return parsed.exit_status;
    std::optional<Kokkos::ScopeGuard> kokkos;  // starting a device takes a while: only where one is used
    if (Cli::computes(*parsed.arguments)) kokkos.emplace(Cli::kokkos_settings());
    return Cli::report_failures(*parsed.arguments);
  } catch (const lutra::InputError& error) {  // help that cannot be written
    Cli::print_error(error.what());
    return Cli::exit_invalid_input;
  } catch (const std::exception& error) {  // no device, say
    Cli::print_error(std::string("cannot start: ") + error.what());
    return Cli::exit_invalid_input;
  }
}
