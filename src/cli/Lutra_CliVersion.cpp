// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliChoose.hpp"
#include "Lutra_CliCommands.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_CliOutput.hpp"
#include "Lutra_CliText.hpp"
#include "Lutra_Report.hpp"

namespace lutra::Cli {
int run_version(const Arguments& arguments) {
  const VersionInfo info = version_info();
  if (arguments.json) {
    write_output(to_json(info));
    return exit_solved;
  }
  write_output(text_line("lutra", info.version + " (" + info.git + ")") + text_line("kokkos", info.kokkos) +
               text_line("kernels", info.kokkos_kernels) + text_line("backends", joined(info.backends)) +
               text_line("types", joined(info.scalars) + " with " + joined(info.ordinals)));
  return exit_solved;
}

}  // namespace lutra::Cli
