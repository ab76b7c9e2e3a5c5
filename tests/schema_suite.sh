#!/bin/sh
# The JSON Schema Test Suite beside this repository, if it is there: the required tests of four drafts. Schemas that lead to other
# documents are not tested, since nothing is ever fetched: they are named and counted. Of the optional tests the results are told;
# those of formats are left out, since format is an annotation.
. tests/lib.sh
dir=${SCHEMA_SUITE:-../shared/data/json-schema-suite}/tests
if [ ! -d "$dir" ]; then skip "no JSON Schema Test Suite in $dir"; finish; fi
program=$work/schema_suite
# shellcheck disable=SC2086  # flags are meant to be split
$CC -std=c99 -O1 $CPPFLAGS -I. $CFLAGS -o "$program" tests/schema_suite.c $LDFLAGS -lpthread $LDLIBS || { bad 'schema_suite.c does not compile'; finish; }

# draft DIRECTORY URI: the $schema of schemas that name none
draft()
{
    "$program" "$2" "$dir/$1"/*.json >"$work/out" 2>&1
    grep '^not tested' "$work/out"
    check "$1: $(tail -n 2 "$work/out" | head -n 1)" [ "$(grep -c ' 0 failed$' "$work/out")" = 1 ]
    grep -v '^not tested\|^note: ' "$work/out" | sed '$d' | sed '$d' | head -n 20
    for f in "$dir/$1"/optional/*.json; do
        "$program" "$2" "$f" >"$work/out" 2>&1
        tests=$(sed -n 's/^[0-9]* groups, \([0-9]*\) tests;.*/\1/p' "$work/out")
        echo "      $1/optional/$(basename "$f"): $(grep -c '^tests/schema_suite.c:' "$work/out") of $tests tests not as wanted, $(grep -c '^note: ' "$work/out") patterns not enforced, $(grep -c '^not tested' "$work/out") groups not tested"
    done
}
draft draft2020-12 ''
draft draft7 'http://json-schema.org/draft-07/schema#'
draft draft6 'http://json-schema.org/draft-06/schema#'
draft draft4 'http://json-schema.org/draft-04/schema#'
finish
