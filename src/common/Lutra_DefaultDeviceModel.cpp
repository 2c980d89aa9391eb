// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DeviceModel.hpp"
#include "Lutra_DeviceSpeeds.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra {
namespace {

LUTRA_IF_CUDA(DeviceProperties properties_of(const Kokkos::Cuda& exec) {
  return {exec.cuda_device_prop().name, exec.cuda_device_prop().multiProcessorCount};
})
LUTRA_IF_HIP(DeviceProperties properties_of(const Kokkos::HIP& exec) {
  return {exec.hip_device_prop().name, exec.hip_device_prop().multiProcessorCount};
})

template <class ExecutionSpace>
DeviceModel model_of(const ExecutionSpace& exec) {
  const DeviceProperties properties = properties_of(exec);
  if (const auto model = built_in_device_model(properties)) return *model;
  return scaled_device_model(Impl::measure_device_speeds(exec), properties);
}

}  // namespace

template <class ExecutionSpace>
DeviceModel default_device_model() {
  static const DeviceModel model = model_of(ExecutionSpace());
  return model;
}

template <class ExecutionSpace>
DeviceModel unmeasured_device_model() {
  return built_in_device_model(properties_of(ExecutionSpace())).value_or(h100_device_model());
}

LUTRA_IF_CUDA(template DeviceModel default_device_model<Kokkos::Cuda>();)
LUTRA_IF_CUDA(template DeviceModel unmeasured_device_model<Kokkos::Cuda>();)
LUTRA_IF_HIP(template DeviceModel default_device_model<Kokkos::HIP>();)
LUTRA_IF_HIP(template DeviceModel unmeasured_device_model<Kokkos::HIP>();)

}  // namespace lutra
