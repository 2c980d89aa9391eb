// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Calibrate.hpp"
#include "Lutra_CalibrateRanks.hpp"

#include <stdexcept>

#include "Lutra_CliCommands.hpp"
#include "Lutra_CliDeviceModel.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_CliRecord.hpp"

namespace lutra::Cli {

namespace {

DeviceModel measure(const Arguments& arguments) {
  return with_types(
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
}

/// Of solves on several ranks.
DistributedCosts measure_ranks(Communicator& ranks) {
  return with_types("f64", false, backend_name<Kokkos::DefaultHostExecutionSpace>(),
                    [&]<class Scalar, class ExecutionSpace>() -> DistributedCosts {
                      if constexpr (std::is_same_v<Scalar, double>)
                        return measure_distributed_costs<double>(ranks);
                      else
                        throw std::logic_error("calibrate: another type than f64");
                    });
}

}  // namespace

int run_calibrate(const Arguments& arguments, Communicator* ranks) {
  const std::string& file = arguments.files.front();
  DeviceModel model;
  const auto measure_alone = [&] {
    check_output_file("calibrate:", file);
    model = measure(arguments);
  };
  if (ranks == nullptr) {
    measure_alone();
  } else {
    ranks->agree(
        "calibration",
        [&] {
          if (ranks->rank() != 0) return;
          const Communicator::Work work(*ranks);
          measure_alone();
        },
        false);
    model.trisolve.distributed = measure_ranks(*ranks);
    if (ranks->rank() != 0) return exit_solved;
    model.name += ", " + std::to_string(ranks->size()) + " ranks";
  }
  write_text(file, to_text(model));
  return exit_solved;
}

}  // namespace lutra::Cli
