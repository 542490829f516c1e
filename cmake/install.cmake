# What is installed. For C++: the library, its headers, find_package(flotilla) and the binaries. In
# a wheel (SKBUILD): the module with the library beside it, and the binaries as scripts.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(SKBUILD)
  set_target_properties(_flotilla PROPERTIES INSTALL_RPATH $ORIGIN)
  install(TARGETS _flotilla flotilla LIBRARY DESTINATION .)
  if(TARGET flt_cli)
    # From <prefix>/bin to the module, whichever of the usual places it was installed to.
    set(rpath "")
    foreach(place lib/${FLT_PYTHON_NAME}/site-packages lib64/${FLT_PYTHON_NAME}/site-packages
                  lib/${FLT_PYTHON_NAME}/dist-packages lib/python3/dist-packages)
      list(APPEND rpath $ORIGIN/../${place})
    endforeach()
    set_target_properties(flt_cli PROPERTIES INSTALL_RPATH "${rpath}")
    install(TARGETS flt_cli RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR})
    # A wheel holds no links.
    install(CODE "file(COPY_FILE ${SKBUILD_SCRIPTS_DIR}/flotilla ${SKBUILD_SCRIPTS_DIR}/fleetrun)")
  endif()
  return()
endif()

install(TARGETS flotilla EXPORT flotilla LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(
  DIRECTORY flotilla/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/flotilla
  FILES_MATCHING
  PATTERN "*.h"
  PATTERN testing EXCLUDE
  PATTERN cuda EXCLUDE)
install(EXPORT flotilla NAMESPACE flotilla:: FILE flotilla-targets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/flotilla)
file(
  CONFIGURE
  OUTPUT
  ${CMAKE_BINARY_DIR}/flotilla-config.cmake
  @ONLY
  CONTENT
  [[include(CMakeFindDependencyMacro)
find_dependency(fmt)
include(${CMAKE_CURRENT_LIST_DIR}/flotilla-targets.cmake)
]])
write_basic_package_version_file(${CMAKE_BINARY_DIR}/flotilla-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/flotilla-config.cmake
              ${CMAKE_BINARY_DIR}/flotilla-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/flotilla)

if(TARGET flt_cli)
  set_target_properties(flt_cli PROPERTIES INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR})
  install(TARGETS flt_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(CODE "file(CREATE_LINK flotilla
    $ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/fleetrun SYMBOLIC)")
endif()
