# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Scalars and backends that the library is compiled for. Fewer of them compile faster.
set(Lutra_SCALARS "f32;f64;c64;c128" CACHE STRING "Scalar types compiled: a list of f32, f64, c64, c128")
set(Lutra_BACKENDS "${Kokkos_DEVICES}" CACHE STRING "Backends compiled: a list of those Kokkos has")

# lutra_define_choices(<variable> <all values>…): LUTRA_HAS_<value> for each value of the list <variable>, and
# LUTRA_IF_<value>, the expansion of the macro of that name.
function(lutra_define_choices variable)
  if(NOT ${variable})
    message(FATAL_ERROR "${variable} is empty (choose from ${ARGN})")
  endif()
  foreach(value IN LISTS ${variable})
    if(NOT value IN_LIST ARGN)
      message(FATAL_ERROR "${variable}: invalid value '${value}' (choose from ${ARGN})")
    endif()
    string(TOUPPER "${value}" name)
    set(LUTRA_HAS_${name} ON PARENT_SCOPE)
    set(LUTRA_IF_${name} "__VA_ARGS__" PARENT_SCOPE)
  endforeach()
endfunction()

set(lutra_kokkos_backends ${Kokkos_DEVICES})
list(FILTER lutra_kokkos_backends INCLUDE REGEX "^(SERIAL|OPENMP|CUDA|HIP)$")
set(lutra_backends ${Lutra_BACKENDS})
list(FILTER lutra_backends EXCLUDE REGEX "^(THREADS|HPX)$")  # backends of Kokkos that Lutra does not use
lutra_define_choices(Lutra_SCALARS f32 f64 c64 c128)
lutra_define_choices(lutra_backends ${lutra_kokkos_backends})
set(LUTRA_HAS_MPI ${Lutra_ENABLE_MPI})
set(LUTRA_HAS_NVSHMEM ${Lutra_ENABLE_NVSHMEM})
configure_file("${PROJECT_SOURCE_DIR}/src/common/Lutra_Config.hpp.in"
               "${PROJECT_BINARY_DIR}/generated/Lutra_Config.hpp")
