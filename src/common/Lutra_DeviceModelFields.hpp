// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DEVICEMODELFIELDS_HPP
#define LUTRA_DEVICEMODELFIELDS_HPP

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "Lutra_DeviceModel.hpp"

namespace lutra {

/// A parameter of a device model, for programs that read and write models.
struct DeviceModelField {
  std::string name;  ///< path of its sections and field: "ordering.amd.row_seconds"
  std::variant<double*, int*> number;
};

/// The parameters of a model, in a fixed order. `m` must outlive them.
std::vector<DeviceModelField> fields_of(DeviceModel& m);

/// Calls visit(name, number) for each parameter of a model, a double or an int.
template <class Visit>
void visit_numbers(DeviceModel& m, const Visit& visit) {
  for (const auto& field : fields_of(m))
    std::visit([&](auto* number) { visit(field.name, *number); }, field.number);
}

}  // namespace lutra

#endif
