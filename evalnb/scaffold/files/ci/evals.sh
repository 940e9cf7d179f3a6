#!/usr/bin/env bash
# What the workflow does, for any other CI: ci/evals.sh replay|full|live [SUITE ...]
# replay: a pull request, by the rules alone; full: main, with the judges; both from cassettes, with
# no key. live: the night, against the API, with ANTHROPIC_API_KEY in the environment.
# The worst exit code of all suites is the script's own.
set -euo pipefail
cd "$(git rev-parse --show-toplevel 2>/dev/null || dirname "$(dirname "$0")")"

lane=${1:-replay}
shift || true
[ $# -gt 0 ] || set -- golden/*/
case $lane in
replay) options=(--tier rule_only --mode replay) ;;
full) options=(--tier full --mode replay) ;;
live) options=(--tier full --mode live --yes --max-minutes 45) ;;
*) echo "ci/evals.sh: there is no lane '$lane'; there are replay, full and live" >&2; exit 2 ;;
esac

worst=0
for suite in "$@"; do
    suite=${suite%/}
    code=0
    evalnb check "$suite" && evalnb run "$suite" "${options[@]}" || code=$?
    [ "$code" -le "$worst" ] || worst=$code
    if [ "$lane" = live ]; then
        papermill notebooks/judge_agreement.ipynb "results/$(basename "$suite")-agreement.ipynb" \
            -k python3 --no-progress-bar -r data "$suite" || worst=$((worst > 4 ? worst : 4))
    fi
done

if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    for summary in results/*/*/summary.md; do
        [ ! -f "$summary" ] || cat "$summary" >> "$GITHUB_STEP_SUMMARY"
    done
fi
exit "$worst"
