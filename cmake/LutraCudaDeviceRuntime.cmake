# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Lutra::cudadevrt: the device runtime of CUDA, which kernels that launch kernels are linked with. For the build, and for
# the installed package.
if(NOT TARGET Lutra::cudadevrt)
  find_library(Lutra_CUDADEVRT_LIBRARY cudadevrt HINTS "${CUDAToolkit_LIBRARY_DIR}" REQUIRED)
  mark_as_advanced(Lutra_CUDADEVRT_LIBRARY)
  add_library(Lutra::cudadevrt STATIC IMPORTED GLOBAL)
  set_target_properties(Lutra::cudadevrt PROPERTIES IMPORTED_LOCATION "${Lutra_CUDADEVRT_LIBRARY}"
                        INTERFACE_LINK_LIBRARIES CUDA::cudart)
endif()
