# Warnings that must stay silent, with whatever flags a program that uses mcp.h is built with.
C_WARN='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wundef -Wstrict-prototypes
        -Wmissing-prototypes -Wvla -Wformat=2 -Wnull-dereference -Werror'
CXX_WARN='-Wall -Wextra -Wpedantic -Wshadow -Werror'
