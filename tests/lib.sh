# For the shell tests: counts checks and prints one line each. A script sources this at its top and calls `finish` at its end.
# `try` runs commands in the background, two at a time, so they must not depend on each other.
: "${CC:=cc}" "${CXX:=c++}" "${BUILD:=build}"
passed=0 failed=0 tried=0
work=$BUILD/$(basename "$0" .sh).tmp
rm -rf "$work"; mkdir -p "$work"
trap 'rm -rf "$work"' EXIT

ok()   { passed=$((passed + 1)); echo "ok    $1"; }
bad()  { failed=$((failed + 1)); echo "FAIL  $1"; [ -z "$2" ] || echo "$2" | head -n "${LINES_SHOWN:-20}" | sed 's/^/      /'; }
skip() { echo "skip  $1"; }
have() { command -v "$1" >/dev/null 2>&1; }

# check NAME CONDITION...: the condition is a command, test(1) for instance
check() { name=$1; shift; if "$@"; then ok "$name"; else bad "$name"; fi; }

# most NAME VALUE LIMIT
most() { if [ -n "$2" ] && [ "$2" -le "$3" ]; then ok "$1: $2 of at most $3"; else bad "$1: ${2:-not measured} of at most $3"; fi; }

# try NAME COMMAND...: must succeed and print nothing
try() {
    tried=$((tried + 1))
    echo "$1" >"$work/$tried.name"; shift
    ( "$@" >"$work/$tried.out" 2>&1; echo $? >"$work/$tried.rc" ) </dev/null &
    [ $((tried % 2)) = 0 ] && wait
    :
}

# tried: counts what try has started so far, in order
settle() {
    wait
    i=0
    while [ $i -lt $tried ]; do
        i=$((i + 1))
        if [ "$(cat "$work/$i.rc")" = 0 ] && [ ! -s "$work/$i.out" ]; then ok "$(cat "$work/$i.name")"
        else bad "$(cat "$work/$i.name")" "$(cat "$work/$i.out")"; fi
    done
    rm -f "$work"/*.rc "$work"/*.out "$work"/*.name
    tried=0
}

# again NAME [TEST...]: all tests once more, and TESTs that one build is enough for; built in $BUILD/NAME with the CC and the flags that
# are exported. Counts what they count.
again() {
    build=$BUILD/$1; shift
    LIMIT=600 BUILD=$build PROGRAMS='examples/*.c tests/fixtures/faults_*.c tests/fixtures/scripted_*.c' \
        sh tests/run.sh tests/test_*.c tests/examples.sh tests/json_suite.sh "$@" >"$work/again" 2>&1
    echo "-- $build"
    sed '$d' "$work/again"
    p='' f=''
    eval "$(tail -n 1 "$work/again" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/p=\1 f=\2/p')"
    passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1}))
}

# alone FILE.c: it has switches of its own or looks inside, so it needs an implementation of its own
alone() { grep -q 'define MCP_[NMS]\|looks inside' "$1"; }

# runs FLAG...: whether $CC with these flags makes a program that runs here
runs() {
    printf '#include <errno.h>\nint main(void) { return 0; }\n' >"$work/runs.c"
    # shellcheck disable=SC2086  # CC may be a command with options
    $CC "$@" "$work/runs.c" -o "$work/runs" >/dev/null 2>&1 && "$work/runs"
}

finish() {
    settle
    echo "$passed passed, $failed failed"
    [ $failed = 0 ]; exit
}
