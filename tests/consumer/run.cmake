# Installs into a fresh folder, builds consumer/ against it alone, runs it, compares what it prints.
set(stage ${BUILD}/consumer-test)
file(REMOVE_RECURSE ${stage})

function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${what} failed (${code}):\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

step("install" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${stage}/prefix)
set(programs)
if(PROGRAM)
  set(programs bin/hone libexec/hone/hone-worker)
endif()
foreach(file ${programs} lib/libhone.a include/hone/version.h lib/cmake/hone/honeConfig.cmake)
  if(NOT EXISTS ${stage}/prefix/${file})
    message(FATAL_ERROR "the install has no ${file}")
  endif()
endforeach()
step("configure" ${CMAKE_COMMAND} -S ${SOURCE} -B ${stage}/build -G Ninja -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_PREFIX_PATH=${stage}/prefix -DCMAKE_BUILD_TYPE=Release)
step("build" ${CMAKE_COMMAND} --build ${stage}/build)
step("run" ${stage}/build/consumer)
if(NOT out MATCHES "hone ${VERSION}")
  message(FATAL_ERROR "the consumer printed: ${out}")
endif()
if(PROGRAM)
  # Verdicts through the library, with the installed worker.
  step("verdicts" ${CMAKE_COMMAND} -E env HONE_WORKER=${stage}/prefix/libexec/hone/hone-worker ${stage}/build/consumer
    ${EXAMPLES}/transpose ${EXAMPLES}/transpose/candidates/shuffled.cpp ${EXAMPLES}/transpose/candidates/wrong/dropped_tail.cpp)
  # From its new place, without the build folder.
  step("the installed program" ${stage}/prefix/bin/hone --version)
  if(NOT out MATCHES "${VERSION}")
    message(FATAL_ERROR "the installed program printed: ${out}")
  endif()
endif()
