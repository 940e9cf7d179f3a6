"""Probes of judges: changes that must leave a verdict as it was, and what they do to it."""

from evalnb.probes.asking import NothingToProbeError, probe_judges
from evalnb.probes.base import Item, Probe, Variant, changed, fitting, items_of, unchanged
from evalnb.probes.effects import probe_effects
from evalnb.probes.floor import FloorChecks
from evalnb.probes.formatting import Formatting
from evalnb.probes.frames import PROBE_EFFECTS, PROBE_VERDICTS
from evalnb.probes.injection import Injection
from evalnb.probes.limits import judge_evidence, suite_limits
from evalnb.probes.loading import PROBES, load_probes, probed_judges, probed_outputs
from evalnb.probes.measures import Measure
from evalnb.probes.position import LengthPreference, Position
from evalnb.probes.public import public_countings, public_effects, public_win_rates
from evalnb.probes.recorded import recorded_effects
from evalnb.probes.repetition import Repetition
from evalnb.probes.self_preference import PreferredPair, SelfPreference
from evalnb.probes.suite import Probing, probe_suite
from evalnb.probes.sycophancy import Sycophancy
from evalnb.probes.verbosity import Verbosity

__all__ = [
    "PROBES",
    "PROBE_EFFECTS",
    "PROBE_VERDICTS",
    "FloorChecks",
    "Formatting",
    "Injection",
    "Item",
    "LengthPreference",
    "Measure",
    "NothingToProbeError",
    "Position",
    "PreferredPair",
    "Probe",
    "Probing",
    "Repetition",
    "SelfPreference",
    "Sycophancy",
    "Variant",
    "Verbosity",
    "changed",
    "fitting",
    "items_of",
    "judge_evidence",
    "load_probes",
    "probe_effects",
    "probe_judges",
    "probe_suite",
    "probed_judges",
    "probed_outputs",
    "public_countings",
    "public_effects",
    "public_win_rates",
    "recorded_effects",
    "suite_limits",
    "unchanged",
]
