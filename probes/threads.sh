#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# On a machine with many CPUs: what 1 to 16 threads take to fill the memmap of a device of GIB GiB
# (fsdax, device-dax of 2 MiB, and that with its memmap in RAM), beside a bare fill by as many; and
# what a thread that fills 1 GiB by itself meanwhile loses. MEMMAP is the program that make bench
# names; it needs nothing else there. Samples go to threads-N.json and beside-N-*.json.
#
#	threads.sh MEMMAP [GIB]

gib=${2:-64}
if ! program=$(realpath -e "$1" 2>/dev/null) || ! [ -x "$program" ]; then
	echo "usage: threads.sh MEMMAP [GIB]: MEMMAP is the program that make bench names" >&2
	exit 1
fi

echo "one thread that fills 1 GiB, alone"
"$program" race fill:1 5 beside-0.json || exit
for threads in 1 2 4 8 12 16; do
	[ $threads -le "$(nproc)" ] || break
	rows=fill:$gib:t$threads,fill:$gib:o9:t$threads,fill:$gib:o9:ram:t$threads
	"$program" race "$rows" 5 threads-$threads.json >threads-$threads.txt &
	number=0
	while kill -0 $! 2>/dev/null; do
		"$program" race fill:1 5 beside-$threads-$number.json >beside.txt || exit
		number=$((number + 1))
	done
	wait $! || exit
	cat threads-$threads.txt
	echo "meanwhile, one thread that fills 1 GiB:"
	tail -n +2 beside.txt
done
