// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIDEVICEMODEL_HPP
#define LUTRA_CLIDEVICEMODEL_HPP

#include <string>
#include <vector>

#include "Lutra_DeviceModel.hpp"

namespace lutra::Cli {

/// Text of a device model file: the line "name TEXT" and a line "KEY VALUE" per number. "none" denotes 0, for
/// a number that the machine does not have. Reading the text restores the model.
/// @param built_in numbers equal to this model's were not measured; a comment in the file marks them
std::string to_text(DeviceModel model, DeviceModel built_in);

/// Keys of the numbers that differ from the built-in model, that is, of those measured.
std::vector<std::string> measured_keys(DeviceModel model, DeviceModel built_in);

/// Reads such a file. Comments extend from % to the end of the line.
/// @throws FileError naming file and line for an unknown, repeated or missing key, or a value that is not
///         finite and positive
DeviceModel read_device_model(const std::string& file);

/// Whether a file is empty or begins like a device model.
/// @throws FileError if it cannot be read
bool is_device_model(const std::string& file);

}  // namespace lutra::Cli

#endif
