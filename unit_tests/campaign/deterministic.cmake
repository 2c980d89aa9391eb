# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DPROGRAM=… -DTHREADS=1,2,3,8 [-DRUNS=2] [-DOPTIONS=…] -P deterministic.cmake
# Runs lutra_deterministic with each number of OpenMP threads, and fails unless all print the same lines.
string(REPLACE "," ";" threads "${THREADS}")
if(NOT RUNS)
  set(RUNS 2)
endif()
separate_arguments(options UNIX_COMMAND "${OPTIONS}")
foreach(count IN LISTS threads)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env OMP_NUM_THREADS=${count} OMP_PROC_BIND=false OMP_WAIT_POLICY=passive
            "${PROGRAM}" --runs ${RUNS} ${options}
    OUTPUT_VARIABLE lines RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${count} threads: ${failed}\n${lines}")
  endif()
  if(NOT DEFINED expected)
    set(expected "${lines}")
    set(first ${count})
  elseif(NOT lines STREQUAL expected)
    string(REPLACE "\n" ";" expected "${expected}")
    string(REPLACE "\n" ";" lines "${lines}")
    foreach(one other IN ZIP_LISTS expected lines)
      if(NOT one STREQUAL other)
        message("${first} threads: ${one}\n${count} threads: ${other}")
      endif()
    endforeach()
    message(FATAL_ERROR "results differ between ${first} and ${count} threads")
  endif()
endforeach()
message("${expected}")
