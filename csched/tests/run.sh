#!/bin/sh
# Runs test programs one after another: one line each, what failed below it, and the sum at the end.
# A program prints "PASSED FAILED" as its last line; no such line is one more failure.
passed=0
failed=0
# Sanitizers of older compilers cannot live with the address randomisation of newer kernels.
plain="setarch $(uname -m) -R"
$plain true 2>/dev/null || plain=
for program in "$@"; do
    name=$(basename "$program")
    build=$(basename "$(dirname "$program")")
    begin=$(date +%s%N)
    output=$($plain "$program" 2>&1)
    spent=$((($(date +%s%N) - begin) / 1000000))
    last=$(printf '%s\n' "$output" | tail -n 1)
    case $last in
    *[!0-9\ ]* | '' | *' '*' '*) good=0 bad=1 ;;
    *' '*) good=${last% *} bad=${last#* } ;;
    *) good=0 bad=1 ;;
    esac
    passed=$((passed + good))
    failed=$((failed + bad))
    if [ "$bad" = 0 ]; then
        printf 'ok    %-14s %-5s %3d tests %6d ms\n' "$name" "$build" "$good" "$spent"
    else
        printf 'FAIL  %-14s %-5s %3d tests %6d ms, %d bad\n' "$name" "$build" $((good + bad)) "$spent" "$bad"
        printf '%s\n' "$output" | head -n 80
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
