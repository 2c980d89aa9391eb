// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIDEVICEMODEL_HPP
#define LUTRA_CLIDEVICEMODEL_HPP

#include <string>
#include <vector>

#include "Lutra_DeviceModel.hpp"

namespace lutra::Cli {

/// A device model as a file: the line "name TEXT", and a line "KEY VALUE" for each number; "none" stands for
/// 0, a number that a machine does not have. Reading gives the same model back.
/// @param built_in numbers that are those of this model were not measured, and a comment says so
std::string to_text(DeviceModel model, DeviceModel built_in);

/// Keys of the numbers in which a model differs from the one built in, which are those that were measured.
std::vector<std::string> measured_keys(DeviceModel model, DeviceModel built_in);

/// Reads such a file; comments go from % to the end of the line.
/// @throws FileError naming file and line for an unknown, repeated or absent key, and for a value that is not
///         a finite number above 0
DeviceModel read_device_model(const std::string& file);

/// Whether a file has no text, or text that begins as a device model does.
/// @throws FileError where it cannot be read
bool is_device_model(const std::string& file);

}  // namespace lutra::Cli

#endif
