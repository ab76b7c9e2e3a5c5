#!/bin/sh
# Every fault that mutate.sh would plant still has its place: the text of each entry of mutants.txt stands in mcp.h exactly once.
. tests/lib.sh
awk '
    FNR == NR && /^name: / { name[++n] = $2 }
    FNR == NR && /^- / { old[n] = old[n] (old[n] == "" ? "" : "\n") substr($0, 3) }
    FNR != NR { text = $0 }
    END {
        for (i = 1; i <= n; i++) {
            at = index(text, old[i])
            print (old[i] != "" && at && !index(substr(text, at + 1), old[i])) ? "ok" : name[i]
        }
    }' tests/mutants.txt RS='\001' mcp.h >"$work/list"
while read -r entry; do if [ "$entry" = ok ]; then passed=$((passed + 1)); else bad "stale: $entry"; fi; done <"$work/list"
check 'there are mutants' test "$passed" -gt 100
finish
