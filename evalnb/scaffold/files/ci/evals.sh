#!/usr/bin/env bash
# What the workflow does, for any other CI: ci/evals.sh replay|full|live|record [SUITE ...]
# replay: a pull request, by the rules alone; full: main, with the judges; both from cassettes, with
# no key. live: the night, against the API, with ANTHROPIC_API_KEY in the environment; record: the
# same, but asks only for what no cassette holds, and records it.
# With EVALNB_WEBHOOK_URL in the environment, a regression is posted there.
# The worst exit code of all suites is the script's own. Suites are named from the project's folder,
# which is the one above this script, or EVALNB_PROJECT.
set -euo pipefail
cd -- "${EVALNB_PROJECT:-$(dirname -- "$0")/..}"

lane=${1:-replay}
shift || true
[ $# -gt 0 ] || set -- golden/*/
case $lane in
replay) options=(--tier rule_only --mode replay) ;;
full) options=(--tier full --mode replay) ;;
live | record) options=(--tier full --mode "$lane" --yes --max-minutes 45) ;;
*) echo "ci/evals.sh: there is no lane '$lane'; there are replay, full, live and record" >&2; exit 2 ;;
esac

# Runs a notebook on a suite; one that fails is a fault, and no decision.
notebook() {
    papermill "notebooks/$1.ipynb" "results/$(basename "$suite")-$1.ipynb" \
        -k python3 --no-progress-bar "${@:2}" || worst=4
}

mkdir -p results
worst=0
for suite in "$@"; do
    suite=${suite%/}
    code=0
    evalnb check "$suite" && evalnb run "$suite" "${options[@]}" || code=$?
    [ "$code" -le "$worst" ] || worst=$code
    case $lane in live | record)
        notebook judge_agreement -r data "$suite"
        # Probes are asked once for each judge: what is recorded of it stays true.
        notebook judge_bias -r suite "$suite" -r mode record
        ;;
    esac
done

if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    for summary in results/*/*/summary.md; do
        [ ! -f "$summary" ] || cat "$summary" >> "$GITHUB_STEP_SUMMARY"
    done
fi
exit "$worst"
