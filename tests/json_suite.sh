#!/bin/sh
# JSONTestSuite beside this repository, if it is there: y_ files are accepted, n_ files refused, and i_ files are as this table says.
. tests/lib.sh
dir=${JSON_SUITE:-../shared/data/json-suite}
program=$BUILD/faults_json
if [ ! -d "$dir" ]; then skip "no JSONTestSuite in $dir"; finish; fi
if [ ! -x "$program" ]; then skip "no $program"; finish; fi

# What RFC 8259 leaves open, and what we do.
left_open()
{
    case $1 in
    i_number_*)                     echo 0;;    # numbers keep their text, whatever their size
    i_structure_500_nested_arrays*) echo 0;;    # the depth limit is 512
    i_string_UTF8_surrogate_*)      echo 1;;    # raw bytes that are no UTF-8
    i_*surrogate*)                  echo 0;;    # a lone surrogate in an escape becomes U+FFFD
    *)                              echo 1;;    # invalid UTF-8, UTF-16, a byte order mark (the framing drops one on a stream)
    esac
}

for f in $(find "$dir" -name '*.json' | sort); do
    name=$(basename "$f")
    "$program" <"$f" >/dev/null 2>"$work/err"
    rc=$?
    case $name in
    y_*) want=0;;
    n_*) want=1;;
    i_*) want=$(left_open "$name");;
    *) continue;;
    esac
    if [ $rc = "$want" ]; then passed=$((passed + 1)); else bad "$name: status $rc, wanted $want"; fi
done
finish
