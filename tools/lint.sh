#!/bin/sh
# Formatting, style, types and import directions of both languages, and the size of each folder.
#
# usage: tools/lint.sh [python]
set -eu
cd "$(dirname "$0")/.."

# A folder grows beyond its budget only in a commit that raises it and says why.
if git rev-parse --git-dir >/dev/null 2>&1; then
    while read -r folder most; do
        lines=$(git grep -Ilz '' -- "$folder" | xargs -0 cat | wc -l) # of text: no pictures, no archives
        [ "$lines" -le "$most" ] && continue
        echo "lint: $folder has $lines lines of $most (tools/line-budgets): delete some, or raise it and say why" >&2
        exit 1
    done <tools/line-budgets
fi
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/lint-imports
.venv/bin/mypy
[ "${1:-}" = python ] || mvn -B -q -Dstyle.color=never -f jvm spotless:check
