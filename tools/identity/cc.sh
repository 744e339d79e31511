#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The compiler that kbuild calls for identity.py. Where IDENTITY_STUB names an empty object, an
# object of the kernel is only preprocessed: the text goes to DIR/.NAME.o.text.gz, and the object is
# that stub. Everything else is compiled with IDENTITY_CC: what Kconfig tries, what is no object,
# and what the build links and uses itself.
object=
compile=
kernel=
previous=
for word; do
	case $word in
	-c) compile=yes ;;
	-D__KERNEL__) kernel=yes ;;
	esac
	[ "$previous" != -o ] || object=$word
	previous=$word
done
case $object in
scripts/* | arch/x86/boot/* | arch/x86/purgatory/*) kernel= ;;
arch/x86/realmode/rm/* | arch/x86/entry/vdso/vdso*/*) kernel= ;;
*/*.o) ;;
*.o) object=./$object ;;
*) kernel= ;;
esac
if [ -z "${IDENTITY_STUB:-}" ] || [ -z "$compile" ] || [ -z "$kernel" ]; then
	# shellcheck disable=SC2086	# "ccache gcc" is two words
	exec ${IDENTITY_CC:-gcc} "$@"
fi
# The object comes last: one that is newer than its sources has its text
text=${object%/*}/.${object##*/}.text
count=$#
while [ "$count" -gt 0 ]; do
	word=$1
	shift
	[ "./${word#./}" != "./${object#./}" ] || word=$text
	set -- "$@" "$word"
	count=$((count - 1))
done
# -E after -c: it only preprocesses
# shellcheck disable=SC2086
rm -f "$object" && ${IDENTITY_CC:-gcc} "$@" -E -P && gzip -1 -n < "$text" > "$text.gz" &&
	rm "$text" && cp "$IDENTITY_STUB" "$object"
