# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# NVIDIA's cuDSS: CUDSS::CUDSS. Hints: CUDSS_ROOT, cudss_DIR (of its own package's config file), CMAKE_PREFIX_PATH.
# The Python packages nvidia-cudss-cu12 and -cu13 also contain it, but without the library name that linkers look for.
find_package(CUDAToolkit QUIET)
set(cudss_places "")
if(cudss_DIR)
  list(APPEND cudss_places "${cudss_DIR}/../../..")
endif()
find_path(CUDSS_INCLUDE_DIR cudss.h HINTS ${cudss_places} PATH_SUFFIXES include)
find_library(CUDSS_LIBRARY NAMES cudss libcudss.so.1 libcudss.so.0 HINTS ${cudss_places} PATH_SUFFIXES lib)
unset(cudss_places)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDSS REQUIRED_VARS CUDSS_LIBRARY CUDSS_INCLUDE_DIR CUDAToolkit_FOUND)
if(CUDSS_FOUND AND NOT TARGET CUDSS::CUDSS)
  add_library(CUDSS::CUDSS UNKNOWN IMPORTED)
  set_target_properties(CUDSS::CUDSS PROPERTIES IMPORTED_LOCATION "${CUDSS_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${CUDSS_INCLUDE_DIR}"
                        INTERFACE_LINK_LIBRARIES "CUDA::cudart;CUDA::cublas")
endif()
mark_as_advanced(CUDSS_INCLUDE_DIR CUDSS_LIBRARY)
