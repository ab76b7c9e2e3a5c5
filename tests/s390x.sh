#!/bin/sh
# All tests again on a big-endian machine, s390x, emulated by qemu one process at a time. Needs clang, qemu-user-static and Debian's
# libc6-dev-s390x-cross, libgcc-12-dev-s390x-cross, binutils-s390x-linux-gnu. Tests start themselves and each other, and the kernel does
# not know such programs; so the compiler is a script that puts another in the place of each, which starts it in the emulator.
. tests/lib.sh
mkdir -p "$BUILD/s390x"
cat >"$BUILD/s390x/cc" <<'EOF'
out=a.out before=
for a in "$@"; do [ "$before" = -o ] && out=$a; before=$a; done
clang --target=s390x-linux-gnu -static "$@" || exit
case " $* " in *" -c "*) exit;; esac
mv "$out" "$out.s390x"
printf '#!/bin/sh\nexec qemu-s390x-static -0 "$0" "%s" "$@"\n' "$(realpath "$out.s390x")" >"$out"     # also through a link
chmod +x "$out"
EOF
export CC="sh $BUILD/s390x/cc" SCALE=3
if have clang && have qemu-s390x-static && runs; then again s390x; else skip 'no clang, qemu-s390x-static or C library for s390x'; fi
finish
