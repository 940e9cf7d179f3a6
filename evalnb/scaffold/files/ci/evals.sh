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
    [ "$lane" != live ] || for notebook in judge_agreement judge_bias; do
        # A notebook that fails is a fault, and no decision.
        papermill "notebooks/$notebook.ipynb" "results/$(basename "$suite")-$notebook.ipynb" \
            -k python3 --no-progress-bar -r "$([ $notebook = judge_bias ] && echo suite || echo data)" "$suite" ||
            worst=4
    done
done

if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    for summary in results/*/*/summary.md; do
        [ ! -f "$summary" ] || cat "$summary" >> "$GITHUB_STEP_SUMMARY"
    done
fi
exit "$worst"
