# Every dependency is a package of Debian 12 and Ubuntu 24.04; scripts/setup.sh installs them.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(SQLite3 REQUIRED)
find_path(HONE_XXHASH_INCLUDE xxhash.h REQUIRED)
find_path(HONE_TOML_INCLUDE toml++/toml.h REQUIRED)
find_path(HONE_CLI11_INCLUDE CLI/CLI.hpp REQUIRED)
find_path(HONE_SPDLOG_INCLUDE spdlog/spdlog.h REQUIRED)

function(hone_find_library out name)
  if(HONE_PORTABLE)
    find_library(${out} NAMES lib${name}.a ${name} REQUIRED)
  else()
    find_library(${out} NAMES ${name} REQUIRED)
  endif()
endfunction()
hone_find_library(HONE_SQLITE_LIBRARY sqlite3)
hone_find_library(HONE_SECCOMP_LIBRARY seccomp)
find_path(HONE_SECCOMP_INCLUDE seccomp.h REQUIRED)
if(HONE_PORTABLE)
  find_library(HONE_CRYPTO_LIBRARY NAMES libcrypto.a REQUIRED)
  set(HONE_FMT fmt::fmt-header-only)
  set(HONE_LINK_FLAGS -static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,--as-needed)
  set(HONE_ARCHIVE_NEEDS sqlite3 seccomp crypto)
  set(HONE_ARCHIVE_PREFIX lib)
  set(HONE_ARCHIVE_SUFFIX .a)
else()
  set(HONE_CRYPTO_LIBRARY OpenSSL::Crypto)
  set(HONE_FMT fmt::fmt)
  set(HONE_LINK_FLAGS -Wl,--as-needed)
  set(HONE_ARCHIVE_NEEDS fmt sqlite3 seccomp crypto)
  set(HONE_ARCHIVE_PREFIX)
  set(HONE_ARCHIVE_SUFFIX)
endif()

add_library(hone_flags INTERFACE)
# Warnings are errors with the compilers the project is built with; a newer one, which may know new
# warnings, must not keep a user from building.
set(werror_default OFF)
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13) OR
   (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15))
  set(werror_default ON)
endif()
option(HONE_WERROR "Treat warnings as errors" ${werror_default})
# No contraction: draws must give the same bits whatever the compiler may fuse.
target_compile_options(hone_flags INTERFACE -ffp-contract=off -Wall -Wextra -Wconversion -Wshadow $<$<BOOL:${HONE_WERROR}>:-Werror>
  # What clang's words mean beyond g++'s.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion -Wno-missing-field-initializers -Wno-missing-braces>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-error=restrict -Wno-error=maybe-uninitialized -Wno-error=array-bounds -Wno-error=stringop-overread>
  # At -O3 g++ 12 sees an overflow inside fmt 9 (fill_t) that cannot happen.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-stringop-overflow>
  -ffunction-sections -fdata-sections)
target_include_directories(hone_flags INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR}/include)
target_include_directories(hone_flags SYSTEM INTERFACE ${HONE_XXHASH_INCLUDE} ${HONE_TOML_INCLUDE}
  ${HONE_CLI11_INCLUDE} ${HONE_SECCOMP_INCLUDE} ${SQLite3_INCLUDE_DIRS})
target_compile_definitions(hone_flags INTERFACE SPDLOG_FMT_EXTERNAL HONE_VERSION="${PROJECT_VERSION}" HONE_LIBEXEC="${CMAKE_INSTALL_PREFIX}/libexec/hone")
target_link_libraries(hone_flags INTERFACE ${HONE_FMT} nlohmann_json::nlohmann_json Threads::Threads
  ${HONE_SQLITE_LIBRARY} ${HONE_SECCOMP_LIBRARY} ${HONE_CRYPTO_LIBRARY} ${CMAKE_DL_LIBS})
if(HONE_SANITIZE)
  target_compile_options(hone_flags INTERFACE -fsanitize=${HONE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(hone_flags INTERFACE -fsanitize=${HONE_SANITIZE})
endif()
if(HONE_FUZZ)
  target_compile_options(hone_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
