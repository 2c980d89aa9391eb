# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# NVIDIA's NVSHMEM: NVSHMEM::host, and NVSHMEM::device, which needs device linking. Hints: NVSHMEM_ROOT,
# CMAKE_PREFIX_PATH. The Python packages nvidia-nvshmem-cu12 and -cu13 contain it in site-packages/nvidia/nvshmem, but
# without the library name that linkers look for.
find_package(CUDAToolkit QUIET)
find_path(NVSHMEM_INCLUDE_DIR nvshmem.h)
find_library(NVSHMEM_HOST_LIBRARY NAMES nvshmem_host libnvshmem_host.so.3)
find_library(NVSHMEM_DEVICE_LIBRARY NAMES nvshmem_device)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NVSHMEM REQUIRED_VARS NVSHMEM_HOST_LIBRARY NVSHMEM_DEVICE_LIBRARY NVSHMEM_INCLUDE_DIR
                                                        CUDAToolkit_FOUND)
if(NVSHMEM_FOUND AND NOT TARGET NVSHMEM::host)
  add_library(NVSHMEM::host UNKNOWN IMPORTED)
  set_target_properties(NVSHMEM::host PROPERTIES IMPORTED_LOCATION "${NVSHMEM_HOST_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${NVSHMEM_INCLUDE_DIR}")
  add_library(NVSHMEM::device STATIC IMPORTED)
  set_target_properties(NVSHMEM::device PROPERTIES IMPORTED_LOCATION "${NVSHMEM_DEVICE_LIBRARY}"
                        INTERFACE_LINK_LIBRARIES "NVSHMEM::host;CUDA::cudart;CUDA::cuda_driver")
endif()
mark_as_advanced(NVSHMEM_INCLUDE_DIR NVSHMEM_HOST_LIBRARY NVSHMEM_DEVICE_LIBRARY)
