// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Calibrate.hpp"

#include <stdexcept>

#include "Lutra_CliCommands.hpp"
#include "Lutra_CliDeviceModel.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_CliRecord.hpp"

namespace lutra::Cli {

int run_calibrate(const Arguments& arguments) {
  const std::string& file = arguments.files.front();
  check_output_file("calibrate:", file);
  const DeviceModel model = with_types(
      "f64", false, check_backend(arguments), [&]<class Scalar, class ExecutionSpace>() -> DeviceModel {
        if constexpr (std::is_same_v<Scalar, double>) {
          DeviceModel measured = measure_device_model<double, ExecutionSpace>();
          const RunInfo run = describe_run<ExecutionSpace>();
          measured.name = run.device.value_or(run.backend + " with " + std::to_string(run.threads) +
                                              (run.threads == 1 ? " thread" : " threads")) +
                          ", measured";
          return measured;
        } else {
          throw std::logic_error("calibrate: another type than f64");
        }
      });
  write_text(file, to_text(model));
  return exit_solved;
}

}  // namespace lutra::Cli
