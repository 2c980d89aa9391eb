// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Calibrate.hpp"
#include "Lutra_CalibrateRanks.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "Lutra_CliCommands.hpp"
#include "Lutra_CliDeviceModel.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_CliRecord.hpp"
#include "Lutra_DeviceModel.hpp"

namespace lutra::Cli {

namespace {

/// Measured numbers, which replace some of the built-in model.
struct Calibrated {
  DeviceModel model, built_in;
};

Calibrated measure(const Arguments& arguments) {
  return with_types(
      "f64", false, check_backend(arguments), [&]<class Scalar, class ExecutionSpace>() -> Calibrated {
        if constexpr (std::is_same_v<Scalar, double>) {
          Calibrated result{measure_device_model<double, ExecutionSpace>(),
                            default_device_model<ExecutionSpace>()};
          const RunInfo run = describe_run<ExecutionSpace>();
          result.model.name = run.device.value_or(run.backend + " with " + std::to_string(run.threads) +
                                                  (run.threads == 1 ? " thread" : " threads")) +
                              ", measured";
          return result;
        } else {
          throw std::logic_error("calibrate: another type than f64");
        }
      });
}

/// Section of a key: "ordering.multifrontal" for "ordering.multifrontal.solve.row_seconds".
std::string section_of(const std::string& key) {
  const std::size_t first = key.find('.');
  return key.substr(0, std::min(key.find('.', first + 1), key.size()));
}

std::string summary(const Calibrated& calibrated, const std::string& file) {
  const std::vector<std::string> measured = measured_keys(calibrated.model, calibrated.built_in);
  std::size_t all = 0;
  DeviceModel model = calibrated.model;
  visit_numbers(model, [&all](const std::string&, auto& number) { all += number == 0 ? 0 : 1; });
  std::map<std::string, int> counts;  // measured numbers per section
  for (const std::string& key : measured) ++counts[section_of(key)];
  std::string sections;
  for (const auto& [section, count] : counts)
    sections += (sections.empty() ? "" : ", ") + section + " (" + std::to_string(count) + ")";
  return text_line("machine", calibrated.model.name) +
         text_line("measured", std::to_string(measured.size()) + " numbers: " + sections) +
         text_line("built in", std::to_string(all - measured.size()) +
                                   " numbers, which no run measures and " + file + " marks") +
         text_line("next", "lutra solve A.mtx --device-model " + file);
}

/// @throws InputError if the file to be replaced is not a device model
void check_replaced_model(const std::string& file) {
  std::error_code absent;
  if (file == "-" || !std::filesystem::is_regular_file(file, absent)) return;
  if (!is_device_model(file))
    throw InputError("calibrate: " + file + " exists and is not a device model; it is not replaced");
}

/// Costs of solves on several ranks. @param on_device of the ranks' devices
DistributedCosts measure_ranks(Communicator& ranks, bool on_device) {
  return with_types("f64", false, backend_name<Kokkos::DefaultHostExecutionSpace>(),
                    [&]<class Scalar, class ExecutionSpace>() -> DistributedCosts {
                      if constexpr (std::is_same_v<Scalar, double>)
                        return measure_distributed_costs<double>(ranks, on_device);
                      else
                        throw std::logic_error("calibrate: another type than f64");
                    });
}

}  // namespace

int run_calibrate(const Arguments& arguments, Communicator* ranks) {
  const std::string& file = arguments.files.front();
  Calibrated calibrated;
  DeviceModel& model = calibrated.model;
  const auto measure_alone = [&] {
    check_output_file("calibrate:", file);
    check_replaced_model(file);
    calibrated = measure(arguments);
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
    const bool on_device =
        arguments.backend != "auto" && arguments.backend != backend_name<Kokkos::DefaultHostExecutionSpace>();
    calibrated.built_in.trisolve.distributed =
        on_device ? default_device_model<Kokkos::DefaultExecutionSpace>().trisolve.distributed
                  : host_device_model().trisolve.distributed;
    model.trisolve.distributed = measure_ranks(*ranks, on_device);
    if (ranks->rank() != 0) return exit_solved;
    model.name += ", " + std::to_string(ranks->size()) + " ranks";
  }
  write_text(file, to_text(model, calibrated.built_in));
  if (file != "-") write_output(summary(calibrated, file));
  return exit_solved;
}

}  // namespace lutra::Cli
