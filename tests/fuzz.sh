#!/bin/sh
# libFuzzer on JSON, patterns, schemas, fitting, framing, the bytes that a server reads and those that a client reads, both over
# descriptors, and function calling, FUZZ_SECONDS (60) each, with a fixed seed. New inputs are kept under build/fuzz/, so that the next
# run goes on from there. FUZZ_TARGETS: which ones.
. tests/lib.sh
if ! have clang; then skip 'no clang for the fuzz targets'; finish; fi
dir=$BUILD/fuzz
mkdir -p "$dir"
echo 'int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n) { return p && n ? 0 : 0; }' >"$work/can.c"
if ! clang -fsanitize=fuzzer "$work/can.c" -o "$work/can" 2>/dev/null; then skip 'clang has no libFuzzer'; finish; fi
seconds=${FUZZ_SECONDS:-60}

fuzz()
{
    t=$1 seeds=tests/fuzz/seeds/$1
    [ -d "$seeds" ] || seeds='tests/fuzz/seeds/server tests/fuzz/seeds/client'
    mkdir -p "$dir/corpus-$t"
    # shellcheck disable=SC2086  # seeds may be several
    clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -I. "tests/fuzz/fuzz_$t.c" -o "$dir/fuzz_$t" &&
    "$dir/fuzz_$t" -seed=1 -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 -dict=tests/fuzz/mcp.dict \
        -artifact_prefix="$dir/$t-" -print_final_stats=1 -close_fd_mask=1 "$dir/corpus-$t" $seeds
}

# Two at a time.
targets=${FUZZ_TARGETS:-json pattern schema fit frame server client posix calling} n=0
for t in $targets; do
    rm -f "$dir/$t.well"
    { fuzz "$t" >"$dir/$t.log" 2>&1 && touch "$dir/$t.well"; } &
    n=$((n + 1)); [ $((n % 2)) = 0 ] && wait
done
wait
for t in $targets; do
    if [ -f "$dir/$t.well" ]; then
        ok "fuzz_$t: $(sed -n 's/^stat::number_of_executed_units: *//p' "$dir/$t.log") inputs in $seconds s"
    else bad "fuzz_$t" "$(tail -n 40 "$dir/$t.log")"; fi
done
finish
