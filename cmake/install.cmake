# What `cmake --install` leaves: bin/hone, libexec/hone/hone-worker, lib/libhone.a, include/hone/*.h and
# the package files that make find_package(hone) work with the public headers alone.
include(CMakePackageConfigHelpers)

function(hone_install)
  if(TARGET hone-program)
    install(TARGETS hone-program RUNTIME DESTINATION bin)
  endif()
  if(TARGET hone-worker)
    install(TARGETS hone-worker RUNTIME DESTINATION libexec/hone)
  endif()
  install(TARGETS hone_lib EXPORT honeTargets ARCHIVE DESTINATION lib)
  install(DIRECTORY include/hone DESTINATION include FILES_MATCHING PATTERN "*.h")
  install(EXPORT honeTargets NAMESPACE hone:: DESTINATION lib/cmake/hone)
  configure_package_config_file(${CMAKE_CURRENT_SOURCE_DIR}/cmake/honeConfig.cmake.in
    ${CMAKE_BINARY_DIR}/cmake/honeConfig.cmake INSTALL_DESTINATION lib/cmake/hone)
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/cmake/honeConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/cmake/honeConfig.cmake ${CMAKE_BINARY_DIR}/cmake/honeConfigVersion.cmake
    DESTINATION lib/cmake/hone)
endfunction()
